//! The transport of 2024-11-05: one event stream, whose first event names the URL to POST to.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};

use super::super::behaviour::Behaviour;
use super::super::server::{MessageResult, MessageSink, strikes};
use super::reply::{STREAM_HEAD, event, write_chunk};
use super::{Origin, STREAM_PULSE, ServerState};
use crate::http::{AfterReply, Reply, Request};
use crate::wait::lock;

impl ServerState {
    pub(super) fn respond_old_sse(
        &self,
        request: &Request,
        origin: Origin,
        stream: &mut TcpStream,
    ) -> std::io::Result<AfterReply> {
        let path = request.path.split('?').next().unwrap_or_default();
        match (request.method.as_str(), path) {
            // Messages to the other origin are only logged.
            (_, _) if origin == Origin::Other => Reply::empty(202).write(stream)?,
            ("GET", "/sse") => return self.open_old_stream(stream),
            ("POST", "/messages") => self.post_to_old_stream(request, stream)?,
            _ => Reply::empty(405).header("Allow", "GET").write(stream)?,
        }
        Ok(AfterReply::KeepOpen)
    }

    fn open_old_stream(&self, stream: &mut TcpStream) -> std::io::Result<AfterReply> {
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

    fn post_to_old_stream(&self, request: &Request, stream: &mut TcpStream) -> std::io::Result<()> {
        let session = request.path.split_once("session=").map_or("", |(_, session)| session);
        let Some(sender) = lock(&self.old_streams).get(session).cloned() else {
            return Reply::text(404, "no such session").write(stream);
        };
        let message = request.json();
        if strikes(&message) && self.server.behaviour == Behaviour::SseRefusesPost {
            return Reply::text(500, "out of order").write(stream);
        }
        if strikes(&message) && self.server.behaviour == Behaviour::SseDrops {
            lock(&self.old_streams).remove(session);
            return Reply::text(202, "Accepted").write(stream);
        }
        Reply::text(202, "Accepted").write(stream)?;
        match self.server.receive(&message, &mut StreamSink { sender, gone: false }) {
            MessageResult::Exit(code) => std::process::exit(i32::from(code)),
            MessageResult::Said | MessageResult::Silent => Ok(()),
        }
    }
}

struct StreamSink {
    sender: Sender<Vec<u8>>,
    gone: bool,
}

impl MessageSink for StreamSink {
    fn message(&mut self, message: &[u8]) {
        self.gone |= self.sender.send(message.to_vec()).is_err();
    }

    fn settle(&mut self) {}

    fn is_gone(&self) -> bool {
        self.gone
    }
}
