//! The content of a request, independent of the dialect.

use serde_json::{Value, json};

use super::dialect::Dialect;

#[derive(Debug, Clone)]
pub(super) struct ModelRequest {
    pub(super) dialect: Dialect,
    pub(super) model: String,
    /// The last message of the user.
    pub(super) text: String,
    /// Results of tools, if they are the last thing in the conversation.
    pub(super) tool_results: Vec<String>,
    pub(super) images: usize,
    pub(super) tools: Vec<Tool>,
    pub(super) choice: ToolChoice,
    pub(super) format: TextFormat,
    pub(super) delivery: Delivery,
}

#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) schema: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolChoice {
    Auto,
    Never,
    Any,
    Named(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextFormat {
    Text,
    Json,
    Schema(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Whole,
    NumberedEvents,
    /// A stream with usage requested; streams of the newer dialects always have it.
    StreamWithUsage,
}

impl ModelRequest {
    /// A request with one message, for paths that take a text.
    pub(super) fn of_text(model: &Value, text: &str) -> Self {
        let said = json!({"model": model, "messages": [{"role": "user", "content": text}]});
        Self::read(Dialect::Chat, &said)
    }

    /// Parses a request; missing members take their defaults.
    pub(super) fn read(dialect: Dialect, body: &Value) -> Self {
        let said = match dialect {
            Dialect::Chat => LastTurn::of_chat(&body["messages"]),
            Dialect::Responses => LastTurn::of_responses(&body["input"]),
            Dialect::Messages => LastTurn::of_messages(&body["messages"]),
        };
        Self {
            dialect,
            model: text(&body["model"]),
            text: said.text,
            tool_results: said.tool_results,
            images: said.images,
            tools: items(&body["tools"]).filter_map(tool).collect(),
            choice: choice(&body["tool_choice"]),
            format: format(dialect, body),
            delivery: delivery(dialect, body),
        }
    }
}

#[derive(Default)]
struct LastTurn {
    text: String,
    tool_results: Vec<String>,
    images: usize,
}

impl LastTurn {
    fn of_chat(messages: &Value) -> Self {
        let mut said = Self::default();
        for message in items(messages) {
            match message["role"].as_str() {
                Some("user") => said.user(&message["content"]),
                Some("tool") => said.tool_results.push(joined(&message["content"])),
                _ => said.tool_results.clear(),
            }
        }
        said
    }

    fn of_responses(input: &Value) -> Self {
        let mut said = Self::default();
        if input.is_string() {
            said.user(input);
        }
        for item in items(input) {
            match (item["type"].as_str(), item["role"].as_str()) {
                (Some("function_call_output"), _) => {
                    said.tool_results.push(joined(&item["output"]));
                    said.images += images(&item["output"]);
                }
                (None | Some("message"), Some("user")) => said.user(&item["content"]),
                _ => said.tool_results.clear(),
            }
        }
        said
    }

    fn of_messages(messages: &Value) -> Self {
        let mut said = Self::default();
        for message in items(messages) {
            said.tool_results.clear();
            if message["role"] == "user" {
                let content = &message["content"];
                let before = std::mem::take(&mut said.text);
                said.user(content);
                let results = items(content).filter(|block| block["type"] == "tool_result");
                said.tool_results = results.map(|block| joined(&block["content"])).collect();
                if !said.tool_results.is_empty() && said.text.is_empty() {
                    said.text = before;
                }
            }
        }
        said
    }

    fn user(&mut self, content: &Value) {
        self.tool_results.clear();
        self.text = joined(content);
        self.images += images(content);
    }
}

fn images(content: &Value) -> usize {
    let kinds = items(content).filter_map(|part| part["type"].as_str());
    kinds.filter(|kind| kind.contains("image")).count()
}

/// The text of a content that is a string, or a list of parts.
fn joined(content: &Value) -> String {
    match content.as_str() {
        Some(content) => content.to_owned(),
        None => items(content).filter_map(|part| part["text"].as_str()).collect(),
    }
}

/// A tool in any of the three forms.
fn tool(tool: &Value) -> Option<Tool> {
    let inner = if tool["function"].is_object() { &tool["function"] } else { tool };
    let schema = if inner["input_schema"].is_object() { "input_schema" } else { "parameters" };
    let name = inner["name"].as_str()?.to_owned();
    Some(Tool { name, schema: inner[schema].clone() })
}

/// A choice in any of the three forms.
fn choice(choice: &Value) -> ToolChoice {
    let kind = choice.as_str().or_else(|| choice["type"].as_str());
    let named = [&choice["function"]["name"], &choice["name"]];
    match kind {
        Some("none") => ToolChoice::Never,
        Some("required" | "any") => ToolChoice::Any,
        Some("function" | "tool") => ToolChoice::Named(
            named.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned(),
        ),
        _ => ToolChoice::Auto,
    }
}

fn format(dialect: Dialect, body: &Value) -> TextFormat {
    let (asked, schema) = match dialect {
        Dialect::Chat => {
            (&body["response_format"], &body["response_format"]["json_schema"]["schema"])
        }
        Dialect::Responses => (&body["text"]["format"], &body["text"]["format"]["schema"]),
        Dialect::Messages => {
            let format = &body["output_config"]["format"];
            let format = if format.is_object() { format } else { &body["output_format"] };
            (format, &format["schema"])
        }
    };
    match asked["type"].as_str() {
        Some("json_schema") => TextFormat::Schema(schema.clone()),
        Some("json_object") => TextFormat::Json,
        _ => TextFormat::Text,
    }
}

fn delivery(dialect: Dialect, body: &Value) -> Delivery {
    let usage = dialect != Dialect::Chat || body["stream_options"]["include_usage"] == true;
    match (body["stream"] == true, usage) {
        (false, _) => Delivery::Whole,
        (true, false) => Delivery::NumberedEvents,
        (true, true) => Delivery::StreamWithUsage,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
