//! Splits texts of any script into words at spaces and punctuation; scripts without spaces
//! into pairs of letters.

use std::ops::Range;

use unicode_normalization::char::decompose_compatible;

/// Longer words are skipped.
const MAX_WORD_BYTES: usize = 64;

/// When single letters of scripts without spaces are words too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Singles {
    /// In indexed texts, so that a single letter can be searched for.
    Always,
    /// In a query: only without a pair.
    WhereAlone,
}

/// Splits a text into lower-case words without accents, each with its position.
pub(crate) fn words(text: &str, singles: Singles) -> impl Iterator<Item = (String, Range<usize>)> {
    let parts = Parts { text, singles, at: 0, is_paired: false, pair: None };
    parts.filter_map(|range| Some((folded(text.get(range.clone())?)?, range)))
}

struct Parts<'a> {
    text: &'a str,
    singles: Singles,
    /// Position of the next word.
    at: usize,
    /// Whether the previous letter was the second of a pair.
    is_paired: bool,
    /// The pair after its first letter.
    pair: Option<Range<usize>>,
}

impl Iterator for Parts<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if let Some(pair) = self.pair.take() {
            return Some(pair);
        }
        loop {
            let start = self.at;
            let rest = self.text.get(start..)?;
            let mut letters = rest.chars();
            let letter = letters.next()?;
            if !letter.is_alphanumeric() {
                self.at += letter.len_utf8();
                self.is_paired = false;
                continue;
            }
            if !has_no_spaces(letter) {
                let is_part = |letter: char| {
                    (letter.is_alphanumeric() && !has_no_spaces(letter)) || is_accent(letter)
                };
                self.at += rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
                self.is_paired = false;
                return Some(start..self.at);
            }
            let next = letters.next().filter(|next| next.is_alphanumeric() && has_no_spaces(*next));
            let was_paired = std::mem::replace(&mut self.is_paired, next.is_some());
            self.at += letter.len_utf8();
            let pair = next.map(|next| start..self.at + next.len_utf8());
            match (self.singles, pair) {
                (Singles::Always, pair) => {
                    self.pair = pair;
                    return Some(start..self.at);
                }
                (Singles::WhereAlone, Some(pair)) => return Some(pair),
                (Singles::WhereAlone, None) if !was_paired => return Some(start..self.at),
                (Singles::WhereAlone, None) => {}
            }
        }
    }
}

/// A word in lower case, with Latin letters stripped of diacritics.
fn folded(word: &str) -> Option<String> {
    let mut out = String::with_capacity(word.len());
    for letter in word.chars().filter(|letter| !is_accent(*letter)) {
        if out.len() > MAX_WORD_BYTES {
            return None;
        }
        if letter.is_ascii() {
            out.push(letter.to_ascii_lowercase());
            continue;
        }
        for letter in letter.to_lowercase().filter(|letter| !is_accent(*letter)) {
            let plain = match letter {
                'ß' => "ss",
                'æ' => "ae",
                'œ' => "oe",
                'ø' => "o",
                'ð' | 'đ' => "d",
                'þ' => "th",
                'ł' => "l",
                'ħ' => "h",
                'ı' => "i",
                'ŋ' => "n",
                'ŧ' => "t",
                _ => {
                    let before = out.len();
                    decompose_compatible(letter, |part| {
                        let plain = part.is_ascii_alphanumeric().then(|| part.to_ascii_lowercase());
                        out.extend(plain);
                    });
                    // Letters of other scripts are unchanged.
                    if out.len() == before {
                        out.push(letter);
                    }
                    continue;
                }
            };
            out.push_str(plain);
        }
    }
    (out.len() <= MAX_WORD_BYTES).then_some(out)
}

/// Whether a letter is of a script whose words are not divided by spaces, or not by them alone.
fn has_no_spaces(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0e00..=0x0eff       // Thai, Lao
        | 0x1000..=0x109f     // Myanmar
        | 0x1100..=0x11ff | 0xac00..=0xd7af // Hangul
        | 0x1780..=0x17ff     // Khmer
        | 0x3040..=0x30ff | 0x31f0..=0x31ff // Kana
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff // Han
    )
}

fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests;
