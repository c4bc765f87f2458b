//! A client that writes and reads bytes as it likes, on a bare connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a read may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to the service.
pub(crate) struct Raw {
    reader: BufReader<TcpStream>,
    is_chunked: bool,
    left: usize,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header; empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

impl Raw {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream), is_chunked: false, left: 0 }
    }

    /// Opens a connection and sends a request on it.
    pub(crate) fn post(address: SocketAddr, path: &str, key: &str, body: &Value) -> Self {
        Self::post_with(address, path, &[("authorization", &format!("Bearer {key}"))], body)
    }

    /// The same with headers of one's own.
    pub(crate) fn post_with(
        address: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Self {
        let mut raw = Self::open(address);
        raw.send(&request("POST", path, headers, &body.to_string()));
        raw
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    /// Reads a head; `None` if the connection ended before it.
    pub(crate) fn try_head(&mut self) -> Option<Head> {
        let first = self.line()?;
        let status = first.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let head = Head { status, headers };
        self.is_chunked = head.header("transfer-encoding") == "chunked";
        self.left = head.header("content-length").parse().unwrap_or(0);
        Some(head)
    }

    #[track_caller]
    pub(crate) fn head(&mut self) -> Head {
        self.try_head().unwrap()
    }

    /// The next piece of the body; `None` at its proper end.
    #[track_caller]
    pub(crate) fn piece(&mut self) -> Option<Vec<u8>> {
        let length = if self.is_chunked {
            usize::from_str_radix(&self.line().unwrap(), 16).unwrap()
        } else {
            std::mem::take(&mut self.left)
        };
        let mut piece = vec![0; length];
        self.reader.read_exact(&mut piece).unwrap();
        if self.is_chunked {
            assert_eq!(self.line().unwrap(), "");
        }
        (length > 0).then_some(piece)
    }

    /// The next piece of the body; `None` at its end, proper or not.
    pub(crate) fn try_piece(&mut self) -> Option<Vec<u8>> {
        let length = if self.is_chunked {
            usize::from_str_radix(&self.line()?, 16).ok()?
        } else {
            std::mem::take(&mut self.left)
        };
        let mut piece = vec![0; length];
        self.reader.read_exact(&mut piece).ok()?;
        if self.is_chunked {
            self.line()?;
        }
        (length > 0).then_some(piece)
    }

    /// What is left of the body.
    #[track_caller]
    pub(crate) fn body(&mut self) -> String {
        let mut body = Vec::new();
        while let Some(piece) = self.piece() {
            body.extend(piece);
        }
        String::from_utf8(body).unwrap()
    }

    /// Whether the other side has ended the connection, in whichever way.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.reader.fill_buf(), Ok([]) | Err(_))
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(1..) => Some(line.trim_end().to_owned()),
            _ => None,
        }
    }
}

/// A request as text.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        lines += &format!("{name}: {value}\r\n");
    }
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{lines}content-length: {length}\r\n\r\n{body}"
    )
}

/// The data of all events of a stream, as JSON where it is that.
pub(crate) fn events(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
}
