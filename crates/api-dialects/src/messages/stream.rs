//! A streamed chat completion as the events of a message.

mod block;
mod searches;
mod writer;

use bytes::BytesMut;
use serde_json::{Value, json};
use wire::sse::Event;

use super::super::chunk::{CallDelta, Choice, Chunk};
use super::super::fields::Object;
use super::super::round::Round;
use super::super::tool_table::ToolKind;
use super::super::{MAX_OUTPUT_ITEMS, Malformed, StreamFault, ToolTable, Usage};
use super::events::write;
use super::shape::Shape;
use block::Block;
use writer::BlockWriter;

/// Translates one stream: fed with chunks, it writes the events of a message.
///
/// Call [`start`](Self::start) first. The end is the upstream's `[DONE]`, or
/// [`finish`](Self::finish) or [`fail`](Self::fail); nothing is written after it. If the model called
/// for web searches, `[DONE]` ends only the round: see [`begin_searches`](Self::begin_searches).
pub struct Stream {
    shape: Shape,
    round: Round,
    blocks: BlockWriter,
    /// Text after the first call of a round; it is written after the calls.
    late_text: String,
    refusal: String,
    searches: u64,
    stop_sequence: Option<String>,
    is_done: bool,
}

impl Stream {
    /// A stream of the message of this shape.
    ///
    /// `tools` is that of the translated request; `ids` makes an id for a prefix such as `toolu`.
    pub fn new(
        shape: Shape,
        tools: ToolTable,
        ids: impl FnMut(&str) -> String + Send + 'static,
    ) -> Self {
        Self {
            shape,
            round: Round::first(tools, ids),
            blocks: BlockWriter::default(),
            late_text: String::new(),
            refusal: String::new(),
            searches: 0,
            stop_sequence: None,
            is_done: false,
        }
    }

    pub fn start(&mut self, out: &mut BytesMut) {
        let end = end_fields(None, None);
        let message = self.shape.message(Vec::new(), end, Usage::default().to_message());
        write(out, "message_start", &json!({ "message": message }));
        Self::ping(out);
    }

    /// Writes a keep-alive event.
    pub fn ping(out: &mut BytesMut) {
        write(out, "ping", &json!({}));
    }

