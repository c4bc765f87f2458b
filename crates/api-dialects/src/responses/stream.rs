//! A streamed chat completion as the events of a response.

use bytes::BytesMut;
use serde_json::{Value, json};
use wire::sse::Event;

use super::super::{Malformed, StreamFault, Usage};
use super::chunk::{CallDelta, Choice, Chunk, error_words};
use super::events::{DeltaEvent, EventWriter, OutputPosition, ResponseEvent};
use super::output::{Item, Kind, Part, PartKind};
use super::shape::{Outcome, Shape, Status};

/// The most text, arguments and thoughts one response may have: all of it is kept to the end.
pub const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// The most items one response may have.
pub const MAX_OUTPUT_ITEMS: usize = 1024;

/// Carries one stream over: fed with chunks, it writes the response's events.
///
/// Call [`start`](Self::start) first. The end is the upstream's `[DONE]`, or
/// [`finish`](Self::finish) or [`fail`](Self::fail); nothing is written after it.
pub struct Stream {
    shape: Shape,
    ids: Box<dyn FnMut(&str) -> String + Send>,
    events: EventWriter,
    items: Vec<Item>,
    /// The item, last part of it, that text is being added to.
    speaking: Option<usize>,
    /// The open calls: the chunk's index and the item.
    calls: Vec<(u64, usize)>,
    output_bytes: usize,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    end: Option<Value>,
}

impl Stream {
    /// A stream of the response of this shape; `ids` makes an id for a prefix such as `msg`.
    pub fn new(shape: Shape, ids: impl FnMut(&str) -> String + Send + 'static) -> Self {
        Self {
            shape,
            ids: Box::new(ids),
            events: EventWriter::default(),
            items: Vec::new(),
            speaking: None,
            calls: Vec::new(),
            output_bytes: 0,
            usage: None,
            finish_reason: None,
            end: None,
        }
    }

    /// Tells that the response exists and is under way.
    pub fn start(&mut self, out: &mut BytesMut) {
        let whole =
            ResponseEvent { response: self.shape.response(Outcome::of(Status::InProgress)) };
        self.events.write(out, "response.created", &whole);
        self.events.write(out, "response.in_progress", &whole);
    }

