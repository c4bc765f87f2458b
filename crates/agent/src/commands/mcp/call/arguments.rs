//! The arguments of a call, from the command line or standard input.

use std::io::{self, Read};

use mcp_client::registry::RegisteredTool;
use serde_json::Value;
use task_loop::untrusted::printable;

use crate::diagnostic::Diagnostic;
use crate::key_value;

const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads them; none at all are an empty object.
pub(super) fn read(json: Option<&str>, pairs: &[String]) -> Result<Value, Diagnostic> {
    match json {
        None => key_value::object(pairs, "argument").map(Value::Object),
        Some("-") => {
            let mut text = String::new();
            let read = io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text);
            read.map_err(|error| {
                Diagnostic::failed("cannot read the arguments from standard input").because(&error)
            })?;
            if text.len() as u64 > MAX_BYTES {
                return Err(Diagnostic::usage(format!(
                    "the arguments are larger than {MAX_BYTES} bytes"
                )));
            }
            parse(&text)
        }
        Some(text) => parse(text),
    }
}

fn parse(text: &str) -> Result<Value, Diagnostic> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Diagnostic::usage("the arguments are not valid JSON")
            .because(&error)
            .hint("use an object such as '{\"path\": \"notes.txt\"}', or --arg path=notes.txt")
    })?;
    let kind = match &value {
        Value::Object(_) => return Ok(value),
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
    };
    Err(Diagnostic::usage(format!("the arguments must be a JSON object, found {kind}")))
}

pub(super) fn check(tool: &RegisteredTool, arguments: &Value) -> Result<(), Diagnostic> {
    let required = tool.schema.get("required").and_then(Value::as_array);
    let missing: Vec<String> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| arguments.get(name).is_none())
        .map(|name| format!("`{}`", printable(name)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (plural, them) = if missing.len() == 1 { ("", "it") } else { ("s", "them") };
    let message = format!("{} requires the argument{plural} {}", tool.name, missing.join(", "));
    Err(Diagnostic::usage(message).hint(format!(
        "pass {them} as JSON or with --arg; see the parameters with `agent mcp tools {}`",
        crate::mcp::advice::operand_with(&tool.server, "--schema")
    )))
}

#[cfg(test)]
mod tests;