    /// Translates a chunk.
    pub fn feed(&mut self, event: &Event, out: &mut BytesMut) -> Result<(), StreamFault> {
        if self.is_done || event.is_comment() {
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

    /// Ends the message with the content so far; later chunks are ignored.
    pub fn finish(&mut self, out: &mut BytesMut) {
        if self.is_done {
            return;
        }
        self.end_round(out);
        self.abandon_searches(out);
        if self.blocks.is_empty() && !self.refusal.is_empty() {
            self.blocks.text(&self.refusal, out);
            self.blocks.close_all(out);
        }
        let (end, usage) = (self.end(), self.usage_json());
        write(out, "message_delta", &json!({ "delta": end, "usage": usage }));
        write(out, "message_stop", &json!({}));
        self.is_done = true;
    }

    /// Ends the message with an error of the given type, as in `overloaded_error`.
    pub fn fail(&mut self, kind: &str, message: &str, out: &mut BytesMut) {
        if !self.is_done {
            write(out, "error", &json!({ "error": { "type": kind, "message": message } }));
            self.is_done = true;
        }
    }

    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the upstream sent a finish reason: a stream cut after it is complete.
    pub fn has_finish_reason(&self) -> bool {
        self.round.finish_reason.is_some()
    }

    /// The usage of all rounds, once the upstream has reported it.
    pub fn usage(&self) -> Option<Usage> {
        self.round.total_usage()
    }

    /// The message as written so far.
    pub fn message(&self) -> Value {
        self.shape.message(self.blocks.json(), self.end(), self.usage_json())
    }

    fn usage_json(&self) -> Value {
        let mut usage = self.usage().unwrap_or_default().to_message();
        if self.searches > 0 {
            usage["server_tool_use"] =
                json!({ "web_search_requests": self.searches, "web_fetch_requests": 0 });
        }
        usage
    }

    /// The stop reason.
    fn end(&self) -> Object {
        let reason = match self.round.finish_reason.as_deref() {
            Some("length") => "max_tokens",
            // Some servers say `stop` after a call.
            _ if self.blocks.has_client_call() => "tool_use",
            Some("content_filter") => "refusal",
            _ if !self.refusal.is_empty() => "refusal",
            _ if self.stop_sequence.is_some() => "stop_sequence",
            _ => "end_turn",
        };
        let mut end = end_fields(Some(reason), self.stop_sequence.as_deref());
        if reason == "refusal" {
            let explanation = Some(&self.refusal).filter(|text| !text.is_empty());
            let details =
                json!({ "type": "refusal", "category": null, "explanation": explanation });
            end.insert("stop_details".into(), details);
        }
        end
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        self.round.usage = chunk.usage().or(self.round.usage);
        chunk.into_choices().try_for_each(|choice| self.choice(choice, out))
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        let delta = choice.delta.unwrap_or_default();
        let has_calls = self.round.calls.positions().next().is_some();
        if let Some(thought) = delta.thought()
            && self.shape.shows_thinking
            && !has_calls
        {
            self.round.grow(thought)?;
            self.blocks.thinking(thought, out);
        }
        if let Some(text) = delta.content.as_deref() {
            self.round.grow(text)?;
            if has_calls {
                self.late_text.push_str(text);
            } else {
                self.blocks.text(text, out);
            }
        }
        if let Some(refusal) = delta.refusal.as_deref() {
            self.round.grow(refusal)?;
            self.refusal.push_str(refusal);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(&call, out)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.round.finish_reason = Some(reason.0.into_owned());
        }
        if let Some(Value::String(stop)) = choice.stop_reason {
            self.stop_sequence = Some(stop);
        }
        if self.blocks.len() > MAX_OUTPUT_ITEMS { Err(Malformed::TooLong) } else { Ok(()) }
    }

    /// Appends to a call, which begins with its name.
    fn call(&mut self, delta: &CallDelta<'_>, out: &mut BytesMut) -> Result<(), Malformed> {
        self.round.grow(delta.arguments())?;
        let n = match self.round.calls.find(delta) {
            Some(n) => n,
            None => self.begin_call(delta, out)?,
        };
        self.blocks.arguments(n, delta.arguments(), out);
        Ok(())
    }

    fn begin_call(
        &mut self,
        delta: &CallDelta<'_>,
        out: &mut BytesMut,
    ) -> Result<usize, Malformed> {
        let function = delta.name().ok_or(Malformed::Missing("name of a call"))?;
        let tool = self.round.tools.tool(function);
        // The API requires this prefix of the ids of searches.
        let id = match delta.id() {
            Some(id) if tool.kind != ToolKind::WebSearch => id.to_owned(),
            _ if tool.kind == ToolKind::WebSearch => (self.round.ids)("srvtoolu"),
            _ => (self.round.ids)("toolu"),
        };
        self.round.calls.add(delta.index, delta.id().unwrap_or(&id), self.blocks.len());
        let function = function.to_owned();
        Ok(self.blocks.add(Block::Call { id, tool, function, arguments: String::new() }, out))
    }

    /// Writes everything that is deferred to the end of the calls.
    fn end_round(&mut self, out: &mut BytesMut) {
        self.blocks.close_all(out);
        let text = std::mem::take(&mut self.late_text);
        if !text.trim().is_empty() {
            self.blocks.text(&text, out);
            self.blocks.close_all(out);
        }
    }
}

fn end_fields(reason: Option<&str>, sequence: Option<&str>) -> Object {
    let fields = [("stop_reason", reason), ("stop_sequence", sequence)];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Stream")
            .field("shape", &self.shape)
            .field("blocks", &self.blocks.len())
            .field("done", &self.is_done)
            .finish_non_exhaustive()
    }
}

/// Converts a completion into a message.
///
/// `tools` is that of the translated request; `ids` makes an id for a prefix such as `toolu`. For an
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
    Ok(stream.message())
}
