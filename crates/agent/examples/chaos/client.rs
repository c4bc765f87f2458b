//! One HTTP request on a new connection, and whether its answer arrived complete.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than any fault lasts, so that a timeout means that the service hangs.
const READ_TIMEOUT: Duration = Duration::from_secs(40);

/// One request.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) key: &'a str,
    pub(crate) idempotency_key: Option<&'a str>,
    pub(crate) body: &'a str,
}

/// What the client received.
pub(crate) enum Response {
    /// All of an answer.
    Complete(Answer),
    /// The request may have been sent, but no complete answer arrived.
    Cut,
    /// The connection was refused, so that the service saw nothing.
    NotSent,
    /// No byte arrived within [`READ_TIMEOUT`].
    Hung,
}

/// A complete answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    pub(crate) fn text_of(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap_or_default().to_owned()
    }
}

impl Request<'_> {
    pub(crate) fn send(&self, address: SocketAddr) -> Response {
        let Ok(mut stream) = TcpStream::connect(address) else { return Response::NotSent };
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        if stream.write_all(self.text().as_bytes()).is_err() {
            return Response::Cut;
        }
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            Ok(_) => parse(&bytes).map_or(Response::Cut, Response::Complete),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Response::Hung,
            Err(_) => Response::Cut,
        }
    }

    fn text(&self) -> String {
        let repeat = self.idempotency_key.map(|key| format!("idempotency-key: {key}\r\n"));
        format!(
            "{} {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{}\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{}",
            self.method,
            self.path,
            self.key,
            repeat.unwrap_or_default(),
            self.body.len(),
            self.body
        )
    }
}

/// The answer, if nothing of it is missing.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
    if answer.header("transfer-encoding") == Some("chunked") {
        let inner = body.strip_suffix("0\r\n\r\n")?;
        let is_stream = answer.header("content-type") == Some("text/event-stream");
        // A stream that ends with an error event is complete as a message, but not as an answer.
        let is_whole = inner.contains("data: [DONE]") || inner.contains("\"response.completed\"");
        if is_stream && status == 200 && !is_whole {
            return None;
        }
    } else {
        let length: usize = answer.header("content-length")?.parse().ok()?;
        if bytes.len() - (head.len() + 4) != length {
            return None;
        }
    }
    Some(answer)
}
