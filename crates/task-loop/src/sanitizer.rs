//! Text of servers for display: without secrets and unsafe characters.

use std::sync::Arc;

use mcp_client::redact::Redactor;
use serde_json::Value;

use crate::untrusted::{escaped_lines, printable};

/// Maximum lines of a server's standard error that are shown; the log has the rest.
const MAX_TAIL_LINES: usize = 20;
const MAX_LINE_CHARS: usize = 2000;

#[derive(Debug, Clone)]
pub struct Sanitizer {
    redactor: Arc<Redactor>,
}

impl Sanitizer {
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor }
    }

    /// On one line, with bounded length.
    pub fn line(&self, text: &str) -> String {
        printable(&self.redactor.redact(text))
    }

    /// The first line, with bounded length.
    pub fn first_line(&self, text: &str) -> String {
        let clean = self.redactor.redact(text);
        printable(clean.trim().lines().next().unwrap_or_default().trim_end())
    }

    /// With its lines, each without control characters, indented after the first.
    pub fn lines(&self, text: &str, indent: &str) -> String {
        let clean = self.redactor.redact(text);
        let lines: Vec<String> = clean.trim_end().lines().map(plain_line).collect();
        lines.join(&format!("\n{indent}"))
    }

    pub fn tail(&self, stderr: &str) -> Vec<String> {
        let clean = self.redactor.redact(stderr.trim());
        let lines: Vec<&str> = clean.lines().collect();
        lines[lines.len().saturating_sub(MAX_TAIL_LINES)..]
            .iter()
            .map(|line| plain_line(line))
            .collect()
    }

    /// The full text with its lines. Only known secrets are removed: text that merely looks like
    /// one may be what was asked for.
    pub fn whole(&self, text: &str) -> String {
        escaped_lines(&self.redactor.redact_known(text))
    }

    pub fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redactor.redact_known(&text).into_owned()),
            Value::Array(list) => list.into_iter().map(|inner| self.json(inner)).collect(),
            Value::Object(object) => object
                .into_iter()
                .map(|(key, inner)| {
                    (self.redactor.redact_known(&key).into_owned(), self.json(inner))
                })
                .collect(),
            other => other,
        }
    }
}

fn plain_line(line: &str) -> String {
    let short: String = line.chars().take(MAX_LINE_CHARS).collect();
    escaped_lines(&short)
}

#[cfg(test)]
mod tests;
