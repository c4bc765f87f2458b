//! One-pass decoding of tool results that hold only text blocks and structured content.
//!
//! Nearly all results are of this form, and long ones decode several times faster. Anything else is
//! left to the lenient decoder, which returns the same outcome for these.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{ContentBlock, ToolOutcome, public_meta};
use crate::tool::MAX_LIST_ITEMS;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ordinary {
    #[serde(rename = "resultType")]
    _kind: Option<Complete>,
    #[serde(default)]
    content: Vec<Object<Text>>,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
}

#[derive(Deserialize)]
struct Text {
    #[serde(rename = "type")]
    _kind: TextKind,
    text: String,
}

#[derive(Deserialize)]
enum TextKind {
    #[serde(rename = "text")]
    Text,
}

#[derive(Deserialize)]
enum Complete {
    #[serde(rename = "complete")]
    Complete,
}

/// Accepts JSON objects only: a derived struct would also accept an array of its fields.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

/// Keeps an explicit null, which `Option` would drop.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

pub(super) fn outcome(result: &str) -> Option<ToolOutcome> {
    let Object(Ordinary { _kind: _, content, structured_content, is_error, meta }) =
        serde_json::from_str(result).ok()?;
    if content.len() > MAX_LIST_ITEMS {
        return None;
    }
    Some(ToolOutcome {
        blocks: content.into_iter().map(|Object(block)| ContentBlock::Text(block.text)).collect(),
        structured: structured_content,
        is_valid: false,
        is_error,
        meta: meta.and_then(public_meta),
    })
}

#[cfg(test)]
mod tests;
