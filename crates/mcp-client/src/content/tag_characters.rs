//! Removal of Unicode TAG characters: models read them, people do not see them.

use std::borrow::Cow;

const FLAG: char = '\u{1F3F4}';
const TAGS: std::ops::RangeInclusive<char> = '\u{E0000}'..='\u{E007F}';
const CANCEL: char = '\u{E007F}';
/// Maximum length of a flag's region code; a longer sequence could hide text.
const MAX_REGION_CHARS: usize = 6;

/// The text without TAG characters, except those that form the flag of a region, such as Scotland.
pub fn strip_tag_characters(text: &str) -> Cow<'_, str> {
    // All TAG characters begin with this byte, and few other characters do.
    if memchr::memchr(0xF3, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if TAGS.contains(&character) {
            continue;
        }
        kept.push(character);
        if character == FLAG
            && let Some(region) = region(rest.as_str())
        {
            kept.push_str(region);
            rest = rest.as_str()[region.len()..].chars();
        }
    }
    Cow::Owned(kept)
}

fn region(text: &str) -> Option<&str> {
    let mut length = 0;
    for (at, character) in text.chars().enumerate().take(MAX_REGION_CHARS + 1) {
        length += character.len_utf8();
        match character {
            CANCEL if at > 0 => return Some(&text[..length]),
            '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}' => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests;
