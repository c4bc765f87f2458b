//! Faults of a whole response: its status, its head, its body.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::super::bad_messages::bytes;
use super::super::behaviour::Behaviour;
use super::super::correct_server;
use super::super::server::is_affected;
use super::{ServerState, hold};
use crate::http::{AfterReply, Reply, Request};
use crate::wait::lock;

const SLOW_BYTE_EVERY: Duration = Duration::from_millis(100);
const HUGE_HEADER_BYTES: usize = 4 * 1024 * 1024;

/// `None` if the behaviour leaves the response alone.
pub(super) type BadResponse = std::io::Result<Option<AfterReply>>;

impl ServerState {
    /// Sends the faulty response of the behaviour, if it has one for this request.
    pub(super) fn bad_response(&self, request: &Request, stream: &mut TcpStream) -> BadResponse {
        if let Some(next) = self.bad_response_to_all(request, stream)? {
            return Ok(Some(next));
        }
        let message = request.json();
        let is_framing = matches!(self.server.behaviour, Behaviour::CloseAfter | Behaviour::Http10);
        if request.method != "POST" || !is_affected(&message) || is_framing {
            return self.bad_response_to_other(request, &message, stream);
        }
        let turn = self.affected_calls.fetch_add(1, Ordering::SeqCst);
        if let Some(reply) = self.wrong_status(request, &message, turn) {
            return reply.write(stream).map(Some);
        }
        if let Some(next) = self.odd_stream(&message, stream)? {
            return Ok(Some(next));
        }
        self.wrong_bytes(&message, turn, stream)
    }

    /// Faults that affect every request.
    fn bad_response_to_all(&self, request: &Request, stream: &mut TcpStream) -> BadResponse {
        let here = format!("http://127.0.0.1:{}", self.main_port);
        let elsewhere = format!("http://127.0.0.1:{}/mcp", self.other_port);
        let challenge = format!(
            "Bearer resource_metadata=\"{here}/.well-known/oauth-protected-resource/mcp\", \
             scope=\"files:read\""
        );
        let reply = match self.server.behaviour {
            Behaviour::Status401 => Reply::empty(401).header("WWW-Authenticate", &challenge),
            Behaviour::Status401Bare => Reply::empty(401),
            Behaviour::Status403 => Reply::text(403, "not for you"),
            Behaviour::NotFound => Reply::page(404),
            Behaviour::RedirectOther => Reply::empty(307).header("Location", &elsewhere),
            Behaviour::RedirectSame if request.path != "/moved" => {
                Reply::empty(308).header("Location", "/moved")
            }
            Behaviour::RedirectLoop => Reply::empty(307).header("Location", "/mcp"),
            Behaviour::Redirect303 if request.path != "/page" => {
                Reply::empty(303).header("Location", "/page")
            }
            Behaviour::HtmlPage | Behaviour::Redirect303 => Reply::page(200),
            _ => return Ok(None),
        };
        reply.for_method(&request.method).write(stream).map(Some)
    }

    /// Faults that affect requests other than calls of `good`.
    fn bad_response_to_other(
        &self,
        request: &Request,
        message: &Value,
        stream: &mut TcpStream,
    ) -> BadResponse {
        let method = request.method.as_str();
        let initialized = message["method"] == "notifications/initialized";
        let discover = message["method"] == "server/discover";
        let reply = match self.server.behaviour {
            Behaviour::HtmlGet if matches!(method, "GET" | "HEAD") => Reply::page(200),
            Behaviour::Get405 if method == "GET" => Reply::empty(405).header("Allow", "POST"),
            Behaviour::Discover400Page if discover => Reply::page(400),
            Behaviour::Discover404 if discover => Reply::text(404, "not here"),
            Behaviour::Discover500 if discover => Reply::text(500, "out of order"),
            Behaviour::Discover202 if discover => Reply::empty(202),
            Behaviour::InitializedFails if initialized => Reply::text(500, "out of order"),
            Behaviour::BadSessionId if message["method"] == "initialize" => {
                let session = "a session – with «odd» letters";
                lock(&self.sessions).insert(session.to_owned());
                Reply::json(200, bytes(&correct_server::answer(self.server.era(), message)))
                    .header("Mcp-Session-Id", session)
            }
            Behaviour::PreflightSilent if matches!(method, "GET" | "HEAD") => {
                hold(stream);
                return Ok(Some(AfterReply::Close));
            }
            Behaviour::DeleteSilent if method == "DELETE" => {
                hold(stream);
                return Ok(Some(AfterReply::Close));
            }
            Behaviour::CloseAfter if method == "POST" => {
                self.post(request, stream)?;
                return Ok(Some(AfterReply::Close));
            }
            Behaviour::Http10 if method == "POST" && message.get("id").is_some() => {
                return self.answer_in_http10(request, message, stream);
            }
            _ => return Ok(None),
        };
        reply.for_method(&request.method).write(stream).map(Some)
    }

