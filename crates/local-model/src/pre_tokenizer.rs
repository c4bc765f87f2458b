//! Splits a text into words before BPE.

use regex::Regex;

/// The splitting rules of a model. Their definitions have the look-ahead `\s+(?!\S)`, which the
/// pattern lacks: [`PreTokenizer::words`] shortens runs of spaces instead.
#[derive(Debug)]
pub(crate) struct PreTokenizer {
    pattern: Regex,
    unshortened: Unshortened,
}

/// Runs of spaces whose last space does not belong to the next word.
#[derive(Debug, Clone, Copy)]
enum Unshortened {
    Never,
    BeforeNumber,
    AfterLineEnd,
}

const GPT_2: &str = r"^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+)";
/// The same, but each digit is a word.
const SMOL_LM: &str = r"^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+)";
const LLAMA_3: &str = r"^(?:(?i-u:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+)";

impl PreTokenizer {
    /// The rules by their name in files.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (pattern, unshortened) = match name {
            "gpt-2" => (GPT_2, Unshortened::Never),
            "smollm" => (SMOL_LM, Unshortened::BeforeNumber),
            "llama-bpe" | "llama3" | "llama-v3" => (LLAMA_3, Unshortened::AfterLineEnd),
            _ => return None,
        };
        Some(Self { pattern: Regex::new(pattern).ok()?, unshortened })
    }

    /// The words of a text; concatenated, they are the text.
    pub(crate) fn words<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let length = self.pattern.find(rest)?.end();
            let (word, after) = rest.split_at(length - self.shortened_by(rest.split_at(length)));
            rest = after;
            Some(word)
        })
    }

    /// The length of the last of several spaces, if it belongs to the next word.
    fn shortened_by(&self, (word, after): (&str, &str)) -> usize {
        let Some(last) = word.chars().next_back().filter(|last| last.is_whitespace()) else {
            return 0;
        };
        let is_unshortened = match self.unshortened {
            Unshortened::Never => false,
            Unshortened::BeforeNumber => after.starts_with(char::is_numeric),
            Unshortened::AfterLineEnd => matches!(last, '\r' | '\n'),
        };
        let is_last = after.is_empty() || word.len() == last.len_utf8();
        if is_unshortened || is_last { 0 } else { last.len_utf8() }
    }
}

#[cfg(test)]
mod tests;
