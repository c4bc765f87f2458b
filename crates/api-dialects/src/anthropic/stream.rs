//! A stream of message events as a stream of chat completion chunks.

mod usage_reader;

use std::borrow::Cow;

use bytes::BytesMut;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::sse::{Event, write_data};

use super::super::chat_messages::tool_call;
use super::super::{Malformed, StreamFault, Text, Usage, write_json};
use super::answer::{Counts, finish_reason};

pub use usage_reader::UsageReader;

/// Translates one stream: fed with the upstream's events, it writes the client's.
#[derive(Debug, Default)]
pub struct Stream {
    id: String,
    created: u64,
    model: String,
    include_usage: bool,
    counts: Option<Counts>,
    /// The open content block, when it is a tool call.
    call: Option<Call>,
    calls: u32,
    progress: Progress,
}

/// Progress of the client's stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    #[default]
    Nothing,
    Role,
    FinishReason,
    Done,
}

#[derive(Debug)]
struct Call {
    block: u64,
    index: u32,
    has_arguments: bool,
}

impl Stream {
    /// A stream whose chunks carry this id and time, with the usage at the end if requested.
    pub fn new(id: impl Into<String>, created: u64, include_usage: bool) -> Self {
        Self { id: id.into(), created, include_usage, ..Self::default() }
    }

    /// Translates an event to zero or more chunks.
    pub fn feed(&mut self, event: &Event, out: &mut BytesMut) -> Result<(), StreamFault> {
        if self.is_done() || event.is_comment() {
            return Ok(());
        }
        let data = event.data();
        let Some(incoming) = Incoming::read(&data)? else { return Ok(()) };
        match &*incoming.kind {
            "message_start" => {
                let message = incoming.message.ok_or(Malformed::Missing("message"))?;
                self.model = message.model.into_owned();
                self.counts = message.usage;
                self.role(out);
            }
            "content_block_start" => {
                let block = incoming.content_block.ok_or(Malformed::Missing("content_block"))?;
                self.role(out);
                self.open(incoming.index, block, out)?;
            }
            "content_block_delta" => {
                self.continue_block(&incoming.delta.ok_or(Malformed::Missing("delta"))?, out);
            }
            "content_block_stop"
                if self.call.as_ref().is_some_and(|call| Some(call.block) == incoming.index) =>
            {
                self.finish_call(out);
            }
            "message_delta" => {
                if let Some(later) = incoming.usage {
                    self.counts.get_or_insert_default().update(later);
                }
                self.end(incoming.delta.unwrap_or_default(), out);
            }
            "message_stop" => self.stop(out),
            "error" => {
                let error = incoming.error.unwrap_or_default();
                return Err(StreamFault::upstream(&error.kind, &error.message));
            }
            // `ping`, and event types of later versions.
            _ => {}
        }
        Ok(())
    }

    /// Whether the upstream sent the end of the message.
    pub fn is_done(&self) -> bool {
        self.progress == Progress::Done
    }

    /// Upstream usage so far.
    pub fn usage(&self) -> Option<Usage> {
        self.counts.as_ref().map(Counts::usage)
    }