    /// Complete responses with the wrong status or the wrong head, to a call of `good`.
    fn wrong_status(&self, request: &Request, call: &Value, turn: usize) -> Option<Reply> {
        let right = bytes(&correct_server::call(self.server.era(), call));
        let lost = bytes(&correct_server::error(call, -32001, "Session not found"));
        let once = match self.server.behaviour {
            Behaviour::Session404Once | Behaviour::Session404NewTools => Some(404),
            Behaviour::Session400Once => Some(400),
            Behaviour::Session200Once => Some(200),
            _ => None,
        };
        if let (Some(status), 0) = (once, turn) {
            let session = request.header("mcp-session-id").unwrap_or_default();
            lock(&self.sessions).remove(session);
            return Some(Reply::json(status, lost));
        }
        Some(match self.server.behaviour {
            Behaviour::Session404Always => Reply::json(404, lost),
            Behaviour::Status500 => Reply::text(500, "out of order"),
            Behaviour::Status500Once if turn == 0 => Reply::text(500, "out of order"),
            Behaviour::Status503RetryAfter if turn == 0 => {
                Reply::text(503, "later").header("Retry-After", "1")
            }
            Behaviour::Status429 if turn == 0 => {
                Reply::text(429, "slower").header("Retry-After", "1")
            }
            Behaviour::Status401Call => {
                let challenge = "Bearer error=\"invalid_token\"";
                Reply::empty(401).header("WWW-Authenticate", challenge)
            }
            Behaviour::Status403Scope => {
                let challenge = "Bearer error=\"insufficient_scope\", scope=\"files:write\"";
                Reply::empty(403).header("WWW-Authenticate", challenge)
            }
            Behaviour::Status202 => Reply::empty(202),
            Behaviour::Status204 => Reply::empty(204),
            Behaviour::EmptyBody => Reply::json(200, ""),
            Behaviour::NotJson => Reply::json(200, "{\"jsonrpc\": oops"),
            Behaviour::WrongContentType => Reply::text(200, right),
            Behaviour::NoContentType => Reply::empty(200).body(right),
            Behaviour::HugeHeaders => {
                Reply::json(200, right).header("X-Long", &"x".repeat(HUGE_HEADER_BYTES))
            }
            Behaviour::Gzip => {
                Reply::json(200, compressed(&right)).header("Content-Encoding", "gzip")
            }
            _ => return None,
        })
    }

    /// Responses that no library would write, to a call of `good`.
    fn wrong_bytes(&self, call: &Value, turn: usize, stream: &mut TcpStream) -> BadResponse {
        let right = bytes(&correct_server::call(self.server.era(), call));
        let half = &right[..right.len() / 2];
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        let length = right.len();
        match self.server.behaviour {
            Behaviour::CutBody => {
                write!(stream, "{head}Content-Length: {length}\r\n\r\n")?;
                stream.write_all(half)?;
            }
            Behaviour::CutChunks => {
                write!(stream, "{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n")?;
                stream.write_all(half)?;
            }
            Behaviour::ConflictingLengths => {
                let lengths = format!("Content-Length: {length}\r\nContent-Length: 5\r\n\r\n");
                stream.write_all(format!("{head}{lengths}").as_bytes())?;
                stream.write_all(&right)?;
            }
            Behaviour::TinyChunks => {
                write!(stream, "{head}Transfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n")?;
                for byte in &right {
                    stream.write_all(&[b"1;odd=\"yes\"\r\n", &[*byte][..], b"\r\n"].concat())?;
                }
                stream.write_all(b"0\r\nX-End: yes\r\n\r\n")?;
                return Ok(Some(AfterReply::KeepOpen));
            }
            Behaviour::Drop => {}
            Behaviour::DropOnce if turn == 0 => {}
            Behaviour::Garbage => stream.write_all(b"\x16\x03\x01\x02 this is not HTTP\n\n")?,
            Behaviour::SlowHeaders => {
                stream.write_all(format!("{head}X-Slow: ").as_bytes())?;
                loop {
                    stream.write_all(b"x")?;
                    thread::sleep(SLOW_BYTE_EVERY);
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(AfterReply::Close))
    }

    fn answer_in_http10(
        &self,
        request: &Request,
        message: &Value,
        stream: &mut TcpStream,
    ) -> BadResponse {
        if let Some(refusal) = self.refuse(request, message) {
            return refusal.write(stream).map(Some);
        }
        let session = match message["method"].as_str() {
            Some("initialize") => format!("Mcp-Session-Id: {}\r\n", self.new_session()),
            _ => String::new(),
        };
        write!(stream, "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n{session}\r\n")?;
        stream.write_all(&bytes(&correct_server::answer(self.server.era(), message)))?;
        Ok(Some(AfterReply::Close))
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}
