//! Inspection of answers of an upstream with the responses interface.
//!
//! The upstream stores nothing for us: our id and storage fields replace its own in every response
//! object.

use std::sync::Arc;

use api_dialects::anthropic::UsageReader;
use bytes::Bytes;
use ledger::TokenCounts;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wire::sse::{Event, write_event};

use super::chat::{Fault, renamed};
use super::event_buffer::{EventBuffer, Output, Step};
use crate::failure::ApiError;

/// Our fields of a response object, which replace those of the upstream.
pub(crate) type Ours = Map<String, Value>;

#[derive(Debug, Default)]
pub(crate) struct NativeWatch {
    ours: Ours,
    pub(crate) tokens: TokenCounts,
    pub(crate) has_content: bool,
    sequence: i64,
    response: Option<Value>,
    is_over: bool,
}

#[derive(Deserialize)]
struct InspectedEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
    sequence_number: Option<i64>,
    response: Option<Value>,
    message: Option<String>,
}

impl NativeWatch {
    pub(crate) fn new(ours: Ours) -> Self {
        Self { ours, sequence: -1, ..Self::default() }
    }

    pub(crate) fn feed(&mut self, event: &Event, out: &mut Output) -> Result<Step, Fault> {
        let data = event.data();
        if data.trim_ascii() == b"[DONE]" {
            return Err(Fault::Malformed("the stream ended before the response was complete"));
        }
        let seen: InspectedEvent<'_> = serde_json::from_slice(&data)
            .map_err(|_| Fault::Malformed("an event is not valid JSON"))?;
        let sequence = seen.sequence_number.unwrap_or(self.sequence + 1);
        self.has_content |=
            seen.kind.ends_with(".delta") || seen.kind == "response.output_item.done";
        let Some(response) = seen.response else {
            if seen.kind == "error" {
                return Err(Fault::Told(seen.message));
            }
            self.sequence = sequence;
            out.ready.push(event.raw().clone());
            return Ok(Step::More);
        };
        let response = patched(response, &self.ours);
        if seen.kind == "response.failed" {
            let message = response.pointer("/error/message").and_then(Value::as_str);
            let fault = Fault::Told(message.map(str::to_owned));
            self.response = Some(response);
            return Err(fault);
        }
        // The number of an event that is not passed on is reused for ours.
        self.sequence = sequence;
        let is_end = matches!(&*seen.kind, "response.completed" | "response.incomplete");
        let into = if is_end { &mut out.last } else { &mut out.ready };
        write(into, &seen.kind, self.sequence, &response);
        if is_end {
            self.tokens = tokens(&response);
            self.is_over = true;
        }
        self.response = Some(response);
        Ok(if is_end { Step::Done } else { Step::More })
    }

    pub(crate) fn final_response(&self) -> Option<&Value> {
        self.response.as_ref().filter(|_| self.is_over)
    }

    /// Ends the stream with the failure in the response object.
    pub(crate) fn fail(&mut self, error: &ApiError, out: &mut EventBuffer) {
        self.is_over = true;
        let failure = json!({"code": "server_error", "message": error.message()});
        let sequence = self.sequence + 1;
        if let Some(response) = &mut self.response {
            if let Some(fields) = response.as_object_mut() {
                fields.insert("status".to_owned(), "failed".into());
                fields.insert("error".to_owned(), failure);
            }
            write(out, "response.failed", sequence, response);
            return;
        }
        let event = json!({
            "type": "error",
            "sequence_number": sequence,
            "code": error.code().as_str(),
            "message": error.message(),
            "param": null,
            "error": failure,
        });
        write_event(out.buffer(), "error", event.to_string().as_bytes());
    }
}

pub(crate) fn patched(mut response: Value, ours: &Ours) -> Value {
    if let Some(fields) = response.as_object_mut() {
        fields.extend(ours.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    response
}

pub(crate) fn tokens(response: &Value) -> TokenCounts {
    let count = |name| response.pointer(name).and_then(Value::as_i64).filter(|count| *count >= 0);
    TokenCounts { input: count("/usage/input_tokens"), output: count("/usage/output_tokens") }
}

fn write(out: &mut EventBuffer, kind: &str, sequence: i64, response: &Value) {
    let event = json!({"type": kind, "sequence_number": sequence, "response": response});
    write_event(out.buffer(), kind, event.to_string().as_bytes());
}

#[derive(Debug)]
pub(crate) struct MessagesWatch {
    pub(super) reader: UsageReader,
    /// The model name for the answer, as JSON.
    model: Arc<str>,
}

#[derive(Deserialize)]
struct FirstEvent<'a> {
    #[serde(borrow)]
    message: FirstMessage<'a>,
}

#[derive(Deserialize)]
struct FirstMessage<'a> {
    #[serde(borrow)]
    model: &'a RawValue,
}

impl MessagesWatch {
    pub(crate) fn new(model: Arc<str>) -> Self {
        Self { reader: UsageReader::default(), model }
    }

    pub(crate) fn feed(&mut self, event: &Event, out: &mut Output) -> Result<Step, Fault> {
        self.reader.feed(event)?;
        if self.reader.is_done() {
            out.last.push(event.raw().clone());
            return Ok(Step::Done);
        }
        let is_first = event.name() == Some("message_start");
        let named = is_first.then(|| self.renamed(event)).flatten();
        out.ready.push(named.unwrap_or_else(|| event.raw().clone()));
        Ok(Step::More)
    }

    fn renamed(&self, event: &Event) -> Option<Bytes> {
        // Only data on one line borrow from the event.
        let std::borrow::Cow::Borrowed(data) = event.data() else { return None };
        let first: FirstEvent<'_> = serde_json::from_slice(data).ok()?;
        renamed(event.raw(), first.message.model, &self.model).map(Bytes::from)
    }
}

#[cfg(test)]
mod tests;
