//! The response object: fields repeated from the request, and the outcome.

use serde_json::{Value, json};

use super::super::Usage;
use super::super::fields::{Object, object, present};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Accepted in the background, not started.
    Queued,
    InProgress,
    Completed,
    /// Ended before the model finished.
    Incomplete,
    Failed,
    Cancelled,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The result part of a response object.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub status: Status,
    /// The output items so far.
    pub output: Vec<Value>,
    pub usage: Option<Usage>,
    /// Code and message of the failure.
    pub error: Option<(String, String)>,
    /// Why the status is incomplete.
    pub incomplete: Option<&'static str>,
}

impl Outcome {
    pub fn of(status: Status) -> Self {
        Self { status, output: Vec::new(), usage: None, error: None, incomplete: None }
    }

    pub(super) fn ended(output: Vec<Value>, usage: Option<Usage>, finish_reason: &str) -> Self {
        let incomplete = match finish_reason {
            "length" => Some("max_output_tokens"),
            "content_filter" => Some("content_filter"),
            _ => None,
        };
        let status = if incomplete.is_some() { Status::Incomplete } else { Status::Completed };
        Self { status, output, usage, error: None, incomplete }
    }
}

/// Fields common to all states of a response: id, time and the request's settings.
#[derive(Debug, Clone)]
pub struct Shape {
    fields: Object,
}

impl Shape {
    pub fn new(body: &Object, id: &str, created_at: u64) -> Self {
        let given = |name: &str| present(body, name).cloned();
        let or_null = |name: &str| given(name).unwrap_or_default();
        let or = |name: &str, default: Value| given(name).unwrap_or(default);
        let effort = |name: &str| present(body, "reasoning").and_then(|object| object.get(name));
        let shape = json!({
            "id": id,
            "object": "response",
            "created_at": created_at,
            "completed_at": null,
            "background": or("background", false.into()),
            "instructions": or_null("instructions"),
            "max_output_tokens": or_null("max_output_tokens"),
            "max_tool_calls": or_null("max_tool_calls"),
            "metadata": or("metadata", json!({})),
            "model": or("model", "".into()),
            "parallel_tool_calls": or("parallel_tool_calls", true.into()),
            "previous_response_id": or_null("previous_response_id"),
            "prompt_cache_key": or_null("prompt_cache_key"),
            "reasoning": { "effort": effort("effort"), "summary": effort("summary") },
            "safety_identifier": or_null("safety_identifier"),
            "service_tier": or("service_tier", "default".into()),
            "store": or("store", true.into()),
            "temperature": or("temperature", 1.0.into()),
            "text": text(body),
            "tool_choice": or("tool_choice", "auto".into()),
            "tools": tools(body),
            "top_logprobs": 0,
            "top_p": or("top_p", 1.0.into()),
            "truncation": "disabled",
            "user": or_null("user"),
        });
        let fields = if let Value::Object(fields) = shape { fields } else { Object::new() };
        Self { fields }
    }

    pub fn id(&self) -> &str {
        self.fields["id"].as_str().unwrap_or_default()
    }

    /// The response object in one of its states.
    pub fn response(&self, outcome: Outcome) -> Value {
        let error =
            outcome.error.map(|(code, message)| json!({ "code": code, "message": message }));
        let incomplete = outcome.incomplete.map(|reason| json!({ "reason": reason }));
        let mut fields = self.fields.clone();
        fields.insert("status".into(), outcome.status.name().into());
        fields.insert("output".into(), outcome.output.into());
        fields.insert("usage".into(), outcome.usage.map(|usage| usage.to_response()).into());
        fields.insert("error".into(), error.into());
        fields.insert("incomplete_details".into(), incomplete.into());
        fields.into()
    }
}

fn text(body: &Object) -> Value {
    let mut text = object(body, "text").cloned().unwrap_or_default();
    if present(&text, "format").is_none() {
        text.insert("format".into(), json!({ "type": "text" }));
    }
    text.into()
}

/// The tools, with fields that are optional in requests but required in responses.
fn tools(body: &Object) -> Value {
    let tools = present(body, "tools").and_then(Value::as_array).cloned().unwrap_or_default();
    let full = tools.into_iter().map(|mut tool| {
        if let Value::Object(tool) = &mut tool
            && tool.get("type").is_some_and(|kind| kind == "function")
        {
            tool.entry("parameters").or_insert(Value::Null);
            tool.entry("strict").or_insert(Value::Null);
        }
        tool
    });
    full.collect::<Vec<_>>().into()
}
