//! Finds literal quotations in a text.
//!
//! Spaces, letter case, kinds of quotation marks and dashes, and marks of references such as `[4]`
//! are ignored.

use std::ops::Range;

/// A normalized text with the positions of its origin.
#[derive(Debug, Default)]
pub(super) struct Folded {
    text: String,
    /// The position in the original of each byte of `text`.
    from: Vec<usize>,
    end: usize,
}

impl Folded {
    pub(super) fn new(text: &str) -> Self {
        let mut folded = Self { end: text.len(), ..Self::default() };
        let mut skip_to = 0;
        for (at, letter) in text.char_indices() {
            if at < skip_to {
                continue;
            }
            if letter == '['
                && let Some(length) = reference(text.get(at..).unwrap_or_default())
            {
                skip_to = at + length;
                continue;
            }
            folded.push(letter, at);
        }
        folded
    }

    fn push(&mut self, letter: char, at: usize) {
        let letter = match letter {
            '\u{ad}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' => return,
            '“' | '”' | '„' | '«' | '»' | '″' => '"',
            '‘' | '’' | '‚' | '′' | '`' => '\'',
            '‐' | '‑' | '‒' | '–' | '—' | '−' => '-',
            letter if letter.is_whitespace() => ' ',
            letter => letter,
        };
        if letter == ' ' && (self.text.is_empty() || self.text.ends_with(' ')) {
            return;
        }
        for lower in letter.to_lowercase() {
            self.text.push(lower);
            self.from.resize(self.text.len(), at);
        }
    }

    /// Its length in characters.
    pub(super) fn chars(&self) -> usize {
        self.text.trim().chars().count()
    }

    /// The position of a quotation in the original.
    pub(super) fn find(&self, quote: &Self) -> Option<Range<usize>> {
        let wanted = quote.text.trim();
        if wanted.is_empty() {
            return None;
        }
        let at = self.text.find(wanted)?;
        let from = *self.from.get(at)?;
        let to = self.from.get(at + wanted.len()).copied().unwrap_or(self.end);
        Some(from..to)
    }

    pub(super) fn contains(&self, quote: &str) -> bool {
        self.find(&Self::new(quote)).is_some()
    }
}

/// The length of a leading mark such as `[4]`.
fn reference(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('[')?;
    let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
    let is_closed = inside.as_bytes().get(digits) == Some(&b']');
    ((1..=4).contains(&digits) && is_closed).then_some(digits + 2)
}

/// A text on one line, without marks of references.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(length) = reference(rest) {
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        let is_space = letter.is_whitespace() || letter.is_control();
        if !is_space {
            out.push(letter);
        } else if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests;
