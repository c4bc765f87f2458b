//! A complete HTTP response.

use std::io::Write;
use std::net::TcpStream;

pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
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

    pub(crate) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn write(&self, stream: &mut TcpStream) -> std::io::Result<()> {
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
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
