//! A file server on plain sockets that handles each request as the test defines.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::http::{AfterReply, hold, serve};
pub use crate::http::{Request, write_chunk};
use crate::wait::lock;

/// A running server. Its threads end with the test process.
#[derive(Debug)]
pub struct FileServer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl FileServer {
    /// Starts a server that calls `answer` with the number of each request, from 0, and the
    /// request. Every request has its own connection.
    pub fn start(
        answer: impl Fn(usize, &Request, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let log = Arc::clone(&seen);
        serve(listener, move |request, stream| {
            let number = {
                let mut log = lock(&log);
                log.push(request.clone());
                log.len() - 1
            };
            answer(number, request, stream)?;
            Ok(AfterReply::Close)
        });
        Self { address, seen }
    }

    /// `http://address:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn seen(&self) -> Vec<Request> {
        lock(&self.seen).clone()
    }
}

/// The point of the response at which the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    Never,
    /// Closes after this many bytes of the body.
    After(usize),
    /// Sends nothing after this many bytes of the body until the client disconnects.
    SilentAfter(usize),
}

#[derive(Debug, Clone)]
pub struct ServedFile {
    pub bytes: Vec<u8>,
    /// The entity tag, quotes included.
    pub tag: Option<String>,
    /// Whether the server answers range requests.
    pub has_parts: bool,
}

impl ServedFile {
    /// A file with range requests and an entity tag.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), tag: Some("\"one\"".to_owned()), has_parts: true }
    }

    /// Answers a request as a correct server does, up to the truncation.
    pub fn send(&self, asked: &Request, stream: &mut TcpStream, cut: Truncation) -> io::Result<()> {
        let part = self.wanted(asked);
        let tag = self.tag.as_ref().map_or_else(String::new, |tag| format!("ETag: {tag}\r\n"));
        let (status, range) = match &part {
            Some(Range { start, end }) => {
                let total = self.bytes.len();
                let range = format!("Content-Range: bytes {start}-{}/{total}\r\n", end - 1);
                ("206 Partial Content", range)
            }
            None => ("200 OK", String::new()),
        };
        let body = &self.bytes[part.unwrap_or(0..self.bytes.len())];
        let length = body.len();
        let head = format!("{tag}{range}Content-Length: {length}\r\n");
        write_head(stream, status, &head)?;
        match cut {
            Truncation::Never => stream.write_all(body),
            Truncation::After(count) => stream.write_all(&body[..count.min(length)]),
            Truncation::SilentAfter(count) => {
                stream.write_all(&body[..count.min(length)])?;
                hold(stream);
                Ok(())
            }
        }
    }

    fn wanted(&self, asked: &Request) -> Option<Range<usize>> {
        let start = asked.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?;
        let start: usize = start.parse().ok()?;
        let is_same = asked.header("if-range").is_none_or(|tag| Some(tag) == self.tag.as_deref());
        let end = self.bytes.len();
        (self.has_parts && is_same && start < end).then_some(start..end)
    }
}

/// Writes the head of a response with `Connection: close`. `headers` are whole lines.
pub fn write_head(stream: &mut TcpStream, status: &str, headers: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n").as_bytes())
}
