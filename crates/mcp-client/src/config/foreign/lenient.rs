//! JSON with comments and trailing commas, as in settings files.
//!
//! A crate such as `jsonc-parser` is not used: it would be another parser with its own errors
//! for one pass that blanks out the extensions.

use serde_json::Value as Json;

use super::ForeignError;

/// Reads JSON with `//` and `/* */` comments and with commas before a closing bracket.
/// Positions in errors refer to the original text.
pub(super) fn parse(text: &str) -> Result<Json, ForeignError> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&strict(text))).map_err(|error| {
        // The error message could quote the text.
        ForeignError::NotJson { line: error.line(), column: error.column() }
    })
}

/// Replaces comments and trailing commas by spaces, which keeps all positions.
fn strict(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    // The position of the last comma, while only white space has followed it.
    let mut comma: Option<usize> = None;
    while let Some(c) = rest.chars().next() {
        let comment = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").map_or(rest.len(), |at| at + 4)
        } else {
            0
        };
        match c {
            _ if comment > 0 => {
                let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
                plain.extend(rest.bytes().take(comment).map(blank));
                rest = &rest[comment..];
                continue;
            }
            ',' => comma = Some(plain.len()),
            ']' | '}' => {
                if let Some(at) = comma.take() {
                    plain.replace_range(at..=at, " ");
                }
            }
            c if c.is_whitespace() => {}
            _ => comma = None,
        }
        let (token, after) =
            rest.split_at(if c == '"' { length_of_string(rest) } else { c.len_utf8() });
        plain.push_str(token);
        rest = after;
    }
    plain
}

/// The length of the string at the start of a text, with its quotes.
fn length_of_string(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return at + 1,
            '\\' => drop(chars.next()),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
