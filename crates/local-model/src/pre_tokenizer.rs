//! Splits a text into words before BPE. Hand-written: the defining regular expressions need an
//! engine with look-ahead, and are slower.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// The splitting rules, by their name in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreTokenizer {
    /// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
    Gpt2,
    /// The same, but each digit is a word.
    SmolLm,
    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
    /// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
    Llama3,
}

const CONTRACTIONS: &[&str] = &["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Number,
    Space,
    Other,
}

impl PreTokenizer {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "gpt-2" => Some(Self::Gpt2),
            "smollm" => Some(Self::SmolLm),
            "llama-bpe" | "llama3" | "llama-v3" => Some(Self::Llama3),
            _ => None,
        }
    }

    /// The words of a text; concatenated, they are the text.
    pub(crate) fn words(self, text: &str) -> impl Iterator<Item = &str> {
        let (mut part, mut rest) = ("", text);
        std::iter::from_fn(move || {
            if part.is_empty() {
                let length = if self == Self::SmolLm { to_digit(rest) } else { rest.len() };
                (part, rest) = rest.split_at(length);
            }
            let length = if self == Self::Llama3 { llama3(part) } else { gpt2(part) };
            let (word, after) = part.split_at(length);
            part = after;
            (!word.is_empty()).then_some(word)
        })
    }
}

/// Length before the first digit; if it comes first, that of the digit.
fn to_digit(text: &str) -> usize {
    match text.find(char::is_numeric) {
        Some(0) => text.chars().next().map_or(0, char::len_utf8),
        Some(digit) => digit,
        None => text.len(),
    }
}

fn gpt2(text: &str) -> usize {
    if let Some(short) = CONTRACTIONS.iter().find(|short| text.starts_with(**short)) {
        return short.len();
    }
    let space = usize::from(text.starts_with(' '));
    match text[space..].chars().next().map(class) {
        None | Some(Class::Space) => spaces(text),
        Some(first) => space + run(&text[space..], first),
    }
}

fn llama3(text: &str) -> usize {
    let is_short = |short: &&&str| {
        text.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short))
    };
    if let Some(short) = CONTRACTIONS.iter().find(is_short) {
        return short.len();
    }
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return 0 };
    let second = letters.clone().next().map(class);
    match class(first) {
        Class::Letter => run(text, Class::Letter),
        Class::Number => {
            let digits = text.chars().take_while(|letter| class(*letter) == Class::Number);
            digits.take(3).map(char::len_utf8).sum()
        }
        Class::Space | Class::Other if second == Some(Class::Letter) && !is_line_end(first) => {
            first.len_utf8() + run(letters.as_str(), Class::Letter)
        }
        Class::Other => signs(text),
        Class::Space if first == ' ' && second == Some(Class::Other) => 1 + signs(&text[1..]),
        Class::Space => {
            let all = run(text, Class::Space);
            text[..all].rfind(is_line_end).map_or_else(|| spaces(text), |last| last + 1)
        }
    }
}

/// Punctuation, then line ends.
fn signs(text: &str) -> usize {
    let signs = run(text, Class::Other);
    let ends = text[signs..].bytes().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    signs + ends
}

/// Spaces, without the last one if a word follows.
fn spaces(text: &str) -> usize {
    let all = run(text, Class::Space);
    let last = text[..all].chars().next_back().map_or(0, char::len_utf8);
    if all == text.len() || all == last { all } else { all - last }
}

fn run(text: &str, wanted: Class) -> usize {
    text.find(|letter| class(letter) != wanted).unwrap_or(text.len())
}

fn is_line_end(letter: char) -> bool {
    matches!(letter, '\r' | '\n')
}

fn class(letter: char) -> Class {
    match letter {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Number,
        _ if letter.is_whitespace() => Class::Space,
        _ if letter.is_ascii() => Class::Other,
        _ => match letter.general_category_group() {
            GeneralCategoryGroup::Letter => Class::Letter,
            GeneralCategoryGroup::Number => Class::Number,
            _ => Class::Other,
        },
    }
}
