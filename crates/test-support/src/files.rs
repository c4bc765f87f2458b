//! A server of files on bare sockets, which does with each request what a test says.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::http::{Request, hold};

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `GET`, `HEAD` …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
}

impl Asked {
    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A running server. Its threads end with the test.
#[derive(Debug)]
pub struct FileServer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Asked>>>,
}

impl FileServer {
    /// Starts one that answers with this, each request on a connection of its own. What is handed
    /// over is the number of the request, from 0, and the request.
    ///
    /// # Panics
    /// If nothing can be listened on.
    #[expect(clippy::expect_used, reason = "a test without its server cannot go on")]
    pub fn start(
        answer: impl Fn(usize, &Asked, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let seen: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (log, answer) = (Arc::clone(&seen), Arc::new(answer));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let Ok(copy) = stream.try_clone() else { return };
                    let Ok(Some(request)) = Request::read(&mut BufReader::new(copy)) else {
                        return;
                    };
                    let headers = request.headers().to_vec();
                    let asked = Asked { method: request.method, path: request.path, headers };
                    let number = {
                        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                        log.push(asked.clone());
                        log.len() - 1
                    };
                    // A client that left is no trouble of the server.
                    let _ = answer(number, &asked, &mut stream);
                });
            }
        });
        Self { address, seen }
    }

    /// Where it listens: `http://address:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Asked> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How much of an answer is sent before the connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// All of it.
    Never,
    /// So many bytes of its body.
    After(usize),
    /// So many bytes of its body, and then nothing until the client goes.
    SilentAfter(usize),
}

/// A file as servers have it.
#[derive(Debug, Clone)]
pub struct Content {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its tag, with the quotes.
    pub tag: Option<String>,
    /// Whether parts of it can be had.
    pub has_parts: bool,
}

impl Content {
    /// A file with parts and a tag.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), tag: Some("\"one\"".to_owned()), has_parts: true }
    }

    /// Answers a request as a good server does, as far as it is not cut.
    ///
    /// # Errors
    /// If the client has left.
    pub fn send(&self, asked: &Asked, stream: &mut TcpStream, cut: Cut) -> io::Result<()> {
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
            Cut::Never => stream.write_all(body),
            Cut::After(count) => stream.write_all(&body[..count.min(length)]),
            Cut::SilentAfter(count) => {
                stream.write_all(&body[..count.min(length)])?;
                hold(stream);
                Ok(())
            }
        }
    }

    fn wanted(&self, asked: &Asked) -> Option<Range<usize>> {
        let start = asked.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?;
        let start: usize = start.parse().ok()?;
        let is_same = asked.header("if-range").is_none_or(|tag| Some(tag) == self.tag.as_deref());
        let end = self.bytes.len();
        (self.has_parts && is_same && start < end).then_some(start..end)
    }
}

/// Writes the head of an answer, after which the connection is closed. `headers` are whole lines.
///
/// # Errors
/// If the client has left.
pub fn write_head(stream: &mut TcpStream, status: &str, headers: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n").as_bytes())
}

/// Writes one piece of a chunked body.
///
/// # Errors
/// If the client has left.
pub fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}
