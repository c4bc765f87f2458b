//! Tokenizer of a file: text to tokens and back.

use std::collections::HashMap;

use crate::Result;
use crate::bpe::{Bpe, Vocabulary, bytes_of_letters};
use crate::file::{GgufFile, printable};
use crate::gguf::Value;
use crate::pre_tokenizer::PreTokenizer;

/// Separates the parts of a split token name; no text contains it.
pub(crate) const APART: char = '\u{F8FF}';

/// Names of further tokens that end an answer.
const ENDS: &[&str] = &["<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "</s>"];

/// A token without text.
const CONTROL: i32 = 3;
/// Types of tokens that are matched by name: unknown, control, user-defined, unused.
const SPECIAL: std::ops::RangeInclusive<i32> = 2..=5;
/// Keys that name the first and the last token.
const BEGIN: &str = "tokenizer.ggml.bos_token_id";
const END: &str = "tokenizer.ggml.eos_token_id";

#[derive(Debug)]
pub(crate) struct Tokenizer {
    bpe: Bpe,
    /// The bytes of each token; empty for tokens without text.
    pieces: Vec<Box<[u8]>>,
    ends: Vec<u32>,
    begin: Option<u32>,
    /// Names of tokens without text, as templates write them.
    names: Vec<String>,
    /// The texts of the first and of the last token, for templates.
    pub(crate) begin_text: String,
    pub(crate) end_text: String,
}

pub(crate) fn check(file: &GgufFile) -> Result<()> {
    splitter(file).map(drop)
}

impl Tokenizer {
    pub(crate) fn read(file: &GgufFile) -> Result<Self> {
        let splitter = splitter(file)?;
        let all = texts(file, "tokenizer.ggml.tokens");
        let types = types(file);
        let is_special =
            |id: &u32| types.get(*id as usize).is_some_and(|kind| SPECIAL.contains(kind));
        let named = [BEGIN, END].into_iter().filter_map(|key| number(file, key));
        let vocabulary = Vocabulary {
            tokens: all,
            merges: texts(file, "tokenizer.ggml.merges"),
            special: (0..).take(all.len()).filter(is_special).chain(named).collect(),
        };
        let bpe = Bpe::new(&vocabulary, splitter)
            .map_err(|error| file.wrong(format!("invalid tokenizer: {error}")))?;
        let is_control = |index: usize| types.get(index) == Some(&CONTROL);
        let bytes: HashMap<char, u8> = bytes_of_letters().collect();
        let pieces = all.iter().enumerate().map(|(index, text)| {
            let letters = text.chars().filter(|_| !is_control(index));
            letters.filter_map(|letter| bytes.get(&letter).copied()).collect()
        });
        let known_id = |key: &str| number(file, key).filter(|id| (*id as usize) < all.len());
        let (begin, end) = (known_id(BEGIN), known_id(END));
        let name = |id: Option<u32>| id.map_or_else(String::new, |id| all[id as usize].clone());
        let known = all
            .iter()
            .enumerate()
            .filter(|(index, text)| ENDS.contains(&text.as_str()) && is_control(*index));
        let mut ends: Vec<u32> =
            known.filter_map(|(index, _)| u32::try_from(index).ok()).chain(end).collect();
        ends.extend(known_id("tokenizer.ggml.eot_token_id"));
        ends.sort_unstable();
        ends.dedup();
        let controls = all.iter().enumerate().filter(|(index, _)| is_control(*index));
        Ok(Self {
            pieces: pieces.collect(),
            ends,
            begin: flag(file, "tokenizer.ggml.add_bos_token")
                .unwrap_or(false)
                .then_some(begin)
                .flatten(),
            names: controls.map(|(_, text)| text.clone()).collect(),
            begin_text: name(begin),
            end_text: name(end),
            bpe,
        })
    }

    /// Tokenizes a text; names of special tokens are matched, but not across [`APART`].
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens: Vec<u32> =
            text.split(APART).flat_map(|part| self.bpe.encode(part)).collect();
        if let Some(begin) = self.begin
            && tokens.first() != Some(&begin)
        {
            tokens.insert(0, begin);
        }
        tokens
    }

    /// A member's text, with names of tokens as plain text.
    pub(crate) fn apart(&self, words: &str) -> String {
        let mut words = words.replace(APART, "");
        for name in &self.names {
            if let Some(letter) = name.chars().next()
                && words.contains(name.as_str())
            {
                let (first, rest) = name.split_at(letter.len_utf8());
                words = words.replace(name.as_str(), &format!("{first}{APART}{rest}"));
            }
        }
        words
    }

    pub(crate) fn piece(&self, token: u32) -> &[u8] {
        self.pieces.get(token as usize).map_or(&[], |piece| piece)
    }

    pub(crate) fn is_end(&self, token: u32) -> bool {
        self.ends.binary_search(&token).is_ok()
    }
}

/// The pre-tokenizer of a file.
fn splitter(file: &GgufFile) -> Result<PreTokenizer> {
    let kind = file.text("tokenizer.ggml.model").unwrap_or("none");
    if kind != "gpt2" {
        let kind = printable(kind);
        let only = "only `gpt2` is supported";
        return Err(file.wrong(format!("unsupported tokenizer type `{kind}`; {only}")));
    }
    let name = file.text("tokenizer.ggml.pre").unwrap_or("none");
    PreTokenizer::named(name).ok_or_else(|| {
        let name = printable(name);
        file.wrong(format!("unsupported pre-tokenizer `{name}`"))
    })
}

fn texts<'a>(file: &'a GgufFile, key: &str) -> &'a [String] {
    if let Some(Value::Texts(texts)) = file.header.values.get(key) { texts } else { &[] }
}

fn types(file: &GgufFile) -> &[i32] {
    match file.header.values.get("tokenizer.ggml.token_type") {
        Some(Value::Integers(types)) => types,
        _ => &[],
    }
}

fn number(file: &GgufFile, key: &str) -> Option<u32> {
    match file.header.values.get(key) {
        Some(Value::Integer(number)) => u32::try_from(*number).ok(),
        _ => None,
    }
}

fn flag(file: &GgufFile, key: &str) -> Option<bool> {
    match file.header.values.get(key) {
        Some(Value::Bool(flag)) => Some(*flag),
        _ => None,
    }
}
