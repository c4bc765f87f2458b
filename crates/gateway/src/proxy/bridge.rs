//! The translation of chat completions to the interface of the client.

use api_dialects::{Malformed, Search, SearchOutcome, StreamFault, ToolTable, messages, responses};
use bytes::BytesMut;
use serde_json::Value;
use wire::sse::Event;

use super::whole::{Shape, new_id};

pub(crate) enum Bridge {
    Responses(responses::Stream),
    Messages(messages::Stream),
}

impl Bridge {
    pub(super) fn new(shape: Shape, tools: ToolTable) -> Self {
        match shape {
            Shape::Response(shape) => Self::Responses(responses::Stream::new(shape, tools, new_id)),
            Shape::Message(shape) => Self::Messages(messages::Stream::new(shape, tools, new_id)),
        }
    }

    pub(super) fn start(&mut self, out: &mut BytesMut) {
        match self {
            Self::Responses(stream) => stream.start(out),
            Self::Messages(stream) => stream.start(out),
        }
    }

    pub(super) fn feed(&mut self, chunk: &Event, out: &mut BytesMut) -> Result<(), StreamFault> {
        match self {
            Self::Responses(stream) => stream.feed(chunk, out),
            Self::Messages(stream) => stream.feed(chunk, out),
        }
    }

    pub(super) fn finish(&mut self, out: &mut BytesMut) {
        match self {
            Self::Responses(stream) => stream.finish(out),
            Self::Messages(stream) => stream.finish(out),
        }
    }

    pub(super) fn add_completion(
        &mut self,
        completion: &Value,
        out: &mut BytesMut,
    ) -> Result<(), Malformed> {
        match self {
            Self::Responses(stream) => stream.add_completion(completion, out),
            Self::Messages(stream) => stream.add_completion(completion, out),
        }
    }

    pub(super) fn begin_searches(&mut self, out: &mut BytesMut) -> Vec<Search> {
        match self {
            Self::Responses(stream) => stream.begin_searches(out),
            Self::Messages(stream) => stream.begin_searches(out),
        }
    }

    pub(super) fn end_search(
        &mut self,
        search: &Search,
        outcome: &SearchOutcome,
        out: &mut BytesMut,
    ) {
        match self {
            Self::Responses(stream) => stream.end_search(search, outcome, out),
            Self::Messages(stream) => stream.end_search(search, outcome, out),
        }
    }

    pub(super) fn next_round(&mut self) -> Option<Vec<Value>> {
        match self {
            Self::Responses(stream) => stream.next_round(),
            Self::Messages(stream) => stream.next_round(),
        }
    }
}
