//! Content blocks of a message.

use serde_json::{Value, json};

use super::super::super::tool_table::{Tool, ToolKind};

#[derive(Debug)]
pub(super) enum Block {
    Text {
        text: String,
        citations: Vec<Value>,
    },
    Thinking {
        thinking: String,
    },
    /// A call of a tool of the client or of a web search.
    Call {
        id: String,
        tool: Tool,
        function: String,
        arguments: String,
    },
    /// The outcome of a web search, for the client and as the model reads it.
    SearchResult {
        tool_use_id: String,
        content: Value,
        text: String,
    },
}

impl Block {
    pub(super) fn is_client_call(&self) -> bool {
        matches!(self, Self::Call { tool, .. } if tool.kind != ToolKind::WebSearch)
    }

    /// Whether it is complete: a call ends with its JSON, other blocks with the next one.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Call { arguments, .. } => {
                arguments.trim_end().ends_with('}')
                    && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
            }
            _ => true,
        }
    }

    /// The block in its start event.
    pub(super) fn start_json(&self) -> Value {
        match self {
            Self::Text { .. } => json!({ "type": "text", "text": "" }),
            Self::Thinking { .. } => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            Self::Call { id, tool, .. } => call(id, tool, &json!({})),
            Self::SearchResult { .. } => self.json(),
        }
    }

    /// The whole block.
    ///
    /// Thinking has no signature: only Anthropic can create one, and the field is required.
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Text { text, citations } if citations.is_empty() => {
                json!({ "type": "text", "text": text })
            }
            Self::Text { text, citations } => {
                json!({ "type": "text", "text": text, "citations": citations })
            }
            Self::Thinking { thinking } => {
                json!({ "type": "thinking", "thinking": thinking, "signature": "" })
            }
            Self::Call { id, tool, arguments, .. } => call(id, tool, &input(arguments)),
            Self::SearchResult { tool_use_id, content, .. } => json!({
                "type": "web_search_tool_result",
                "tool_use_id": tool_use_id,
                "content": content,
            }),
        }
    }
}

fn call(id: &str, tool: &Tool, input: &Value) -> Value {
    let is_search = tool.kind == ToolKind::WebSearch;
    let kind = if is_search { "server_tool_use" } else { "tool_use" };
    json!({ "type": kind, "id": id, "name": tool.name, "input": input })
}

/// The input of a call, which must be an object.
///
/// A model can write invalid or truncated arguments. The text is then passed as `_raw`: the
/// tool refuses it, and the model can correct itself.
fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(input @ Value::Object(_)) => input,
        Ok(Value::Null) => json!({}),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "_raw": arguments }),
    }
}