    fn open(
        &mut self,
        block: Option<u64>,
        content: Content<'_>,
        out: &mut BytesMut,
    ) -> Result<(), Malformed> {
        match &*content.kind {
            "text" => self.text(content.text.as_deref(), out),
            "thinking" => self.thinking(content.thinking.as_deref(), out),
            "tool_use" => {
                let id = content.id.as_deref().ok_or(Malformed::Missing("id"))?;
                let name = content.name.as_deref().ok_or(Malformed::Missing("name"))?;
                let index = self.calls;
                self.calls += 1;
                let block = block.unwrap_or_default();
                self.call = Some(Call { block, index, has_arguments: false });
                let mut call = tool_call(id, name, "");
                call["index"] = index.into();
                self.delta(&json!({ "tool_calls": [call] }), out);
                if let Some(Value::Object(input)) = content.input
                    && !input.is_empty()
                {
                    self.arguments(&Value::Object(input).to_string(), out);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn continue_block(&mut self, delta: &IncomingDelta<'_>, out: &mut BytesMut) {
        match delta.kind.as_deref() {
            Some("text_delta") => self.text(delta.text.as_deref(), out),
            Some("thinking_delta") => self.thinking(delta.thinking.as_deref(), out),
            Some("input_json_delta") => {
                self.arguments(delta.partial_json.as_deref().unwrap_or_default(), out);
            }
            // Chunks cannot carry signatures and citations.
            _ => {}
        }
    }

    /// A call without arguments is a call with an empty object.
    fn finish_call(&mut self, out: &mut BytesMut) {
        if self.call.as_ref().is_some_and(|call| !call.has_arguments) {
            self.arguments("{}", out);
        }
        self.call = None;
    }

    fn end(&mut self, delta: IncomingDelta<'_>, out: &mut BytesMut) {
        let Some(reason) = delta.stop_reason else { return };
        self.finish_call(out);
        if let Some(explanation) = delta.stop_details.and_then(|details| details.explanation) {
            self.delta(&json!({ "refusal": explanation }), out);
        }
        self.finish(finish_reason(&reason), out);
    }

    fn finish(&mut self, reason: &'static str, out: &mut BytesMut) {
        if self.progress < Progress::FinishReason {
            self.role(out);
            self.progress = Progress::FinishReason;
            self.chunk(&json!({}), Some(reason), out);
        }
    }

    fn stop(&mut self, out: &mut BytesMut) {
        self.finish_call(out);
        self.finish("stop", out);
        if self.include_usage {
            let usage = self.counts.unwrap_or_default().usage();
            self.write(&[], Some(usage.to_chat()), out);
        }
        write_data(out, b"[DONE]");
        self.progress = Progress::Done;
    }

    fn role(&mut self, out: &mut BytesMut) {
        if self.progress < Progress::Role {
            self.progress = Progress::Role;
            self.delta(&json!({ "role": "assistant", "content": "" }), out);
        }
    }

    fn text(&mut self, text: Option<&str>, out: &mut BytesMut) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.delta(&json!({ "content": text }), out);
        }
    }

    fn thinking(&mut self, text: Option<&str>, out: &mut BytesMut) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.delta(&json!({ "reasoning_content": text }), out);
        }
    }

    fn arguments(&mut self, fragment: &str, out: &mut BytesMut) {
        let Some(call) = self.call.as_mut().filter(|_| !fragment.is_empty()) else { return };
        call.has_arguments = true;
        let call = json!({ "index": call.index, "function": { "arguments": fragment } });
        self.delta(&json!({ "tool_calls": [call] }), out);
    }

    fn delta(&self, delta: &Value, out: &mut BytesMut) {
        self.chunk(delta, None, out);
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&'static str>, out: &mut BytesMut) {
        let choice = Choice { index: 0, delta, logprobs: None, finish_reason };
        self.write(&[choice], self.include_usage.then_some(Value::Null), out);
    }

    fn write(&self, choices: &[Choice<'_>], usage: Option<Value>, out: &mut BytesMut) {
        let chunk = Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices,
            usage,
        };
        write_json(out, &chunk);
    }
}

/// The event types that are translated.
const KNOWN: &[&str] = &[
    "message_start", "content_block_start", "content_block_delta", "content_block_stop",
    "message_delta", "message_stop", "error",
];

/// Any upstream event: every type has some of these fields.
#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    index: Option<u64>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    content_block: Option<Content<'a>>,
    #[serde(borrow)]
    delta: Option<IncomingDelta<'a>>,
    usage: Option<Counts>,
    error: Option<UpstreamError>,
}

impl<'a> Incoming<'a> {
    /// The event, or `None` for an unknown type.
    fn read(data: &'a [u8]) -> Result<Option<Self>, Malformed> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "type")]
            kind: String,
        }
        let unreadable = match serde_json::from_slice(data) {
            Ok(incoming) => return Ok(Some(incoming)),
            Err(_) => serde_json::from_slice::<Kind>(data),
        };
        match unreadable {
            Ok(Kind { kind }) if !KNOWN.contains(&kind.as_str()) => Ok(None),
            _ => Err(Malformed::Event),
        }
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    text: Option<String>,
    thinking: Option<String>,
}

#[derive(Default, Deserialize)]
struct IncomingDelta<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<Text<'a>>,
    stop_reason: Option<String>,
    stop_details: Option<StopDetails>,
}

#[derive(Deserialize)]
struct StopDetails {
    explanation: Option<String>,
}

#[derive(Default, Deserialize)]
struct UpstreamError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    /// Omitted unless the client requested usage; then null until the last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    delta: &'a Value,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}
