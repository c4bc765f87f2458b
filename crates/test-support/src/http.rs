//! Requests and responses on plain sockets, for the faulty servers.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use serde::Serialize;
use serde_json::{Map, Value, json};
use ureq::http::StatusCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterReply {
    KeepOpen,
    Close,
}

pub(crate) type Replied = io::Result<AfterReply>;

/// Calls `respond` for each request, in one thread per connection, until the process ends.
pub(crate) fn serve(
    listener: TcpListener,
    respond: impl Fn(&Request, &mut TcpStream) -> Replied + Send + Sync + 'static,
) {
    let respond = Arc::new(respond);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let respond = Arc::clone(&respond);
            thread::spawn(move || {
                // The client may have disconnected.
                let _ = serve_connection(stream, &*respond);
            });
        }
    });
}

fn serve_connection(
    mut stream: TcpStream,
    respond: &impl Fn(&Request, &mut TcpStream) -> Replied,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = Request::read(&mut reader)? {
        if respond(&request, &mut stream)? == AfterReply::Close {
            break;
        }
    }
    Ok(())
}

/// Writes a part of a body with chunks.
pub fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// Sends nothing until the client disconnects.
pub(crate) fn hold(stream: &mut TcpStream) {
    let mut scrap = [0; 1024];
    while matches!(stream.read(&mut scrap), Ok(1..)) {}
}

const MAX_HEADER_LINES: usize = 200;
const MAX_BODY_BYTES: u64 = 256 * 1024 * 1024;

/// A request with its whole body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// In the order received, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection, if there is one.
    pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let first = line(reader)?;
        let mut words = first.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut headers = Vec::new();
        for _ in 0..MAX_HEADER_LINES {
            let header = line(reader)?;
            let Some((name, value)) = header.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, headers, body: Vec::new() };
        request.body = request.read_body(reader)?;
        Ok(Some(request))
    }

    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The log entry of this request at the named server; repeated headers are joined by a comma.
    pub(crate) fn record(&self, server: impl Serialize) -> Value {
        let mut headers = Map::new();
        for (name, value) in &self.headers {
            let joined = match headers.get(name).and_then(Value::as_str) {
                Some(before) => format!("{before}, {value}"),
                None => value.clone(),
            };
            headers.insert(name.clone(), joined.into());
        }
        json!({
            "server": server,
            "method": self.method,
            "path": self.path,
            "headers": headers,
            "body": String::from_utf8_lossy(&self.body),
        })
    }

    fn read_body(&self, reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
            loop {
                let length = line(reader)?;
                let length = length.split(';').next().unwrap_or_default().trim().to_owned();
                let length = u64::from_str_radix(&length, 16).unwrap_or(0);
                reader.by_ref().take(length).read_to_end(&mut body)?;
                line(reader)?;
                if length == 0 {
                    return Ok(body);
                }
            }
        }
        let length = self.header("content-length").and_then(|length| length.parse().ok());
        let length: u64 = length.unwrap_or(0);
        reader.take(length.min(MAX_BODY_BYTES)).read_to_end(&mut body)?;
        Ok(body)
    }
}

/// A line without its line break; empty at the end of the connection.
fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned())
}

pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// A response to HEAD has the length of its body, but no body.
    head_only: bool,
}

impl Reply {
    pub(crate) fn empty(status: u16) -> Self {
        Reply { status, headers: Vec::new(), body: Vec::new(), head_only: false }
    }

    pub(crate) fn text(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::empty(status).header("Content-Type", "text/plain").body(body)
    }

    pub(crate) fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::empty(status).header("Content-Type", "application/json").body(body)
    }

    pub(crate) fn page(status: u16) -> Self {
        let page = "<!doctype html><title>Welcome</title><p>This is a web page.";
        Self::empty(status).header("Content-Type", "text/html; charset=utf-8").body(page)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn for_method(mut self, method: &str) -> Self {
        self.head_only = method == "HEAD";
        self
    }

    pub(crate) fn write(&self, mut stream: &TcpStream) -> Replied {
        let status = StatusCode::from_u16(self.status).ok();
        let reason = status.and_then(|status| status.canonical_reason());
        let reason = reason.unwrap_or("Internal Server Error");
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status);
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
        stream.write_all(&bytes).map(|()| AfterReply::KeepOpen)
    }
}
