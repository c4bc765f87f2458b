//! Edits of flow mappings: `{a: {command: x}}`, and JSON.

use serde_json::Value as Json;

use settings::{Key, Node, Span, Value};

use super::super::document::is_flow;

/// Adds an entry at the start of a flow mapping.
pub(super) fn insert(text: &str, map: &Node, name: &str, value: &Json) -> Option<String> {
    if !is_flow(map, text) {
        return None;
    }
    let at = map.span.start + 1;
    let name = Json::from(name);
    let Some((first, _)) = map.entries().first() else {
        return Some(format!("{}{name}: {value}{}", &text[..at], text.get(at..)?));
    };
    // If every entry has a separate line, the new one gets one too.
    let gap = text.get(at..first.span.start)?;
    let added = match gap.rfind('\n') {
        Some(line) if gap.trim().is_empty() => {
            let indent = &gap[line + 1..];
            format!("\n{indent}{name}: {},", pretty(value, indent)?)
        }
        _ => format!("{name}: {value}, "),
    };
    Some(format!("{}{added}{}", &text[..at], &text[at..]))
}

pub(super) fn replace(text: &str, node: &Node, value: &Json) -> Option<String> {
    let end = end_of(text, node)?;
    let line = text.get(..node.span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let indent: String = text[line..].chars().take_while(|c| *c == ' ').collect();
    let is_tall = text.get(node.span.start..end)?.contains('\n');
    let value = if is_tall { pretty(value, &indent)? } else { value.to_string() };
    Some(format!("{}{value}{}", &text[..node.span.start], &text[end..]))
}

/// Removes an entry, and its separating comma.
pub(super) fn remove(text: &str, map: &Node, key: &Key, node: &Node) -> Option<String> {
    let entries = map.entries();
    let at = entries.iter().position(|(other, _)| other.span.start == key.span.start)?;
    let end = end_of(text, node)?;
    let rest = text.get(end..)?;
    let after = rest.trim_start();
    let (from, to) = if let Some(after) = after.strip_prefix(',') {
        (key.span.start, text.len() - after.trim_start().len())
    } else if let Some((_, before)) = at.checked_sub(1).and_then(|at| entries.get(at)) {
        (end_of(text, before)?, end)
    } else {
        (key.span.start, end)
    };
    Some(format!("{}{}", text.get(..from)?, text.get(to..)?))
}

pub(super) fn splice(text: &str, span: Span, word: &str) -> Option<String> {
    let end = span.start.checked_add(span.length)?;
    Some(format!("{}{word}{}", text.get(..span.start)?, text.get(end..)?))
}

/// The end of a value, including white space, comments and commas after it.
fn end_of(text: &str, node: &Node) -> Option<usize> {
    let (last, close) = match &node.value {
        Value::List(items) => (items.last(), ']'),
        Value::Map(entries) => (entries.last().map(|(_, value)| value), '}'),
        _ => return node.span.start.checked_add(node.span.length),
    };
    let mut at = match last {
        Some(last) => end_of(text, last)?,
        None => node.span.start.checked_add(1)?,
    };
    loop {
        let rest = text.get(at..)?;
        let next = rest.chars().next()?;
        if next == close {
            return Some(at + 1);
        }
        at += match next {
            '#' => rest.find('\n')?,
            ',' => 1,
            c if c.is_whitespace() => c.len_utf8(),
            _ => return None,
        };
    }
}

/// JSON over several lines, each after the first indented by `indent`.
fn pretty(value: &Json, indent: &str) -> Option<String> {
    let text = serde_json::to_string_pretty(value).ok()?;
    Some(text.replace('\n', &format!("\n{indent}")))
}
