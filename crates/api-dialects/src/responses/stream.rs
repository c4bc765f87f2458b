//! A streamed chat completion as the events of a response.

mod calls;
mod searches;

use bytes::BytesMut;
use serde_json::{Value, json};
use wire::sse::Event;

use super::super::chunk::{Choice, Chunk};
use super::super::round::Round;
use super::super::{MAX_OUTPUT_ITEMS, Malformed, SearchResult, StreamFault, ToolTable, Usage};
use super::events::{DeltaEvent, EventWriter, OutputPosition, ResponseEvent};
use super::output::{Item, Kind, Part, PartKind};
use super::shape::{Outcome, Shape, Status};

/// Translates one stream: fed with chunks, it writes the response's events.
///
/// Call [`start`](Self::start) first. The end is the upstream's `[DONE]`, or
/// [`finish`](Self::finish) or [`fail`](Self::fail); nothing is written after it. If the model called
/// for web searches, `[DONE]` ends only the round: see [`begin_searches`](Self::begin_searches).
pub struct Stream {
    shape: Shape,
    round: Round,
    events: EventWriter,
    items: Vec<Item>,
    /// The item whose last part is open for text.
    speaking: Option<usize>,
    /// The pages that searches found.
    sources: Vec<SearchResult>,
    end: Option<Value>,
}

impl Stream {
    /// A stream of the response of this shape.
    ///
    /// `tools` is that of the translated request; `ids` makes an id for a prefix such as `msg`.
    pub fn new(
        shape: Shape,
        tools: ToolTable,
        ids: impl FnMut(&str) -> String + Send + 'static,
    ) -> Self {
        Self {
            shape,
            round: Round::first(tools, ids),
            events: EventWriter::default(),
            items: Vec::new(),
            speaking: None,
            sources: Vec::new(),
            end: None,
        }
    }

    /// Writes the events for a created response in progress.
    pub fn start(&mut self, out: &mut BytesMut) {
        let whole =
            ResponseEvent { response: self.shape.response(Outcome::of(Status::InProgress)) };
        self.events.write(out, "response.created", &whole);
        self.events.write(out, "response.in_progress", &whole);
    }

    /// Translates a chunk.
    pub fn feed(&mut self, event: &Event, out: &mut BytesMut) -> Result<(), StreamFault> {
        if self.end.is_some() || event.is_comment() {
            return Ok(());
        }
        let data = event.data();
        if &*data == b"[DONE]" {
            if self.pending_searches().next().is_none() {
                self.finish(out);
            }
            return Ok(());
        }
        Ok(self.chunk(Chunk::read(&data)?, out)?)
    }

    /// Adds a whole completion, the answer of one round.
    pub fn add_completion(
        &mut self,
        completion: &Value,
        out: &mut BytesMut,
    ) -> Result<(), Malformed> {
        self.chunk(Chunk::of_completion(completion)?, out)
    }

    /// Ends the response with the output so far; later chunks are ignored.
    pub fn finish(&mut self, out: &mut BytesMut) {
        if self.end.is_some() {
            return;
        }
        if self.items.is_empty() {
            self.speak(PartKind::Text, "", out);
        }
        let reason = self.round.finish_reason.take().unwrap_or_default();
        let mut outcome = Outcome::ended(Vec::new(), self.usage(), &reason);
        let last = self.items.len() - 1;
        let status = |n| if n == last { outcome.status.name() } else { "completed" };
        if let Some(n) = self.speaking {
            self.close_speech(status(n), out);
        }
        for n in std::mem::take(&mut self.round.calls).positions() {
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

    /// Cancels the response for its member; there is no event for it.
    pub fn cancel(&mut self) {
        if self.end.is_none() {
            let outcome = self.broken_off(Status::Cancelled);
            self.end = Some(self.shape.response(outcome));
        }
    }

    pub fn is_done(&self) -> bool {
        self.end.is_some()
    }

    /// Whether the upstream sent a finish reason: a stream cut after it is complete.
    pub fn has_finish_reason(&self) -> bool {
        self.round.finish_reason.is_some()
    }

    /// The usage of all rounds, once the upstream has reported it.
    pub fn usage(&self) -> Option<Usage> {
        self.round.total_usage()
    }

    /// The response object to store, after the end.
    pub fn final_response(&self) -> Option<&Value> {
        self.end.as_ref()
    }

    pub fn into_response(self) -> Option<Value> {
        self.end
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        self.round.usage = chunk.usage().or(self.round.usage);
        chunk.into_choices().try_for_each(|choice| self.choice(choice, out))
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
                self.round.grow(text)?;
                self.speak(kind, text, out);
            }
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(&call, out)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.round.finish_reason = Some(reason.0.into_owned());
        }
        if self.items.len() > MAX_OUTPUT_ITEMS { Err(Malformed::TooLong) } else { Ok(()) }
    }

    /// Adds text to the open part, or to a new one of this kind.
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

    /// The item for parts of this kind, with an open part of this kind at its end.
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
        let id = (self.round.ids)(kind.id_prefix());
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
        let part = Part::new(kind);
        let added = json!({
            "item_id": id,
            "output_index": n,
            "content_index": parts.len(),
            "part": part.json(),
        });
        parts.push(part);
        self.events.write(out, "response.content_part.added", &added);
    }

    fn close_part(&mut self, n: usize, out: &mut BytesMut) {
        let Item { id, kind: Kind::Parts { parts, .. } } = &mut self.items[n] else { return };
        let index = parts.len().saturating_sub(1);
        let Some(part) = parts.last_mut() else { return };
        let place = json!({ "item_id": id, "output_index": n, "content_index": index });
        if part.kind == PartKind::Text {
            part.cite(&self.sources);
        }
        for (annotation_index, annotation) in part.annotations.iter().enumerate() {
            let mut added = place.clone();
            added["annotation_index"] = annotation_index.into();
            added["annotation"] = annotation.clone();
            self.events.write(out, "response.output_text.annotation.added", &added);
        }
        let mut part_done = place.clone();
        part_done["part"] = part.json();
        let mut done = place;
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

    /// The part of a response that arrived before it ended early: open items stay incomplete.
    fn broken_off(&mut self, status: Status) -> Outcome {
        let open: Vec<usize> = self.round.calls.positions().chain(self.speaking).collect();
        let state = |n| if open.contains(&n) { "incomplete" } else { "completed" };
        let output = self.items.iter().enumerate().map(|(n, item)| item.json(state(n))).collect();
        self.speaking = None;
        self.round.calls.clear();
        Outcome { output, usage: self.usage(), ..Outcome::of(status) }
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

/// Converts a completion into a response object.
///
/// `tools` is that of the translated request; `ids` makes an id for a prefix such as `msg`. For an
/// answer of several rounds, use a [`Stream`] and [`Stream::add_completion`].
pub fn answer(
    completion: &Value,
    shape: &Shape,
    tools: &ToolTable,
    ids: impl FnMut(&str) -> String + Send + 'static,
) -> Result<Value, Malformed> {
    let mut stream = Stream::new(shape.clone(), tools.clone(), ids);
    let mut events = BytesMut::new();
    stream.add_completion(completion, &mut events)?;
    stream.finish(&mut events);
    stream.into_response().ok_or(Malformed::Missing("message"))
}