    /// Writes what the chunk means to a reader of a response.
    pub fn feed(&mut self, event: &Event, out: &mut BytesMut) -> Result<(), StreamFault> {
        if self.end.is_some() || event.is_comment() {
            return Ok(());
        }
        let data = event.data();
        if &*data == b"[DONE]" {
            self.finish(out);
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_slice(&data).map_err(|_| Malformed::Event)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let (kind, message) = error_words(&error);
            return Err(StreamFault::upstream(&kind, &message));
        }
        if let Some(usage) = chunk.usage.filter(Value::is_object) {
            self.usage = Some(Usage::of_chat(&usage));
        }
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            self.choice(choice, out)?;
        }
        Ok(())
    }

    /// Ends the response with what was said so far; what follows is ignored.
    pub fn finish(&mut self, out: &mut BytesMut) {
        if self.end.is_some() {
            return;
        }
        if self.items.is_empty() {
            self.speak(PartKind::Text, "", out);
        }
        let reason = self.finish_reason.take().unwrap_or_default();
        let mut outcome = Outcome::ended(Vec::new(), self.usage, &reason);
        let last = self.items.len() - 1;
        let status = |n| if n == last { outcome.status.name() } else { "completed" };
        if let Some(n) = self.speaking {
            self.close_speech(status(n), out);
        }
        for (_, n) in std::mem::take(&mut self.calls) {
            self.close_call(n, status(n), out);
        }
        outcome.output =
            self.items.iter().enumerate().map(|(n, item)| item.json(status(n))).collect();
        let kind = match outcome.status {
            Status::Incomplete => "response.incomplete",
            _ => "response.completed",
        };
        self.conclude(kind, outcome, out);
    }

    /// Ends the response with an error. `code` is one of the API's own, as in `server_error`.
    pub fn fail(&mut self, code: &str, message: &str, out: &mut BytesMut) {
        if self.end.is_some() {
            return;
        }
        let mut outcome = self.broken_off(Status::Failed);
        outcome.error = Some((code.to_owned(), message.to_owned()));
        self.conclude("response.failed", outcome, out);
    }

    /// Ends the response at its member's wish; no event tells of it.
    pub fn cancel(&mut self) {
        if self.end.is_none() {
            let outcome = self.broken_off(Status::Cancelled);
            self.end = Some(self.shape.response(outcome));
        }
    }

    /// Whether the last event has been written.
    pub fn is_done(&self) -> bool {
        self.end.is_some()
    }

    /// Whether the upstream said why it ended, so that a stream cut after it lost nothing.
    pub fn has_finish_reason(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// The tokens used, once the upstream has told.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The response object to store, after the end.
    pub fn final_response(&self) -> Option<&Value> {
        self.end.as_ref()
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        let delta = choice.delta.unwrap_or_default();
        let said = [
            (PartKind::Reasoning, delta.thought()),
            (PartKind::Text, delta.content.as_deref()),
            (PartKind::Refusal, delta.refusal.as_deref()),
        ];
        for (kind, text) in said {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                self.grow(text)?;
                self.speak(kind, text, out);
            }
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(&call, out)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.finish_reason = Some(reason.0.into_owned());
        }
        if self.items.len() > MAX_OUTPUT_ITEMS { Err(Malformed::TooLong) } else { Ok(()) }
    }

    /// Counts what is about to be kept.
    fn grow(&mut self, text: &str) -> Result<(), Malformed> {
        self.output_bytes += text.len();
        if self.output_bytes > MAX_OUTPUT_BYTES { Err(Malformed::TooLong) } else { Ok(()) }
    }

    /// Adds text to the open part, or to a new one when it is of another kind.
    fn speak(&mut self, kind: PartKind, text: &str, out: &mut BytesMut) {
        let n = self.open_speech(kind, out);
        let Some(Item { id, kind: Kind::Parts { parts, .. } }) = self.items.get_mut(n) else {
            return;
        };
        let content_index = parts.len().saturating_sub(1);
        if let Some(part) = parts.last_mut() {
            part.text.push_str(text);
        }
        if text.is_empty() {
            return;
        }
        let name = match kind {
            PartKind::Text => "response.output_text.delta",
            PartKind::Refusal => "response.refusal.delta",
            PartKind::Reasoning => "response.reasoning_text.delta",
        };
        let logprobs = (kind == PartKind::Text).then_some([]);
        let place =
            OutputPosition { item_id: id, output_index: n, content_index: Some(content_index) };
        let delta = DeltaEvent { place, delta: text, logprobs };
        self.events.write(out, name, &delta);
    }

    /// The item that takes parts of this kind, with such a part open at its end.
    fn open_speech(&mut self, kind: PartKind, out: &mut BytesMut) -> usize {
        if let Some(n) = self.speaking
            && let Kind::Parts { is_reasoning, parts } = &self.items[n].kind
        {
            if parts.last().is_some_and(|part| part.kind == kind) {
                return n;
            }
            if *is_reasoning == kind.is_reasoning() {
                self.close_part(n, out);
                self.open_part(n, kind, out);
                return n;
            }
            self.close_speech("completed", out);
        }
        let id = (self.ids)(kind.id_prefix());
        let parts = Kind::Parts { is_reasoning: kind.is_reasoning(), parts: Vec::new() };
        let n = self.add(Item { id, kind: parts }, out);
        self.speaking = Some(n);
        self.open_part(n, kind, out);
        n
    }

    fn add(&mut self, item: Item, out: &mut BytesMut) -> usize {
        let n = self.items.len();
        let added = json!({ "output_index": n, "item": item.json("in_progress") });
        self.items.push(item);
        self.events.write(out, "response.output_item.added", &added);
        n
    }

    fn open_part(&mut self, n: usize, kind: PartKind, out: &mut BytesMut) {
        let Item { id, kind: Kind::Parts { parts, .. } } = &mut self.items[n] else { return };
        parts.push(Part { kind, text: String::new() });
        let added = json!({
            "item_id": id,
            "output_index": n,
            "content_index": parts.len() - 1,
            "part": kind.json(""),
        });
        self.events.write(out, "response.content_part.added", &added);
    }

    fn close_part(&mut self, n: usize, out: &mut BytesMut) {
        let Item { id, kind: Kind::Parts { parts, .. } } = &self.items[n] else { return };
        let Some(part) = parts.last() else { return };
        let index = parts.len() - 1;
        let mut done = json!({ "item_id": id, "output_index": n, "content_index": index });
        let part_done = json!({
            "item_id": id,
            "output_index": n,
            "content_index": index,
            "part": part.kind.json(&part.text),
        });
        let name = match part.kind {
            PartKind::Text => {
                done["text"] = part.text.as_str().into();
                done["logprobs"] = json!([]);
                "response.output_text.done"
            }
            PartKind::Refusal => {
                done["refusal"] = part.text.as_str().into();
                "response.refusal.done"
            }
            PartKind::Reasoning => {
                done["text"] = part.text.as_str().into();
                "response.reasoning_text.done"
            }
        };
        self.events.write(out, name, &done);
        self.events.write(out, "response.content_part.done", &part_done);
    }

    fn close_speech(&mut self, status: &str, out: &mut BytesMut) {
        if let Some(n) = self.speaking.take() {
            self.close_part(n, out);
            self.close_item(n, status, out);
        }
    }

    fn close_item(&mut self, n: usize, status: &str, out: &mut BytesMut) {
        let done = json!({ "output_index": n, "item": self.items[n].json(status) });
        self.events.write(out, "response.output_item.done", &done);
    }

    /// Adds to a call, which begins with its name.
    fn call(&mut self, delta: &CallDelta<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        let function = delta.function.as_ref();
        let fragment = function.and_then(|function| function.arguments.as_ref());
        let fragment = fragment.map_or("", |text| &**text);
        self.grow(fragment)?;
        let id = delta.id.as_deref();
        let n = if let Some(n) = self.open_call(delta.index, id) {
            n
        } else {
            let name = function.and_then(|function| function.name.as_ref());
            let name = name.ok_or(Malformed::Missing("name of a call"))?;
            self.begin_call(delta.index, id, name, out)
        };
        let Some(Item { id, kind: Kind::Call { arguments, .. } }) = self.items.get_mut(n) else {
            return Ok(());
        };
        if !fragment.is_empty() {
            arguments.push_str(fragment);
            let place = OutputPosition { item_id: id, output_index: n, content_index: None };
            let delta = DeltaEvent { place, delta: fragment, logprobs: None };
            let name = "response.function_call_arguments.delta";
            self.events.write(out, name, &delta);
        }
        Ok(())
    }

    /// The item of a call under way; without an index, a new id begins a new call.
    fn open_call(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let open = match index {
            Some(index) => self.calls.iter().find(|(open, _)| *open == index),
            None => self.calls.last().filter(|(_, n)| match &self.items[*n].kind {
                Kind::Call { call_id, .. } => id.is_none_or(|id| id.is_empty() || id == call_id),
                Kind::Parts { .. } => false,
            }),
        };
        open.map(|(_, n)| *n)
    }

    fn begin_call(
        &mut self,
        index: Option<u64>,
        call_id: Option<&str>,
        name: &str,
        out: &mut BytesMut,
    ) -> usize {
        self.close_speech("completed", out);
        let call_id = call_id.filter(|id| !id.is_empty()).map(str::to_owned);
        let kind = Kind::Call {
            call_id: call_id.unwrap_or_else(|| (self.ids)("call")),
            name: name.to_owned(),
            arguments: String::new(),
        };
        let id = (self.ids)("fc");
        let n = self.add(Item { id, kind }, out);
        let after = self.calls.iter().map(|(index, _)| index.saturating_add(1)).max().unwrap_or(0);
        self.calls.push((index.unwrap_or(after), n));
        n
    }

    fn close_call(&mut self, n: usize, status: &str, out: &mut BytesMut) {
        let Item { id, kind: Kind::Call { name, arguments, .. } } = &self.items[n] else { return };
        let done = json!({
            "item_id": id, "output_index": n, "name": name, "arguments": arguments,
        });
        self.events.write(out, "response.function_call_arguments.done", &done);
        self.close_item(n, status, out);
    }

    /// What is there of a response that ends before its time: open items stay incomplete.
    fn broken_off(&mut self, status: Status) -> Outcome {
        let open: Vec<usize> = self.calls.drain(..).map(|(_, n)| n).chain(self.speaking).collect();
        let state = |n| if open.contains(&n) { "incomplete" } else { "completed" };
        let output = self.items.iter().enumerate().map(|(n, item)| item.json(state(n))).collect();
        self.speaking = None;
        Outcome { output, usage: self.usage, ..Outcome::of(status) }
    }

    fn conclude(&mut self, kind: &'static str, outcome: Outcome, out: &mut BytesMut) {
        let ended = ResponseEvent { response: self.shape.response(outcome) };
        self.events.write(out, kind, &ended);
        self.end = Some(ended.response);
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Stream")
            .field("id", &self.shape.id())
            .field("events", &self.events)
            .field("items", &self.items.len())
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
