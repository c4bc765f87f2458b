//! HTTP/1.1 messages as this program needs them: whole requests in, whole answers in.
//!
//! Both ends of every measurement are here, so both do as little as they can. Bodies of requests
//! have a length; bodies of answers have one, or come in chunks whose last ends the buffer.

use std::io;
use std::ops::Range;

use memchr::memmem;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const READ_BYTES: usize = 16 * 1024;
/// No message here is longer.
const MAX_MESSAGE: usize = 1024 * 1024;
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// What came in and was not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
}

/// A whole request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) is_get: bool,
    body: Range<usize>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    body: Range<usize>,
}

impl Inbox {
    /// The next request; nothing at the end of the connection.
    pub(crate) async fn request(&mut self, stream: &mut TcpStream) -> io::Result<Option<Request>> {
        loop {
            if let Some(head) = head_end(&self.bytes) {
                let length = length(&self.bytes[..head]).unwrap_or(0);
                let body = head..head + length;
                if self.bytes.len() >= body.end {
                    return Ok(Some(Request { is_get: self.bytes.starts_with(b"GET "), body }));
                }
            }
            if self.read(stream).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// The next answer, whole.
    pub(crate) async fn answer(&mut self, stream: &mut TcpStream) -> io::Result<Answer> {
        loop {
            if let Some(head) = head_end(&self.bytes) {
                let end = match length(&self.bytes[..head]) {
                    Some(length) => Some(head + length).filter(|end| self.bytes.len() >= *end),
                    None => self.bytes.ends_with(LAST_CHUNK).then_some(self.bytes.len()),
                };
                if let Some(end) = end {
                    return Ok(Answer { status: status(&self.bytes), body: head..end });
                }
            }
            if self.read(stream).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The beginning of the next answer, until a text stands in its body.
    pub(crate) async fn beginning(
        &mut self,
        stream: &mut TcpStream,
        text: &[u8],
    ) -> io::Result<()> {
        loop {
            let body = head_end(&self.bytes).map_or(&[][..], |head| &self.bytes[head..]);
            if memmem::find(body, text).is_some() {
                self.bytes = Vec::new();
                return Ok(());
            }
            if self.read(stream).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(crate) fn body(&self, request: &Request) -> &[u8] {
        &self.bytes[request.body.clone()]
    }

    pub(crate) fn answer_body(&self, answer: &Answer) -> &[u8] {
        &self.bytes[answer.body.clone()]
    }

    /// Forgets a request.
    pub(crate) fn take(&mut self, request: &Request) {
        self.bytes.drain(..request.body.end);
    }

    /// Forgets an answer.
    pub(crate) fn take_answer(&mut self, answer: &Answer) {
        self.bytes.drain(..answer.body.end);
    }

    async fn read(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        if self.bytes.len() > MAX_MESSAGE {
            return Err(io::Error::other("a message is too long"));
        }
        self.bytes.reserve(READ_BYTES);
        stream.read_buf(&mut self.bytes).await
    }
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4)
}

/// The length that a head tells.
fn length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let name = line.get(..NAME.len())?;
        if !name.eq_ignore_ascii_case(NAME) {
            return None;
        }
        std::str::from_utf8(&line[NAME.len()..]).ok()?.trim().parse().ok()
    })
}

fn status(answer: &[u8]) -> u16 {
    let digits = answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
