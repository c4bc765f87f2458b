//! What a request asks for, whichever interface it came by.

use serde_json::Value;

use super::dialect::Dialect;

/// A request, understood.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) dialect: Dialect,
    pub(super) model: String,
    /// The last message of the user.
    pub(super) text: String,
    /// What tools said, when that is the last thing said.
    pub(super) tools_said: Vec<String>,
    pub(super) images: usize,
    pub(super) tools: Vec<Tool>,
    pub(super) choice: Choice,
    pub(super) format: Format,
    pub(super) delivery: Delivery,
}

/// A tool that may be called.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) schema: Value,
}

/// Whether a tool is to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    Auto,
    Never,
    Any,
    Named(String),
}

/// What the text is to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Format {
    Text,
    Json,
    Schema(Value),
}

/// How the answer is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Whole,
    Stream,
    /// A stream whose usage was asked for; streams of the newer interfaces always say it.
    StreamWithUsage,
}

impl Ask {
    /// Understands a request; what is missing counts as not asked for.
    pub(super) fn read(dialect: Dialect, body: &Value) -> Self {
        let said = match dialect {
            Dialect::Chat => Said::of_chat(&body["messages"]),
            Dialect::Responses => Said::of_responses(&body["input"]),
            Dialect::Messages => Said::of_messages(&body["messages"]),
        };
        Self {
            dialect,
            model: text(&body["model"]),
            text: said.text,
            tools_said: said.by_tools,
            images: said.images,
            tools: items(&body["tools"]).filter_map(tool).collect(),
            choice: choice(&body["tool_choice"]),
            format: format(dialect, body),
            delivery: delivery(dialect, body),
        }
    }
}

/// What was said last, and the images of the whole conversation.
#[derive(Default)]
struct Said {
    text: String,
    by_tools: Vec<String>,
    images: usize,
}

impl Said {
    fn of_chat(messages: &Value) -> Self {
        let mut said = Self::default();
        for message in items(messages) {
            match message["role"].as_str() {
                Some("user") => said.user(&message["content"]),
                Some("tool") => said.by_tools.push(joined(&message["content"])),
                _ => said.by_tools.clear(),
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
                (Some("function_call_output"), _) => said.by_tools.push(joined(&item["output"])),
                (None | Some("message"), Some("user")) => said.user(&item["content"]),
                _ => said.by_tools.clear(),
            }
        }
        said
    }

    fn of_messages(messages: &Value) -> Self {
        let mut said = Self::default();
        for message in items(messages) {
            said.by_tools.clear();
            if message["role"] == "user" {
                for block in items(&message["content"]) {
                    if block["type"] == "tool_result" {
                        said.by_tools.push(joined(&block["content"]));
                    }
                }
                let by_tools = std::mem::take(&mut said.by_tools);
                let before = said.text.clone();
                said.user(&message["content"]);
                if !by_tools.is_empty() && said.text.is_empty() {
                    said.text = before;
                }
                said.by_tools = by_tools;
            }
        }
        said
    }

    fn user(&mut self, content: &Value) {
        self.by_tools.clear();
        self.text = joined(content);
        let kinds = items(content).filter_map(|part| part["type"].as_str());
        self.images += kinds.filter(|kind| kind.contains("image")).count();
    }
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
fn choice(choice: &Value) -> Choice {
    let kind = choice.as_str().or_else(|| choice["type"].as_str());
    let named = [&choice["function"]["name"], &choice["name"]];
    match kind {
        Some("none") => Choice::Never,
        Some("required" | "any") => Choice::Any,
        Some("function" | "tool") => {
            Choice::Named(named.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned())
        }
        _ => Choice::Auto,
    }
}

fn format(dialect: Dialect, body: &Value) -> Format {
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
        Some("json_schema") => Format::Schema(schema.clone()),
        Some("json_object") => Format::Json,
        _ => Format::Text,
    }
}

fn delivery(dialect: Dialect, body: &Value) -> Delivery {
    let usage = dialect != Dialect::Chat || body["stream_options"]["include_usage"] == true;
    match (body["stream"] == true, usage) {
        (false, _) => Delivery::Whole,
        (true, false) => Delivery::Stream,
        (true, true) => Delivery::StreamWithUsage,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The items of a list, or nothing.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
