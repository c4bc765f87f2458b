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
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    // The position of the last comma, while only white space has followed it.
    let mut comma: Option<usize> = None;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                comma = None;
                plain.push('"');
                copy_string(&mut chars, &mut plain);
                continue;
            }
            ('/', Some('/')) => {
                plain.push(' ');
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    blank(c, &mut plain);
                }
                continue;
            }
            ('/', Some('*')) => {
                chars.next();
                plain.push_str("  ");
                let mut last = ' ';
                for c in chars.by_ref() {
                    blank(c, &mut plain);
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            (']' | '}', _) => {
                if let Some(at) = comma.take() {
                    plain.replace_range(at..=at, " ");
                }
            }
            (',', _) => comma = Some(plain.len()),
            (c, _) if c.is_whitespace() => {}
            _ => comma = None,
        }
        plain.push(c);
    }
    plain
}

fn copy_string(chars: &mut impl Iterator<Item = char>, plain: &mut String) {
    while let Some(c) = chars.next() {
        plain.push(c);
        match c {
            '"' => return,
            '\\' => plain.extend(chars.next()),
            _ => {}
        }
    }
}

/// Spaces of the same width in bytes; line breaks are kept.
fn blank(c: char, plain: &mut String) {
    if c == '\n' {
        plain.push(c);
    } else {
        plain.extend(std::iter::repeat_n(' ', c.len_utf8()));
    }
}

#[cfg(test)]
mod tests;
