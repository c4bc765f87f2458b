//! Access to the values of a file, and the text of the new one.

use std::fmt::Write;

use settings::{Node, Value};

/// The text of a scalar.
pub(super) fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::String(text) | Value::Number(_, text) | Value::Bool(_, text) => Some(text),
        _ => None,
    }
}

/// The text of a value of a mapping.
pub(super) fn text_of<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    node.get(name).and_then(text)
}

/// The number of a value of a mapping.
pub(super) fn number_of(node: &Node, name: &str) -> Option<f64> {
    match &node.get(name)?.value {
        Value::Number(number, _) => Some(*number),
        _ => text_of(node, name)?.parse().ok(),
    }
}

/// The items of a list; none of anything else.
pub(super) fn items(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::List(items)) => items,
        _ => &[],
    }
}

/// A text as it is written in the new file.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
        && !matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "null" | "yes" | "no")
        && !matches!(text.to_ascii_lowercase().as_str(), "on" | "off" | "y" | "n");
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// Writes one line of the new file.
pub(super) fn line(out: &mut String, depth: usize, text: &str) {
    // Writing into memory cannot fail.
    let _ = writeln!(out, "{}{text}", "  ".repeat(depth));
}
