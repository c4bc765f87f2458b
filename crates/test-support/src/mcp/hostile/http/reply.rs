//! Responses that become a stream when there is more than one message to send.

use std::io::{self, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::super::correct_server::Era;
use super::super::server::MessageSink;
use crate::http::{AfterReply, Replied, Reply, write_chunk};

pub(super) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
     Cache-Control: no-store\r\nTransfer-Encoding: chunked\r\n";

pub(super) fn event(message: &[u8]) -> Vec<u8> {
    [b"event: message\ndata: ", message, b"\n\n"].concat()
}

pub(super) fn end_chunks(stream: &mut TcpStream) -> Replied {
    stream.write_all(b"0\r\n\r\n").map(|()| AfterReply::KeepOpen)
}

/// The response to a POST: JSON for one message, an event stream for more or for a pause.
pub(super) struct ResponseSink<'a> {
    stream: &'a mut TcpStream,
    session: Option<String>,
    era: Era,
    waiting: Option<Vec<u8>>,
    streaming: bool,
    broken: Option<io::Error>,
}

impl<'a> ResponseSink<'a> {
    pub(super) fn new(stream: &'a mut TcpStream, session: Option<String>, era: Era) -> Self {
        ResponseSink { stream, session, era, waiting: None, streaming: false, broken: None }
    }

    pub(super) fn finish(mut self) -> Replied {
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

    fn begin_stream(&mut self) -> io::Result<()> {
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

    fn attempt(&mut self, act: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.broken.is_none()
            && let Err(error) = act(self)
        {
            self.broken = Some(error);
        }
    }
}

impl MessageSink for ResponseSink<'_> {
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

/// The stateless revision maps some errors to a status, and some codes are its own.
fn status_of(era: Era, message: &[u8]) -> u16 {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    match (message["error"]["code"].as_i64(), era) {
        (Some(-32601), Era::Stateless) => 404,
        (Some(-32602), Era::Stateless) | (Some(-32022..=-32020), _) => 400,
        _ => 200,
    }
}
