//! Sends the response that a step defines, exact to the byte.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::Step;
use super::dialect::{Event, EventPosition};
use super::generated_answer::{GeneratedAnswer, words};
use super::model_request::{Delivery, ModelRequest};
use super::recorded_request::Exchange;
use super::server_state::ServerState;
use crate::http::{AfterReply, Replied, Reply};

/// Written at once, so that the count of sent bytes is current while more is written.
const BLOCK_BYTES: usize = 16 * 1024;
const GATE_POLL: Duration = Duration::from_millis(5);

/// Neither an event nor UTF-8.
const NO_EVENT: &[u8] = b"data {\"choices\"\n\xff\xfe\x00\xc3\n\nid\nevent\n\n}}}\n\n";

/// An event whose data is not JSON.
const NO_JSON: &[u8] = b"data: {\"id\": \"broken\", \"choices\": [{\"delta\"\n\n";

const CHUNKED: &str = "Transfer-Encoding: chunked";

pub(super) fn send(exchange: &Exchange, stream: &TcpStream, reply: &Reply) -> Replied {
    let sent = reply.write(stream)?;
    exchange.sent(reply.body.len());
    Ok(sent)
}

/// Answers one request. Every error means that the client disconnected.
pub(super) struct StepRunner<'a> {
    pub(super) state: &'a ServerState,
    pub(super) exchange: &'a Exchange,
    pub(super) ask: &'a ModelRequest,
    pub(super) stream: &'a TcpStream,
}

