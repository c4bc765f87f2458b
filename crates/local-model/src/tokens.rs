//! Text to tokens and back, as the file says.

use std::collections::HashMap;

use candle_core::quantized::gguf_file::Value;
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer};

use crate::Problem;
use crate::file::{GgufFile, printable};

/// Stands where a token's name was taken apart; no text has it.
pub(crate) const APART: char = '\u{F8FF}';

/// How words are found in the texts of Llama 3.
const LLAMA_3: &str = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Names of tokens that end an answer, beside the one the file names.
const ENDS: &[&str] = &["<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "</s>"];

/// A token of the header's list that stands for no text.
const CONTROL: u64 = 3;

/// The tokens of a file.
#[derive(Debug)]
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    /// The bytes of each token; none of those that stand for no text.
    pieces: Vec<Box<[u8]>>,
    ends: Vec<u32>,
    begin: Option<u32>,
    /// Names of tokens that stand for no text, as a template writes them.
    names: Vec<String>,
    /// The texts of the first and of the last token, as templates know them.
    pub(crate) begin_text: String,
    pub(crate) end_text: String,
}

/// Checks that the tokens of a file can be used.
pub(crate) fn check(file: &GgufFile) -> Result<(), Problem> {
    words(file).map(drop)
}

impl Tokens {
    /// The tokens of a file.
    pub(crate) fn read(file: &GgufFile) -> Result<Self, Problem> {
        let words = words(file)?;
        let mut tokenizer = Tokenizer::from_gguf(&file.content)
            .map_err(|error| file.wrong(format!("its tokenizer is broken: {error}")))?;
        tokenizer.with_pre_tokenizer(Some(words));
        // Templates write the first token themselves.
        tokenizer.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
        let all = texts(file);
        let types = types(file);
        let is_control = |index: usize| types.get(index) == Some(&CONTROL);
        let bytes = bytes_of_letters();
        let pieces = all.iter().enumerate().map(|(index, text)| {
            let letters = text.chars().filter(|_| !is_control(index));
            letters.filter_map(|letter| bytes.get(&letter).copied()).collect()
        });
        let known_id = |key: &str| number(file, key).filter(|id| (*id as usize) < all.len());
        let (begin, end) =
            (known_id("tokenizer.ggml.bos_token_id"), known_id("tokenizer.ggml.eos_token_id"));
        let name = |id: Option<u32>| id.map_or_else(String::new, |id| all[id as usize].to_owned());
        let known = all
            .iter()
            .enumerate()
            .filter(|(index, text)| ENDS.contains(text) && is_control(*index));
        let mut ends: Vec<u32> =
            known.filter_map(|(index, _)| u32::try_from(index).ok()).chain(end).collect();
        ends.extend(known_id("tokenizer.ggml.eot_token_id"));
        ends.sort_unstable();
        ends.dedup();
        let names = all.iter().enumerate().filter(|(index, _)| is_control(*index));
        Ok(Self {
            pieces: pieces.collect(),
            ends,
            begin: flag(file, "tokenizer.ggml.add_bos_token")
                .unwrap_or(false)
                .then_some(begin)
                .flatten(),
            names: names.map(|(_, text)| (*text).to_owned()).collect(),
            begin_text: name(begin),
            end_text: name(end),
            tokenizer,
        })
    }

    /// The tokens of a text in which the names of tokens stand for them, but not across [`APART`].
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u32>, Problem> {
        let mut tokens = Vec::new();
        for part in text.split(APART) {
            let encoded = self.tokenizer.encode_fast(part, false).map_err(|error| {
                Problem::new(format!("the text cannot be put in tokens: {error}"))
            })?;
            tokens.extend_from_slice(encoded.get_ids());
        }
        if let Some(begin) = self.begin
            && tokens.first() != Some(&begin)
        {
            tokens.insert(0, begin);
        }
        Ok(tokens)
    }

    /// A member's words in which the names of tokens are only words.
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

    /// The bytes of a token.
    pub(crate) fn piece(&self, token: u32) -> &[u8] {
        self.pieces.get(token as usize).map_or(&[], |piece| piece)
    }

    /// Whether an answer ends with a token.
    pub(crate) fn is_end(&self, token: u32) -> bool {
        self.ends.binary_search(&token).is_ok()
    }
}

/// How words are found in a text, before they are taken apart.
fn words(file: &GgufFile) -> Result<PreTokenizerWrapper, Problem> {
    let kind = file.text("tokenizer.ggml.model").unwrap_or("none");
    if kind != "gpt2" {
        let kind = printable(kind);
        let only = "only `gpt2` can be used here";
        return Err(file.wrong(format!("its tokenizer is of the kind `{kind}`; {only}")));
    }
    let kind = file.text("tokenizer.ggml.pre").unwrap_or("none");
    let words = match kind {
        "smollm" => vec![Digits::new(true).into(), ByteLevel::new(false, true, true).into()],
        "gpt-2" => vec![ByteLevel::new(false, true, true).into()],
        "llama-bpe" | "llama3" | "llama-v3" => {
            let pattern = SplitPattern::Regex(LLAMA_3.to_owned());
            let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
                .map_err(|error| file.wrong(error))?;
            vec![split.into(), ByteLevel::new(false, true, false).into()]
        }
        kind => {
            return Err(file.wrong(format!(
                "its tokenizer finds words by `{}`, which is not known here",
                printable(kind)
            )));
        }
    };
    Ok(Sequence::new(words).into())
}

fn texts(file: &GgufFile) -> Vec<&str> {
    let Some(Value::Array(all)) = file.content.metadata.get("tokenizer.ggml.tokens") else {
        return Vec::new();
    };
    all.iter().map(|value| if let Value::String(text) = value { text } else { "" }).collect()
}

fn types(file: &GgufFile) -> Vec<u64> {
    let Some(Value::Array(all)) = file.content.metadata.get("tokenizer.ggml.token_type") else {
        return Vec::new();
    };
    let whole = |value: &Value| match value {
        Value::I32(whole) => u64::try_from(*whole).unwrap_or_default(),
        Value::U32(whole) => u64::from(*whole),
        _ => 0,
    };
    all.iter().map(whole).collect()
}

fn number(file: &GgufFile, key: &str) -> Option<u32> {
    match file.content.metadata.get(key) {
        Some(Value::U32(number)) => Some(*number),
        Some(Value::I32(number)) => u32::try_from(*number).ok(),
        _ => None,
    }
}

fn flag(file: &GgufFile, key: &str) -> Option<bool> {
    match file.content.metadata.get(key) {
        Some(Value::Bool(flag)) => Some(*flag),
        _ => None,
    }
}

/// Which byte each letter of a token's text stands for: bytes that can be printed stand for
/// themselves, the others for letters from 256 on.
fn bytes_of_letters() -> HashMap<char, u8> {
    let mut next = 256;
    let mut bytes = HashMap::with_capacity(256);
    for byte in 0..=u8::MAX {
        let letter = match byte {
            b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => u32::from(byte),
            _ => {
                next += 1;
                next - 1
            }
        };
        bytes.extend(char::from_u32(letter).map(|letter| (letter, byte)));
    }
    bytes
}
