//! Readable YAML output: block style, quotes only where needed.

use mcp_client::config::schema;
use serde_json::{Map, Value as Json};

/// Words that some YAML version does not read as a string.
const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
/// Characters allowed in a string without quotes, beside letters, digits and single spaces.
const PLAIN: &str = "_./@:+=,%-${}~()";

/// One server under its name, as lines without their ends. `indent` precedes the name, `step`
/// is added per level.
pub(super) fn server(name: &str, entry: &Json, indent: usize, step: usize) -> Vec<String> {
    let mut writer = Writer { lines: Vec::new(), step };
    writer.value(&format!("{}:", scalar(name)), entry, indent);
    writer.lines
}

struct Writer {
    lines: Vec<String>,
    step: usize,
}

impl Writer {
    /// `lead` is the text before the value except its separator: a key or a dash.
    fn value(&mut self, lead: &str, value: &Json, indent: usize) {
        let pad = " ".repeat(indent);
        match value {
            Json::Object(entries) if !entries.is_empty() => {
                self.lines.push(format!("{pad}{lead}"));
                for (key, value) in in_order(entries) {
                    self.value(&format!("{}:", scalar(key)), value, indent + self.step);
                }
            }
            Json::Array(items) if !items.is_empty() => {
                self.lines.push(format!("{pad}{lead}"));
                for item in items {
                    self.value("-", item, indent + self.step);
                }
            }
            Json::String(text) if is_literal_block(text) => {
                let chomp = if text.ends_with('\n') { "" } else { "-" };
                self.lines.push(format!("{pad}{lead} |{chomp}"));
                let inner = " ".repeat(indent + self.step);
                self.lines.extend(text.lines().map(|line| {
                    if line.is_empty() { String::new() } else { format!("{inner}{line}") }
                }));
            }
            Json::String(text) => self.lines.push(format!("{pad}{lead} {}", scalar(text))),
            other => self.lines.push(format!("{pad}{lead} {other}")),
        }
    }
}

/// The keys of an entry in the order of the reference page, others after them.
fn in_order(entries: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let rank = |name: &str| schema().names().position(|known| known == name);
    let mut ordered: Vec<_> = entries.iter().collect();
    ordered.sort_by_key(|(name, _)| rank(name).unwrap_or(usize::MAX));
    ordered
}

pub(super) fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.contains(['"', '\\']) && !text.contains('\'') && !text.chars().any(is_hidden) {
        format!("'{text}'")
    } else {
        double_quoted(text)
    }
}

fn is_plain(text: &str) -> bool {
    let mut chars = text.chars();
    let (Some(first), second) = (chars.next(), chars.next()) else { return false };
    let begins = first.is_alphanumeric()
        || "_./$".contains(first)
        || (first == '-' && second.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-'));
    begins
        && text.chars().all(|c| c.is_alphanumeric() || c == ' ' || PLAIN.contains(c))
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.starts_with("---")
        && !text.starts_with("...")
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        && !is_numeric(text)
}

/// Whether some YAML version reads it as a number, a date or a time.
fn is_numeric(text: &str) -> bool {
    let rest = text.trim_start_matches(['+', '-', '.']);
    let is_special = [".inf", ".nan"]
        .iter()
        .any(|word| text.trim_start_matches(['+', '-']).eq_ignore_ascii_case(word));
    let begins_with_digit = rest.starts_with(|c: char| c.is_ascii_digit());
    is_special
        || (begins_with_digit
            && rest.chars().all(|c| c.is_ascii_hexdigit() || "xXoO_+-.: TZ".contains(c)))
}

/// Whether several lines can be written unquoted, under a `|`.
fn is_literal_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n'])
        && body.lines().all(|line| !line.ends_with(' ') && !line.starts_with(' '))
        && !body.chars().any(|c| c != '\n' && is_hidden(c))
}

/// Invisible characters, and those that some reader treats as a line end.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        || (c.is_whitespace() && c != ' ')
}

/// A JSON string, with more characters escaped.
fn double_quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        c if is_hidden(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    Json::from(text).to_string().chars().map(escaped).collect()
}

#[cfg(test)]
mod tests;