impl StepRunner<'_> {
    pub(super) fn play(&self, step: &Step) -> Replied {
        match step {
            Step::Slow(pause) | Step::Speak(_, pause) => self.wait(*pause)?,
            Step::Gate => self.wait_at_gate()?,
            Step::CutBeforeFirst => return Ok(AfterReply::Close),
            Step::Reset => return self.reset(),
            Step::Hang => return self.hang(),
            Step::Status(status) => {
                let wait = matches!(status, 429 | 503).then_some(1);
                return self.fail(*status, wait);
            }
            Step::RetryAfter(status, seconds) => return self.fail(*status, Some(*seconds)),
            Step::HtmlError => return send(self.exchange, self.stream, &Reply::page(502)),
            Step::Raw { status, media_type, body } => {
                let reply = Reply::empty(*status).header("Content-Type", media_type);
                return send(self.exchange, self.stream, &reply.body(body.clone()));
            }
            Step::RawStream(events) => return self.raw_stream(events),
            _ => {}
        }
        let answer = GeneratedAnswer::of(step, self.ask, self.exchange.number);
        if self.ask.delivery == Delivery::Whole {
            return self.whole(step, &answer);
        }
        self.stream_events(step, &answer)
    }

    /// Runs the step with a response that is not text.
    pub(super) fn play_media(&self, step: &Step, reply: &Reply) -> Replied {
        match step {
            Step::Slow(pause) => self.wait(*pause)?,
            Step::Gate => self.wait_at_gate()?,
            Step::Echo => {}
            _ => return self.play(step),
        }
        send(self.exchange, self.stream, reply)
    }

    fn whole(&self, step: &Step, answer: &GeneratedAnswer<'_>) -> Replied {
        let pieces = u32::try_from(answer.pieces.len()).unwrap_or(u32::MAX);
        self.wait(answer.pace * pieces)?;
        let body = match step {
            Step::ErrorEvent => self.ask.dialect.error(500, &self.failure(500)),
            _ => self.ask.dialect.whole(answer),
        };
        let body = body.to_string().into_bytes();
        let half = body.len() / 2;
        match step {
            Step::Shatter => {
                self.head("application/json", CHUNKED)?;
                body.chunks(3).try_for_each(|piece| self.chunk(piece))?;
                return self.finish();
            }
            Step::MalformedJson | Step::MalformedSse => {
                let broken = if *step == Step::MalformedJson { &body[..half] } else { NO_EVENT };
                self.head("application/json", &format!("Content-Length: {}", broken.len()))?;
                return self.write(broken).map(|()| AfterReply::KeepOpen);
            }
            Step::Endless => {
                self.head("application/json", CHUNKED)?;
                self.chunk(b"{\"choices\": [{\"message\": {\"content\": \"")?;
                loop {
                    self.chunk(&[b'x'; 1024])?;
                }
            }
            _ => {}
        }
        self.head("application/json", &format!("Content-Length: {}", body.len()))?;
        if *step == Step::CutAfterHead {
            return Ok(AfterReply::Close);
        }
        self.write(&body[..half])?;
        match step {
            Step::CutAfter(_) | Step::CutMidEvent => return Ok(AfterReply::Close),
            Step::ResetMid => return self.reset(),
            Step::HangMid => return self.hang(),
            Step::GateMid => self.wait_at_gate()?,
            _ => {}
        }
        self.write(&body[half..]).map(|()| AfterReply::KeepOpen)
    }

    fn stream_events(&self, step: &Step, answer: &GeneratedAnswer<'_>) -> Replied {
        let events = self.ask.dialect.events(answer);
        let pieces = if let Step::GateBetween(first, _) = step { words(first).count() } else { 1 };
        let first = events.iter().position(|event| event.part == EventPosition::Piece);
        let first = first.unwrap_or(0) + pieces;
        let (begin, rest) = events.split_at(first);
        self.head("text/event-stream; charset=utf-8", CHUNKED)?;
        match step {
            Step::CutAfterHead => return Ok(AfterReply::Close),
            Step::CutAfter(count) => {
                events.iter().take(*count).try_for_each(|event| self.event(event))?;
                return Ok(AfterReply::Close);
            }
            Step::Shatter => return self.shatter(&events),
            _ => {}
        }
        self.events(begin, answer.pace)?;
        match step {
            Step::CutMidEvent => {
                let next = rest.first().map(|event| event.text.as_bytes()).unwrap_or_default();
                self.chunk(&next[..next.len() / 2])?;
                return Ok(AfterReply::Close);
            }
            Step::ResetMid => return self.reset(),
            Step::HangMid => return self.hang(),
            Step::GateMid | Step::GateBetween(..) => self.wait_at_gate()?,
            Step::Endless => loop {
                self.event(&begin[first - 1])?;
            },
            Step::ErrorEvent => {
                self.event(&self.ask.dialect.error_event(&self.failure(500)))?;
                return self.finish();
            }
            Step::MalformedJson => self.chunk(NO_JSON)?,
            Step::MalformedSse => {
                self.chunk(NO_EVENT)?;
                return self.finish();
            }
            Step::NoDone => {
                let unfinished: Vec<Event> =
                    rest.iter().filter(|event| event.part != EventPosition::End).cloned().collect();
                self.events(&unfinished, answer.pace)?;
                return self.finish();
            }
            _ => {}
        }
        self.events(rest, answer.pace)?;
        self.finish()
    }

    fn events(&self, events: &[Event], pace: Duration) -> io::Result<()> {
        events.iter().try_for_each(|event| {
            if event.part == EventPosition::Piece {
                self.wait(pace)?;
            }
            self.event(event)
        })
    }

    fn event(&self, event: &Event) -> io::Result<()> {
        self.chunk(event.text.as_bytes())
    }

    /// Valid by the format, and as inconvenient as it allows.
    fn shatter(&self, events: &[Event]) -> Replied {
        let mut all = String::from(": shattered\r\n\r\n");
        for event in events {
            all += &event.text.replace('\n', "\r\n");
            all += ": é\r\n";
        }
        all.as_bytes().chunks(3).try_for_each(|piece| self.chunk(piece))?;
        self.finish()
    }

    fn raw_stream(&self, events: &[Vec<u8>]) -> Replied {
        self.head("text/event-stream", CHUNKED)?;
        events.iter().try_for_each(|event| self.chunk(event))?;
        self.finish()
    }

    fn fail(&self, status: u16, retry_after: Option<u64>) -> Replied {
        let body = self.ask.dialect.error(status, &self.failure(status)).to_string();
        let mut reply = Reply::json(status, body).header("x-request-id", "req_upstream_failed");
        if let Some(seconds) = retry_after {
            reply = reply.header("Retry-After", &seconds.to_string());
        }
        send(self.exchange, self.stream, &reply)
    }

    /// A message with everything that a proxy must not pass on.
    fn failure(&self, status: u16) -> String {
        let (origin, key) = (self.state.origin(), &self.state.key);
        format!("scripted {status}: `messages` is not liked at {origin}/internal with key {key}")
    }

    fn head(&self, media_type: &str, framing: &str) -> io::Result<()> {
        let number = self.exchange.number;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n{framing}\r\n\
             x-request-id: req_upstream_{number}\r\nx-ratelimit-limit-requests: 10000\r\n\
             openai-organization: org-upstream-secret\r\n\r\n"
        );
        let mut stream = self.stream;
        stream.write_all(head.as_bytes())
    }

    fn chunk(&self, bytes: &[u8]) -> io::Result<()> {
        // One write for a small text, so that an event is not two packets.
        if bytes.len() <= BLOCK_BYTES {
            let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
            framed.extend_from_slice(bytes);
            framed.extend_from_slice(b"\r\n");
            return self.write(&framed);
        }
        let mut stream = self.stream;
        write!(stream, "{:x}\r\n", bytes.len())?;
        self.write(bytes)?;
        stream.write_all(b"\r\n")
    }

    fn finish(&self) -> Replied {
        let mut stream = self.stream;
        stream.write_all(b"0\r\n\r\n").map(|()| AfterReply::KeepOpen)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        bytes.chunks(BLOCK_BYTES).try_for_each(|block| {
            stream.write_all(block)?;
            self.exchange.sent(block.len());
            Ok(())
        })
    }

    /// Resets the connection: the reader gets an error instead of an end.
    fn reset(&self) -> Replied {
        rustix::net::sockopt::set_socket_linger(self.stream, Some(Duration::ZERO))?;
        Ok(AfterReply::Close)
    }

    fn wait_at_gate(&self) -> io::Result<()> {
        while !self.state.gate.load(Ordering::SeqCst) {
            self.wait(GATE_POLL)?;
        }
        Ok(())
    }

    fn hang(&self) -> Replied {
        loop {
            self.wait(Duration::from_hours(1))?;
        }
    }

    /// Waits, and fails if the client disconnects meanwhile.
    fn wait(&self, pause: Duration) -> io::Result<()> {
        let deadline = Instant::now() + pause;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.stream.set_read_timeout(None);
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.peek(&mut [0]) {
                Ok(0) => return Err(ErrorKind::ConnectionAborted.into()),
                // The client sent its next request early; that waits too.
                Ok(_) => thread::sleep(left.min(GATE_POLL)),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
