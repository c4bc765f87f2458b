//! Plain texts of untrusted results: no markup, one line, bounded.

use time::format_description::well_known::{Iso8601, Rfc2822, Rfc3339};
use time::{Date, OffsetDateTime, PrimitiveDateTime};

use document_parser::markup;

/// The longest title and the longest snippet, in characters.
pub(super) const MAX_TITLE: usize = 300;
pub(super) const MAX_SNIPPET: usize = 1000;
/// The largest ratio of a text with markup to its plain text.
const MARKUP_SHARE: usize = 8;

/// A text without tags and entities.
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

/// Whether a character only changes the display of others.
fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffd}')
}

/// The beginning of a text.
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
mod tests {
    use super::*;

    #[test]
    fn tags_and_entities_are_taken_out() {
        let text =
            "A <strong>bold</strong> word &amp; a&nbsp;space<br>next <script>alert(1)</script>";
        assert_eq!(from_html(text, 100), "A bold word & a space next");
        assert_eq!(from_html("1 < 2 and 3 > 2", 100), "1 < 2 and 3 > 2");
        assert_eq!(from_html("plain\n  text\u{202e}!\u{0}", 100), "plain text!");
        assert_eq!(from_html("<p>one</p><p>two</p>", 100), "one two");
    }

    #[test]
    fn long_texts_are_cut_and_broken_markup_is_survived() {
        assert_eq!(from_html(&"x".repeat(2000), 10), format!("{}…", "x".repeat(10)));
        assert_eq!(from_html("Größe".repeat(9).as_str(), 5), "Größe…");
        let broken = "<b".repeat(10_000) + "&#x" + &"<".repeat(10_000);
        assert!(from_html(&broken, 100).chars().count() <= 101);
        assert!(from_html(&"<div>".repeat(100_000), 1000).is_empty());
    }

    #[test]
    fn times_are_read_in_the_ways_providers_write_them() {
        for (written, read) in [
            ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"),
            ("2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00+02:00"),
            ("2024-05-01T12:00:00", "2024-05-01T12:00:00Z"),
            ("Wed, 01 May 2024 12:00:00 GMT", "2024-05-01T12:00:00Z"),
            ("2024-05-01", "2024-05-01"),
        ] {
            assert_eq!(published(written).as_deref(), Some(read), "{written}");
        }
        for not in ["", "yesterday", "2024-13-01", "3 days ago", "2024-05-01T99:00:00"] {
            assert_eq!(published(not), None, "{not}");
        }
    }
}
