//! Output items and their parts as JSON.

use bytes::BytesMut;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::tool_table::{Tool, ToolKind};
use super::super::web_search::{self, SearchResult};
use super::super::write_event;
use super::tools::free_form_input;

#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A message, or the reasoning before one.
    Parts {
        is_reasoning: bool,
        parts: Vec<Part>,
    },
    Call {
        call_id: String,
        tool: Tool,
        arguments: String,
    },
    /// A web search that the service executes.
    Search(SearchItem),
}

#[derive(Debug)]
pub(super) struct SearchItem {
    pub(super) call_id: String,
    /// The chat function that the model called.
    pub(super) function: String,
    pub(super) arguments: String,
    pub(super) result: Option<FinishedSearch>,
}

#[derive(Debug)]
pub(super) struct FinishedSearch {
    pub(super) status: &'static str,
    /// The outcome for the model.
    pub(super) text: String,
    pub(super) urls: Vec<String>,
}

/// One part of an item's content.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) text: String,
    pub(super) annotations: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Refusal,
    Reasoning,
}

impl Item {
    /// The item with the given status.
    pub(super) fn json(&self, status: &str) -> Value {
        match &self.kind {
            Kind::Parts { is_reasoning: true, parts } => json!({
                "id": self.id,
                "type": "reasoning",
                "status": status,
                "summary": [],
                "content": contents(parts),
            }),
            Kind::Parts { is_reasoning: false, parts } => json!({
                "id": self.id,
                "type": "message",
                "status": status,
                "role": "assistant",
                "content": contents(parts),
            }),
            Kind::Call { call_id, tool, arguments } => {
                call(&self.id, status, call_id, tool, arguments)
            }
            Kind::Search(search) => search.json(&self.id, status),
        }
    }
}

fn contents(parts: &[Part]) -> Vec<Value> {
    parts.iter().map(Part::json).collect()
}

fn call(id: &str, status: &str, call_id: &str, tool: &Tool, arguments: &str) -> Value {
    let mut item = json!({ "id": id, "status": status, "call_id": call_id });
    match tool.kind {
        ToolKind::Custom => {
            item["type"] = "custom_tool_call".into();
            item["input"] = free_form_input(arguments).into();
        }
        ToolKind::ToolSearch => {
            item["type"] = "tool_search_call".into();
            item["execution"] = "client".into();
            item["arguments"] = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
            return item;
        }
        ToolKind::Function | ToolKind::WebSearch => {
            item["type"] = "function_call".into();
            item["arguments"] = arguments.into();
        }
    }
    item["name"] = tool.name.as_str().into();
    if let Some(namespace) = &tool.namespace {
        item["namespace"] = namespace.as_str().into();
    }
    item
}

pub(super) fn call_id_prefix(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Function => "fc",
        ToolKind::Custom => "ctc",
        ToolKind::ToolSearch => "tsc",
        ToolKind::WebSearch => "ws",
    }
}

impl SearchItem {
    pub(super) fn query(&self) -> String {
        web_search::query(&self.arguments)
    }

    fn json(&self, id: &str, status: &str) -> Value {
        let status = match &self.result {
            Some(result) => result.status,
            None if status == "in_progress" => status,
            None => "failed",
        };
        let query = self.query();
        let mut action = json!({ "type": "search", "query": query, "queries": [query] });
        if let Some(result) = &self.result {
            let sources = result.urls.iter().map(|url| json!({ "type": "url", "url": url }));
            action["sources"] = sources.collect();
        }
        json!({ "id": id, "type": "web_search_call", "status": status, "action": action })
    }
}

impl Part {
    pub(super) fn new(kind: PartKind) -> Self {
        Self { kind, text: String::new(), annotations: Vec::new() }
    }

    pub(super) fn json(&self) -> Value {
        match self.kind {
            PartKind::Text => json!({
                "type": "output_text",
                "text": self.text,
                "annotations": self.annotations,
                "logprobs": [],
            }),
            PartKind::Refusal => json!({ "type": "refusal", "refusal": self.text }),
            PartKind::Reasoning => json!({ "type": "reasoning_text", "text": self.text }),
        }
    }

    /// Annotates every page of `sources` that the text names; positions count characters.
    pub(super) fn cite(&mut self, sources: &[SearchResult]) {
        let (mut bytes, mut chars) = (0, 0);
        for (start, end, n) in web_search::citations(&self.text, sources) {
            chars += self.text[bytes..start].chars().count();
            let length = self.text[start..end].chars().count();
            self.annotations.push(json!({
                "type": "url_citation",
                "start_index": chars,
                "end_index": chars + length,
                "url": sources[n].url,
                "title": sources[n].title,
            }));
            (bytes, chars) = (end, chars + length);
        }
    }
}

impl PartKind {
    /// Whether the part belongs into a reasoning item.
    pub(super) fn is_reasoning(self) -> bool {
        self == Self::Reasoning
    }

    /// The events of a delta and of the end of such a part.
    pub(super) fn events(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("response.output_text.delta", "response.output_text.done"),
            Self::Refusal => ("response.refusal.delta", "response.refusal.done"),
            Self::Reasoning => ("response.reasoning_text.delta", "response.reasoning_text.done"),
        }
    }
}

/// Writes events and numbers them.
#[derive(Debug, Default)]
pub(super) struct EventWriter {
    next_sequence_number: u64,
}

impl EventWriter {
    /// Writes one event: its name, and data with the same name as `type`.
    pub(super) fn write(
        &mut self,
        out: &mut BytesMut,
        kind: &'static str,
        fields: &impl Serialize,
    ) {
        write_event(out, kind, Some(self.next_sequence_number), fields);
        self.next_sequence_number += 1;
    }
}

/// A delta of text, refusal, reasoning or arguments.
#[derive(Default, Serialize)]
pub(super) struct DeltaEvent<'a> {
    pub(super) item_id: &'a str,
    pub(super) output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_index: Option<usize>,
    pub(super) delta: &'a str,
    /// Always an empty list, and only with text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<[(); 0]>,
}
