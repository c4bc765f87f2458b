//! A result as it came: its keys apart, its values still text, so that one bad value spoils
//! nothing beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The most items of one list that are looked at; the rest is counted and left out.
pub const MAX_LIST_ITEMS: usize = 10_000;
/// The most keys of an unexpected result that an error names.
const MAX_NAMED_KEYS: usize = 8;

/// A result that holds nothing of what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// It is no JSON at all.
    #[error("the result is not valid JSON")]
    Syntax(#[source] serde_json::Error),
    /// It is JSON of another kind.
    #[error("the result is {found}, not an object")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// What was asked for is not in it.
    #[error("the result has no `{key}` list; it has {found}")]
    Missing {
        /// The key that should be there.
        key: &'static str,
        /// The keys that are there.
        found: String,
    },
    /// What was asked for is there, but is no list.
    #[error("`{key}` is {found}, not a list")]
    NotAList {
        /// The key.
        key: &'static str,
        /// What it holds.
        found: &'static str,
    },
    /// It is not the answer but a step on the way to it, or something unknown.
    #[error("the result is of type `{result_type}`, which is not a complete answer")]
    Incomplete {
        /// What the server called it.
        result_type: String,
    },
}

/// The keys of a result object and the text of their values.
pub(crate) struct Envelope<'a> {
    values: BTreeMap<String, &'a RawValue>,
}

/// The items of a list, and how many more there were.
pub(crate) struct Items<'a> {
    pub(crate) items: Vec<&'a RawValue>,
    pub(crate) left_out: usize,
}

impl<'a> Envelope<'a> {
    pub(crate) fn open(result: &'a str) -> Result<Self, DecodeError> {
        match kind_of(result) {
            "an object" => serde_json::from_str(result)
                .map(|values| Self { values })
                .map_err(DecodeError::Syntax),
            found => match serde_json::from_str::<IgnoredAny>(result) {
                Ok(_) => Err(DecodeError::NotAnObject { found }),
                Err(error) => Err(DecodeError::Syntax(error)),
            },
        }
    }

    /// As [`Envelope::open`], for results that say whether they are the answer.
    pub(crate) fn open_complete(result: &'a str) -> Result<Self, DecodeError> {
        let envelope = Self::open(result)?;
        match envelope.value("resultType") {
            Some(Value::String(kind)) if kind != "complete" => {
                Err(DecodeError::Incomplete { result_type: clip(&kind) })
            }
            _ => Ok(envelope),
        }
    }

    /// The text of a value; none where it is absent or null.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.values.get(key).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    /// The text of a value, be it null.
    pub(crate) fn present(&self, key: &str) -> Option<&'a str> {
        self.values.get(key).map(|raw| raw.get())
    }

    /// A value; none where it is absent, null or beyond reading.
    pub(crate) fn value(&self, key: &str) -> Option<Value> {
        self.text(key).and_then(|text| read(text).ok())
    }

    /// The list that the result is about.
    pub(crate) fn list(&self, key: &'static str) -> Result<Items<'a>, DecodeError> {
        match self.text(key) {
            Some(text) => list(text)
                .map_err(DecodeError::Syntax)?
                .ok_or_else(|| DecodeError::NotAList { key, found: kind_of(text) }),
            None => Err(DecodeError::Missing { key, found: self.described() }),
        }
    }

    /// How long the result may be kept. Servers write it as an integer or a float; a negative
    /// one is none.
    pub(crate) fn ttl_ms(&self) -> Option<u64> {
        let value = self.value("ttlMs")?;
        value.as_u64().or_else(|| {
            let float = value.as_f64().filter(|float| *float >= 0.0)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative, and a cast saturates"
            )]
            Some(float as u64)
        })
    }

    fn described(&self) -> String {
        if self.values.is_empty() {
            return "no keys".to_owned();
        }
        let names: Vec<String> =
            self.values.keys().take(MAX_NAMED_KEYS).map(|key| format!("`{}`", clip(key))).collect();
        names.join(", ")
    }
}

/// The items of a JSON list; none if the text is something else.
pub(crate) fn list(text: &str) -> Result<Option<Items<'_>>, serde_json::Error> {
    if !text.starts_with('[') {
        return Ok(None);
    }
    serde_json::Deserializer::from_str(text).deserialize_seq(Bounded).map(Some)
}

/// Collects items up to the limit and counts the others.
struct Bounded;

impl<'de> Visitor<'de> for Bounded {
    type Value = Items<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < MAX_LIST_ITEMS {
            match seq.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(Items { items, left_out: 0 }),
            }
        }
        let mut left_out = 0;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            left_out += 1;
        }
        Ok(Items { items, left_out })
    }
}

/// Reads a value. Halves of surrogate pairs, which servers leave behind when they cut a text in
/// the middle of an emoji, become replacement characters.
pub(crate) fn read(text: &str) -> Result<Value, serde_json::Error> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) => match mend_surrogates(text) {
            Cow::Owned(mended) => serde_json::from_str(&mended),
            Cow::Borrowed(_) => Err(error),
        },
    }
}

/// Valid JSON text with every lone surrogate escape replaced.
pub(crate) fn mend_surrogates(text: &str) -> Cow<'_, str> {
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

/// What kind of JSON a text is, by its first character.
pub(crate) fn kind_of(text: &str) -> &'static str {
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

/// A peer's word made fit for one line of a report: short, without control characters.
pub(crate) fn clip(text: &str) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn errors_name_what_came() {
        for (result, expected) in [
            ("[]", "the result is a list, not an object"),
            ("\"x\"", "the result is a string, not an object"),
            ("null", "the result is null, not an object"),
            ("{}", "the result has no `tools` list; it has no keys"),
            (r#"{"content":[],"x":1}"#, "the result has no `tools` list; it has `content`, `x`"),
            (r#"{"tools":null}"#, "the result has no `tools` list; it has `tools`"),
            (r#"{"tools":{}}"#, "`tools` is an object, not a list"),
            ("{", "the result is not valid JSON"),
            ("", "the result is not valid JSON"),
        ] {
            let outcome = Envelope::open(result).and_then(|open| open.list("tools").map(drop));
            assert_eq!(outcome.unwrap_err().to_string(), expected, "{result}");
        }
    }

    #[test]
    fn a_list_over_the_limit_is_cut_and_counted() {
        let text = format!("[{}1]", "0,".repeat(MAX_LIST_ITEMS + 4));
        let items = list(&text).unwrap().unwrap();
        assert_eq!((items.items.len(), items.left_out), (MAX_LIST_ITEMS, 5));
    }

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_are_kept() {
        for (text, expected) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
        assert!(read(r#""\ud8"#).is_err());
        assert!(read("\"\\").is_err());
    }

    #[test]
    fn time_to_live_may_be_a_float_and_never_negative() {
        for (written, expected) in [
            ("1500", Some(1500)),
            ("1500.0", Some(1500)),
            ("-1", None),
            ("\"5\"", None),
            ("1e99", Some(u64::MAX)),
        ] {
            let text = format!(r#"{{"ttlMs":{written}}}"#);
            assert_eq!(Envelope::open(&text).unwrap().ttl_ms(), expected, "{written}");
        }
    }
}
