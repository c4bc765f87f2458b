//! HTTP/1.1 messages as these programs need them: requests out, whole answers in.
//!
//! Both ends of a measurement do as little as they can. Bodies of answers have a length, or come in
//! chunks whose last ends the buffer.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use memchr::memmem;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const READ_BYTES: usize = 16 * 1024;
/// No message here is longer.
const MAX_MESSAGE: usize = 2 * 1024 * 1024;
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// A request with a JSON body.
pub(crate) fn post(address: SocketAddr, path: &str, key: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nuser-agent: bench\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// What came in and was not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) bytes: Vec<u8>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    body: Range<usize>,
}

impl Inbox {
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

    pub(crate) fn answer_body(&self, answer: &Answer) -> &[u8] {
        &self.bytes[answer.body.clone()]
    }

    /// Forgets an answer.
    pub(crate) fn take_answer(&mut self, answer: &Answer) {
        self.bytes.drain(..answer.body.end);
    }

    /// Reads some more; nothing at the end of the connection.
    pub(crate) async fn read(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        if self.bytes.len() > MAX_MESSAGE {
            return Err(io::Error::other("a message is too long"));
        }
        self.bytes.reserve(READ_BYTES);
        stream.read_buf(&mut self.bytes).await
    }
}

/// Where the head of a message ends.
pub(crate) fn head_end(bytes: &[u8]) -> Option<usize> {
    memmem::find(bytes, b"\r\n\r\n").map(|at| at + 4)
}

/// The length that a head tells.
pub(crate) fn length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let name = line.get(..NAME.len())?;
        if !name.eq_ignore_ascii_case(NAME) {
            return None;
        }
        std::str::from_utf8(&line[NAME.len()..]).ok()?.trim().parse().ok()
    })
}

/// The status of an answer.
pub(crate) fn status(answer: &[u8]) -> u16 {
    let digits = answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
