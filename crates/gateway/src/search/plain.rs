//! Plain texts of untrusted results: no markup, one line, bounded.

use time::format_description::well_known::{Iso8601, Rfc2822, Rfc3339};
use time::{Date, OffsetDateTime, PrimitiveDateTime};

use document_parser::markup;

/// Longest title and longest snippet, in characters.
pub(super) const MAX_TITLE: usize = 300;
pub(super) const MAX_SNIPPET: usize = 1000;
/// Maximum ratio of a text with markup to its plain text.
const MARKUP_SHARE: usize = 8;

pub(super) fn from_html(text: &str, max_chars: usize) -> String {
    let text = cut(text, max_chars * MARKUP_SHARE);
    if !text.contains(['<', '&']) {
        return one_line(text, max_chars);
    }
    one_line(&markup::extract(text).text, max_chars)
}

/// A text on one line, without invisible characters.
pub(super) fn one_line(text: &str, max_chars: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    for word in words.filter(|word| !word.is_empty()) {
        if length > 0 {
            out.push(' ');
            length += 1;
        }
        for letter in word.chars().filter(|letter| !is_hidden(*letter)) {
            if length >= max_chars {
                out.push('…');
                return out;
            }
            out.push(letter);
            length += 1;
        }
    }
    out
}

/// Whether a character is invisible.
fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffd}')
}

pub(super) fn cut(text: &str, max_chars: usize) -> &str {
    let end = text.char_indices().nth(max_chars).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

/// Parses the time formats of providers, as RFC 3339 or a day.
pub(super) fn published(text: &str) -> Option<String> {
    let text = text.trim();
    let time = OffsetDateTime::parse(text, &Rfc3339)
        .or_else(|_| OffsetDateTime::parse(text, &Rfc2822))
        .or_else(|_| {
            PrimitiveDateTime::parse(text, &Iso8601::DEFAULT).map(PrimitiveDateTime::assume_utc)
        });
    if let Ok(time) = time {
        return time.format(&Rfc3339).ok();
    }
    let day = text.get(..10).filter(|_| text.len() == 10)?;
    Date::parse(day, &Iso8601::DEFAULT).ok().map(|_| day.to_owned())
}

#[cfg(test)]
mod tests;
