//! Event streams: the one that a client opens with GET, the unusual ones that answer a call, and that
//! of the transport of 2024-11-05, whose first event names the URL to POST to.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::super::bad_messages::bytes;
use super::super::behaviour::Behaviour;
use super::super::correct_server;
use super::super::server::{MessageResult, Sink, is_affected};
use super::bad_responses::BadResponse;
use super::reply::{STREAM_HEAD, end_chunks, event};
use super::{Origin, STREAM_PULSE, ServerState};
use crate::http::{AfterReply, Replied, Reply, Request, write_chunk};
use crate::wait::lock;

const HUGE_EVENT_BYTES: usize = 100_000_000;
const PIECE_BYTES: usize = 64 * 1024;
const COMMENT_EVERY: Duration = Duration::from_millis(100);

impl ServerState {
    /// The stream that a client opens with GET: silent, unless the behaviour floods it.
    pub(super) fn stream_events(&self, request: &Request, stream: &mut TcpStream) -> Replied {
        if request.header("accept").is_none_or(|accept| !accept.contains("event-stream")) {
            return Reply::empty(405).header("Allow", "POST").write(stream);
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
        self.server.flood(&mut Sink::new(|message: &[u8]| write_chunk(stream, &event(message))));
        pulse(stream)
    }

    /// A stream that answers a call in an unusual way; `None` if the behaviour has none.
    pub(super) fn odd_stream(&self, call: &Value, stream: &mut TcpStream) -> BadResponse {
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
        end_chunks(stream).map(Some)
    }
}

/// Sends comments until the client disconnects.
fn pulse(stream: &mut TcpStream) -> Replied {
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

fn huge_event(call: &Value, stream: &mut TcpStream) -> io::Result<()> {
    let answer = correct_server::call_with_text(correct_server::Era::Legacy, call, "#").to_string();
    let (before, after) = answer.split_once('#').unwrap_or_default();
    write_chunk(stream, format!("data: {before}").as_bytes())?;
    let piece = vec![b'x'; PIECE_BYTES];
    for _ in 0..HUGE_EVENT_BYTES / PIECE_BYTES {
        write_chunk(stream, &piece)?;
    }
    write_chunk(stream, format!("{after}\n\n").as_bytes())
}

impl ServerState {
    pub(super) fn respond_old_sse(
        &self,
        request: &Request,
        origin: Origin,
        stream: &mut TcpStream,
    ) -> Replied {
        let path = request.path.split('?').next().unwrap_or_default();
        match (request.method.as_str(), path) {
            // Messages to the other origin are only logged.
            (_, _) if origin == Origin::Other => Reply::empty(202).write(stream),
            ("GET", "/sse") => self.open_old_stream(stream),
            ("POST", "/messages") => self.post_to_old_stream(request, stream),
            _ => Reply::empty(405).header("Allow", "GET").write(stream),
        }
    }

    fn open_old_stream(&self, stream: &mut TcpStream) -> Replied {
        let session = format!("old-{}", self.count());
        let (sender, receiver) = mpsc::channel();
        lock(&self.old_streams).insert(session.clone(), sender);
        stream.write_all(format!("{STREAM_HEAD}\r\n").as_bytes())?;
        let origin = match self.server.behaviour {
            Behaviour::SseElsewhere => format!("http://127.0.0.1:{}", self.other_port),
            _ => String::new(),
        };
        if self.server.behaviour != Behaviour::SseNoEndpoint {
            let endpoint =
                format!("event: endpoint\ndata: {origin}/messages?session={session}\n\n");
            write_chunk(stream, endpoint.as_bytes())?;
        }
        loop {
            match receiver.recv_timeout(STREAM_PULSE) {
                Ok(message) => write_chunk(stream, &event(&message))?,
                Err(RecvTimeoutError::Timeout) => write_chunk(stream, b": pulse\n\n")?,
                Err(RecvTimeoutError::Disconnected) => return Ok(AfterReply::Close),
            }
        }
    }

    fn post_to_old_stream(&self, request: &Request, stream: &mut TcpStream) -> Replied {
        let session = request.path.split_once("session=").map_or("", |(_, session)| session);
        let Some(sender) = lock(&self.old_streams).get(session).cloned() else {
            return Reply::text(404, "no such session").write(stream);
        };
        let message = request.json();
        if is_affected(&message) && self.server.behaviour == Behaviour::SseRefusesPost {
            return Reply::text(500, "out of order").write(stream);
        }
        if is_affected(&message) && self.server.behaviour == Behaviour::SseDrops {
            lock(&self.old_streams).remove(session);
            return Reply::text(202, "Accepted").write(stream);
        }
        Reply::text(202, "Accepted").write(stream)?;
        let send = |message: &[u8]| sender.send(message.to_vec()).map_err(io::Error::other);
        match self.server.receive(&message, &mut Sink::new(send)) {
            MessageResult::Exit(code) => std::process::exit(i32::from(code)),
            MessageResult::Answered | MessageResult::Silent => Ok(AfterReply::KeepOpen),
        }
    }
}
