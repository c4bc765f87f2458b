//! Responses: whole ones, and those that become a stream when more than one thing is said.

use std::io::Write;
use std::net::TcpStream;

use serde_json::Value;

use super::super::correct::Era;
use super::super::server::Out;

/// The head of a stream of events.
pub(super) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
     Cache-Control: no-store\r\nTransfer-Encoding: chunked\r\n";

/// A whole response.
pub(super) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// An answer to HEAD says how long its body would be, and does not send it.
    head_only: bool,
}

impl Reply {
    pub(super) fn empty(status: u16) -> Self {
        Reply { status, headers: Vec::new(), body: Vec::new(), head_only: false }
    }

    pub(super) fn text(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::empty(status).header("Content-Type", "text/plain").body(body)
    }

    pub(super) fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::empty(status).header("Content-Type", "application/json").body(body)
    }

    pub(super) fn page(status: u16) -> Self {
        let page = "<!doctype html><title>Welcome</title><p>This is a web page.";
        Self::empty(status).header("Content-Type", "text/html; charset=utf-8").body(page)
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(super) fn for_method(mut self, method: &str) -> Self {
        self.head_only = method == "HEAD";
        self
    }

    pub(super) fn write(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if self.status != 204 {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        if !self.head_only {
            bytes.extend(&self.body);
        }
        stream.write_all(&bytes)
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

pub(super) fn event(message: &[u8]) -> Vec<u8> {
    [b"event: message\ndata: ", message, b"\n\n"].concat()
}

pub(super) fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend(bytes);
    chunk.extend(b"\r\n");
    stream.write_all(&chunk)
}

pub(super) fn end_chunks(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

/// The answer to a POST: JSON for one message, a stream of events for more or for a pause.
pub(super) struct ResponseOut<'a> {
    stream: &'a mut TcpStream,
    session: Option<String>,
    era: Era,
    waiting: Option<Vec<u8>>,
    streaming: bool,
    broken: Option<std::io::Error>,
}

impl<'a> ResponseOut<'a> {
    pub(super) fn new(stream: &'a mut TcpStream, session: Option<String>, era: Era) -> Self {
        ResponseOut { stream, session, era, waiting: None, streaming: false, broken: None }
    }

    /// Sends what was not sent yet, and ends the response.
    pub(super) fn finish(mut self) -> std::io::Result<()> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if self.streaming {
            return end_chunks(self.stream);
        }
        let mut reply = match self.waiting.take() {
            Some(message) => Reply::json(status_of(self.era, &message), message),
            None => Reply::empty(202),
        };
        if let Some(session) = &self.session {
            reply = reply.header("Mcp-Session-Id", session);
        }
        reply.write(self.stream)
    }

    fn begin_stream(&mut self) -> std::io::Result<()> {
        if !self.streaming {
            self.streaming = true;
            let session = self.session.as_ref();
            let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
            self.stream.write_all(format!("{STREAM_HEAD}{session}\r\n").as_bytes())?;
        }
        match self.waiting.take() {
            Some(message) => write_chunk(self.stream, &event(&message)),
            None => Ok(()),
        }
    }

    fn attempt(&mut self, act: impl FnOnce(&mut Self) -> std::io::Result<()>) {
        if self.broken.is_none()
            && let Err(error) = act(self)
        {
            self.broken = Some(error);
        }
    }
}

impl Out for ResponseOut<'_> {
    fn message(&mut self, message: &[u8]) {
        if self.streaming || self.waiting.is_some() {
            self.attempt(|out| {
                out.begin_stream()?;
                write_chunk(out.stream, &event(message))
            });
        } else {
            self.waiting = Some(message.to_vec());
        }
    }

    fn settle(&mut self) {
        self.attempt(Self::begin_stream);
    }

    fn is_gone(&self) -> bool {
        self.broken.is_some()
    }
}

/// The stateless revision says some errors in the status too, and some codes are its own.
fn status_of(era: Era, message: &[u8]) -> u16 {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    match (message["error"]["code"].as_i64(), era) {
        (Some(-32601), Era::Stateless) => 404,
        (Some(-32602), Era::Stateless) | (Some(-32022..=-32020), _) => 400,
        _ => 200,
    }
}
