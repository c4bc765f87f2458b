//! Lenient parsing of a result: keys are parsed, values stay text, so that one malformed value does
//! not affect the others.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum number of items of one list; the rest is counted and skipped.
pub const MAX_LIST_ITEMS: usize = 10_000;
const MAX_NAMED_KEYS: usize = 8;

/// Why a result cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("the result is invalid JSON")]
    Syntax(#[source] serde_json::Error),
    #[error("the result must be an object, found {found}")]
    NotAnObject { found: &'static str },
    #[error("the result has no `{key}` list; it has {found}")]
    Missing { key: &'static str, found: String },
    #[error("`{key}` must be a list, found {found}")]
    NotAList { key: &'static str, found: &'static str },
    /// An intermediate or unknown result type.
    #[error("the result is of type `{result_type}`, not a complete result")]
    Incomplete { result_type: String },
}

pub(crate) struct RawObject<'a> {
    values: BTreeMap<String, &'a RawValue>,
}

pub(crate) struct RawList<'a> {
    pub(crate) items: Vec<&'a RawValue>,
    pub(crate) left_out: usize,
}

impl<'a> RawObject<'a> {
    pub(crate) fn open(result: &'a str) -> Result<Self, DecodeError> {
        match json_kind(result) {
            "an object" => serde_json::from_str(result)
                .map(|values| Self { values })
                .map_err(DecodeError::Syntax),
            found => match serde_json::from_str::<IgnoredAny>(result) {
                Ok(_) => Err(DecodeError::NotAnObject { found }),
                Err(error) => Err(DecodeError::Syntax(error)),
            },
        }
    }

    /// As [`RawObject::open`], but rejects intermediate results.
    pub(crate) fn open_complete(result: &'a str) -> Result<Self, DecodeError> {
        let envelope = Self::open(result)?;
        match envelope.value("resultType") {
            Some(Value::String(kind)) if kind != "complete" => {
                Err(DecodeError::Incomplete { result_type: printable_excerpt(&kind) })
            }
            _ => Ok(envelope),
        }
    }

    /// The text of a value that is not null.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.values.get(key).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    /// The text of a value, including null.
    pub(crate) fn present(&self, key: &str) -> Option<&'a str> {
        self.values.get(key).map(|raw| raw.get())
    }

    /// A value that is present, readable and not null.
    pub(crate) fn value(&self, key: &str) -> Option<Value> {
        self.text(key).and_then(|text| parse_lenient(text).ok())
    }

    pub(crate) fn list(&self, key: &'static str) -> Result<RawList<'a>, DecodeError> {
        match self.text(key) {
            Some(text) => parse_list(text)
                .map_err(DecodeError::Syntax)?
                .ok_or_else(|| DecodeError::NotAList { key, found: json_kind(text) }),
            None => Err(DecodeError::Missing { key, found: self.described() }),
        }
    }

    fn described(&self) -> String {
        if self.values.is_empty() {
            return "no keys".to_owned();
        }
        let names: Vec<String> = self
            .values
            .keys()
            .take(MAX_NAMED_KEYS)
            .map(|key| format!("`{}`", printable_excerpt(key)))
            .collect();
        names.join(", ")
    }
}

/// `None` if the text is not a list.
pub(crate) fn parse_list(text: &str) -> Result<Option<RawList<'_>>, serde_json::Error> {
    if !text.starts_with('[') {
        return Ok(None);
    }
    serde_json::Deserializer::from_str(text).deserialize_seq(ListVisitor).map(Some)
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = RawList<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MAX_LIST_ITEMS {
            match seq.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(RawList { items, left_out: 0 }),
            }
        }
        let mut left_out = 0;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            left_out += 1;
        }
        Ok(RawList { items, left_out })
    }
}

/// Parses a value. Lone surrogates, which servers produce by cutting a text inside an emoji, become
/// replacement characters.
pub(crate) fn parse_lenient(text: &str) -> Result<Value, serde_json::Error> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) => match replace_lone_surrogates(text) {
            Cow::Owned(mended) => serde_json::from_str(&mended),
            Cow::Borrowed(_) => Err(error),
        },
    }
}

pub(crate) fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut mended = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        let lone = match unit(at) {
            Some(0xD800..=0xDBFF) => {
                let paired = unit(at + 6).is_some_and(|low| (0xDC00..=0xDFFF).contains(&low));
                at += if paired { 12 } else { 6 };
                !paired
            }
            Some(0xDC00..=0xDFFF) => {
                at += 6;
                true
            }
            _ => {
                at = (at + 2).min(bytes.len());
                false
            }
        };
        if lone {
            mended.push_str(&text[copied..at - 6]);
            mended.push_str("\\ufffd");
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[copied..]);
    Cow::Owned(mended)
}

/// The kind of a JSON text by its first character.
pub(crate) fn json_kind(text: &str) -> &'static str {
    match text.trim_start().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "nothing",
    }
}

/// A peer text for one line of a report: short, without control characters.
pub(crate) fn printable_excerpt(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 120;
    let mut shown = String::new();
    for (at, character) in text.chars().enumerate() {
        if at == MAX_SHOWN_CHARS {
            shown.push('…');
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests;
