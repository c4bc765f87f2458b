//! Event streams: the one that a client opens with GET, and the unusual ones that answer a call.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::super::bad_messages::bytes;
use super::super::behaviour::Behaviour;
use super::super::correct_server;
use super::super::server::MessageSink;
use super::reply::{STREAM_HEAD, end_chunks, event, write_chunk};
use super::{STREAM_PULSE, ServerState};
use crate::http::{AfterReply, Reply, Request};
use crate::wait::lock;

const HUGE_EVENT_BYTES: usize = 100_000_000;
const PIECE_BYTES: usize = 64 * 1024;
const COMMENT_EVERY: Duration = Duration::from_millis(100);

impl ServerState {
    /// The stream that a client opens with GET: silent, unless the behaviour floods it.
    pub(super) fn stream_events(
        &self,
        request: &Request,
        stream: &mut TcpStream,
    ) -> std::io::Result<AfterReply> {
        if request.header("accept").is_none_or(|accept| !accept.contains("event-stream")) {
            Reply::empty(405).header("Allow", "POST").write(stream)?;
            return Ok(AfterReply::KeepOpen);
        }
        stream.write_all(format!("{STREAM_HEAD}\r\n").as_bytes())?;
        let resumed =
            request.header("last-event-id").and_then(|id| lock(&self.resumable).remove(id));
        if let Some(message) = resumed {
            write_chunk(stream, &event(&message))?;
        }
        if self.server.behaviour == Behaviour::GetDies {
            end_chunks(stream)?;
            return Ok(AfterReply::Close);
        }
        let mut out = EventSink { stream, broken: None };
        self.server.flood(&mut out);
        match out.broken {
            Some(error) => Err(error),
            None => pulse(stream),
        }
    }

    /// A stream that answers a call in an unusual way; `None` if the behaviour has none.
    pub(super) fn odd_stream(
        &self,
        call: &Value,
        stream: &mut TcpStream,
    ) -> std::io::Result<Option<AfterReply>> {
        let right = bytes(&correct_server::call(self.server.era(), call));
        let begin =
            |stream: &mut TcpStream| stream.write_all(format!("{STREAM_HEAD}\r\n").as_bytes());
        match self.server.behaviour {
            Behaviour::SseNoAnswer => {
                begin(stream)?;
                write_chunk(stream, b": nothing to say\n\n")?;
            }
            Behaviour::SseResume => {
                begin(stream)?;
                let id = format!("event-{}", self.count());
                write_chunk(stream, format!("id: {id}\nretry: 200\ndata: \n\n").as_bytes())?;
                let mut resumable = lock(&self.resumable);
                resumable.insert(id, right);
            }
            Behaviour::SseOdd => {
                begin(stream)?;
                for byte in odd_events(call) {
                    write_chunk(stream, &[byte])?;
                }
            }
            Behaviour::SseForever => {
                begin(stream)?;
                loop {
                    write_chunk(stream, b": still working\n\n")?;
                    thread::sleep(COMMENT_EVERY);
                }
            }
            Behaviour::SseHuge => {
                begin(stream)?;
                huge_event(call, stream)?;
            }
            Behaviour::SseNoEvents => {
                begin(stream)?;
                write_chunk(stream, b"event: message\n\nevent: heartbeat\ndata: {}\n\n")?;
                write_chunk(stream, b"data:\n\ndata: not JSON\n\nid: 5\n\nretry: soon\n\n")?;
                write_chunk(stream, &event(&right))?;
            }
            Behaviour::SseCut => {
                begin(stream)?;
                let whole = event(&right);
                write_chunk(stream, &whole[..whole.len() / 2])?;
            }
            _ => return Ok(None),
        }
        end_chunks(stream)?;
        Ok(Some(AfterReply::KeepOpen))
    }
}

/// Sends comments until the client disconnects.
fn pulse(stream: &mut TcpStream) -> std::io::Result<AfterReply> {
    loop {
        write_chunk(stream, b": pulse\n\n")?;
        thread::sleep(STREAM_PULSE);
    }
}

/// A correct answer that uses every legal form of an event: a byte order mark, comments, all three
/// line ends, data over several lines with and without a space, multi-byte characters.
fn odd_events(call: &Value) -> Vec<u8> {
    let answer = correct_server::call_with_text(correct_server::Era::Legacy, call, "odd: é → 𝄞");
    let pretty = serde_json::to_string_pretty(&answer).unwrap_or_default();
    let mut text = "\u{feff}: a comment\r\n\r\n:\n\nevent:message\rid:7\rretry:10\r\n".to_owned();
    for (index, line) in pretty.lines().enumerate() {
        let space = if index % 2 == 0 { "" } else { " " };
        let end = ["\n", "\r\n", "\r"][index % 3];
        text += &format!("data:{space}{line}{end}");
    }
    text += "unknown: field\n\n";
    text.into_bytes()
}

fn huge_event(call: &Value, stream: &mut TcpStream) -> std::io::Result<()> {
    let answer = correct_server::call_with_text(correct_server::Era::Legacy, call, "#").to_string();
    let (before, after) = answer.split_once('#').unwrap_or_default();
    write_chunk(stream, format!("data: {before}").as_bytes())?;
    let piece = vec![b'x'; PIECE_BYTES];
    for _ in 0..HUGE_EVENT_BYTES / PIECE_BYTES {
        write_chunk(stream, &piece)?;
    }
    write_chunk(stream, format!("{after}\n\n").as_bytes())
}

struct EventSink<'a> {
    stream: &'a mut TcpStream,
    broken: Option<std::io::Error>,
}

impl MessageSink for EventSink<'_> {
    fn message(&mut self, message: &[u8]) {
        if self.broken.is_none() {
            self.broken = write_chunk(self.stream, &event(message)).err();
        }
    }

    fn settle(&mut self) {}

    fn is_gone(&self) -> bool {
        self.broken.is_some()
    }
}
