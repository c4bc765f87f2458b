//! The content of an answer, independent of the dialect.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Step;
use super::model_request::{ModelRequest, TextFormat, Tool, ToolChoice};

/// Depth limit for nested schemas.
const MAX_SCHEMA_DEPTH: usize = 16;
const IMAGE_TOKENS: i64 = 100;

#[derive(Debug, Clone)]
pub(super) struct GeneratedAnswer<'a> {
    pub(super) ask: &'a ModelRequest,
    /// The number of the request.
    pub(super) number: usize,
    /// The text in the pieces of the stream.
    pub(super) pieces: Vec<String>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Option<Usage>,
    /// The pause before each piece.
    pub(super) pace: Duration,
}

#[derive(Debug, Clone)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    /// JSON text.
    pub(super) arguments: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) input: i64,
    pub(super) output: i64,
}

impl<'a> GeneratedAnswer<'a> {
    pub(super) fn of(step: &Step, ask: &'a ModelRequest, number: usize) -> Self {
        let mut calls = Vec::new();
        let pieces = match step {
            Step::Drip(count, _) | Step::Chunks(count) => {
                (0..*count).map(|number| format!("c{number} ")).collect()
            }
            Step::Speak(speaker, _) => vec![speaker.0(&ask.text)],
            Step::GateBetween(first, second) => words(first).chain(words(second)).collect(),
            Step::Turn(text, made) => {
                let call = |(number, (name, arguments)): (usize, &(String, String))| ToolCall {
                    id: format!("call_{number}_{}", ask.tool_results.len()),
                    name: name.clone(),
                    arguments: arguments.clone(),
                };
                calls = made.iter().enumerate().map(call).collect();
                words(text).collect()
            }
            Step::Images => vec![seen(ask.images)],
            Step::Empty => Vec::new(),
            Step::Huge(mebibytes) => vec!["x".repeat(mebibytes * 1024 * 1024)],
            _ => {
                calls = self::calls(ask);
                let text = if calls.is_empty() { reply(ask) } else { String::new() };
                words(&text).collect()
            }
        };
        let pace = if let Step::Drip(_, pause) = step { *pause } else { Duration::ZERO };
        let mut answer = Self { ask, number, pieces, calls, usage: None, pace };
        answer.usage = match step {
            Step::NoUsage => None,
            Step::LiesUsage => Some(Usage { input: 4_000_000_000_000, output: -7 }),
            _ => Some(answer.count()),
        };
        answer
    }

    pub(super) fn text(&self) -> String {
        self.pieces.concat()
    }

    /// A word of input is a token, and so is a piece of output.
    fn count(&self) -> Usage {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let words = number(self.ask.text.split_whitespace().count());
        Usage {
            input: words + IMAGE_TOKENS * number(self.ask.images),
            output: number(self.pieces.len() + self.calls.len()),
        }
    }
}

pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive(' ').map(str::to_owned)
}

fn reply(ask: &ModelRequest) -> String {
    match &ask.format {
        TextFormat::Schema(schema) => return fitting(schema, schema, 0).to_string(),
        TextFormat::Json => return json!({"echo": ask.text}).to_string(),
        TextFormat::Text => {}
    }
    if !ask.tool_results.is_empty() {
        return format!("tool said: {}", ask.tool_results.join(", "));
    }
    match ask.images {
        0 => ask.text.clone(),
        count => seen(count),
    }
}

fn seen(images: usize) -> String {
    if images == 1 { "I saw 1 image".to_owned() } else { format!("I saw {images} images") }
}

fn calls(ask: &ModelRequest) -> Vec<ToolCall> {
    let mentioned = || ask.tools.iter().filter(|tool| ask.text.contains(&tool.name)).collect();
    let first = || ask.tools.iter().take(1).collect();
    let chosen: Vec<&Tool> = match &ask.choice {
        _ if !ask.tool_results.is_empty() => Vec::new(),
        ToolChoice::Never => Vec::new(),
        ToolChoice::Named(name) => ask.tools.iter().filter(|tool| tool.name == *name).collect(),
        ToolChoice::Any => first(),
        ToolChoice::Auto if ask.text.contains("both tools") => ask.tools.iter().take(2).collect(),
        ToolChoice::Auto if ask.text.split(' ').any(|word| word == "tool") => first(),
        ToolChoice::Auto => mentioned(),
    };
    let call = |(number, tool): (usize, &&Tool)| ToolCall {
        id: format!("call_{number}_{}", tool.name),
        name: tool.name.clone(),
        arguments: fitting(&tool.schema, &tool.schema, 0).to_string(),
    };
    chosen.iter().enumerate().map(call).collect()
}

/// A value that matches a schema of the kinds that clients derive from their types.
fn fitting(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > MAX_SCHEMA_DEPTH {
        return Value::Null;
    }
    let deeper = |schema: &Value| fitting(schema, root, depth + 1);
    if let Some(target) = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
        return root.pointer(target).map_or(Value::Null, deeper);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    for several in ["enum", "anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[several].as_array().and_then(|values| values.first()) {
            return if several == "enum" { first.clone() } else { deeper(first) };
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("array") => json!([deeper(&schema["items"])]),
        Some("string") => "word".into(),
        Some("integer") => schema["minimum"].as_i64().unwrap_or(1).into(),
        Some("number") => schema["minimum"].as_f64().unwrap_or(1.5).into(),
        Some("boolean") => true.into(),
        Some("null") => Value::Null,
        _ => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let fitted = properties.map(|(name, inner)| (name.clone(), deeper(inner)));
            Value::Object(fitted.collect::<Map<_, _>>())
        }
    }
}

#[cfg(test)]
mod tests;
