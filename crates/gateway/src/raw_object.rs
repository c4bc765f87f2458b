//! The top-level object of a request with its values as raw text.
//!
//! The service reads a few fields and changes fewer; everything else reaches the upstream byte for
//! byte.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr2;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use wire::error::Code;

use crate::failure::{ApiError, ApiResult};

/// Maximum fields of a request. Each takes more memory than its text.
const MAX_FIELDS: usize = 1000;
/// Maximum values of a body that is parsed into a tree: each takes about 100 bytes.
const MAX_VALUES: usize = 200_000;

pub(crate) struct RawObject<'a> {
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> RawObject<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> ApiResult<Self> {
        serde_json::from_slice(body).map_err(|error| {
            if error.to_string().starts_with(TOO_MANY) {
                let message = format!("the body has more than {MAX_FIELDS} fields");
                ApiError::new(Code::InvalidRequest, message)
            } else if error.is_data() {
                ApiError::new(Code::InvalidRequest, "the body must be a JSON object")
            } else {
                let message = format!("the body is not valid JSON: {error}");
                ApiError::new(Code::InvalidJson, message)
            }
        })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }

    /// The text of a field; the last one of duplicates. `null` counts as absent.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a str> {
        let mut fields = self.fields.iter().rev();
        let value = fields.find(|(key, _)| key == name)?.1.get();
        (value != "null").then_some(value)
    }

    /// The values of all fields that some server may accept for this one.
    pub(crate) fn all_like(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let fields = self.fields.iter().filter(move |(key, _)| is_like(key, name));
        fields.map(|(_, value)| value.get()).filter(|value| *value != "null")
    }

    pub(crate) fn read<T: Deserialize<'a>>(
        &self,
        name: &'static str,
        wanted: &str,
    ) -> ApiResult<Option<T>> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        serde_json::from_str(raw)
            .map(Some)
            .map_err(|_| ApiError::invalid(name, format!("`{name}` must be {wanted}")))
    }

    /// The object with some fields replaced, added or (by `None`) removed, together with all fields
    /// that are [`is_like`] them.
    pub(crate) fn rewrite(&self, changes: &[(&str, Option<&str>)]) -> Vec<u8> {
        let names: Vec<&str> = changes.iter().map(|(name, _)| *name).collect();
        let Rest(out) = self.without(&names);
        ended(out, changes)
    }

    /// The object without some fields, and without all fields that are [`is_like`] them.
    pub(crate) fn without(&self, names: &[&str]) -> Rest {
        let length: usize =
            self.fields.iter().map(|(key, value)| key.len() + value.get().len() + 4).sum();
        let mut out = Vec::with_capacity(length + 2);
        out.push(b'{');
        let is_left_out = |key: &str| names.iter().any(|name| is_like(key, name));
        for (key, value) in self.fields.iter().filter(|(key, _)| !is_left_out(key)) {
            write_field(&mut out, key, value.get());
        }
        Rest(out)
    }
}

/// The prefix of our own parse error.
const TOO_MANY: &str = "too many fields";

pub(crate) fn tree(body: &[u8]) -> ApiResult<serde_json::Map<String, serde_json::Value>> {
    check_values(body)?;
    serde_json::from_slice(body)
        .map_err(|_| ApiError::new(Code::InvalidJson, "the body is not a JSON object"))
}

pub(crate) fn check_values(body: &[u8]) -> ApiResult<()> {
    // A value takes at least two bytes, with its comma.
    if body.len() / 2 > MAX_VALUES && values(body) > MAX_VALUES {
        let message = format!("the body has more than {MAX_VALUES} values");
        return Err(ApiError::new(Code::InvalidRequest, message));
    }
    Ok(())
}

/// An upper bound of the number of values: commas, colons and opening brackets.
fn values(text: &[u8]) -> usize {
    let (mut count, mut place) = (1, 0);
    while let Some(&byte) = text.get(place) {
        place += 1;
        match byte {
            b',' | b'[' | b'{' | b':' => count += 1,
            b'"' => {
                while let Some(end) = text.get(place..).and_then(|rest| memchr2(b'"', b'\\', rest))
                {
                    place += end + 1;
                    if text.get(place - 1) == Some(&b'"') {
                        break;
                    }
                    place += 1;
                }
            }
            _ => {}
        }
    }
    count
}

/// An object without its closing brace.
#[derive(Clone)]
pub(crate) struct Rest(Vec<u8>);

impl Rest {
    pub(crate) fn with(&self, added: &[(&str, Option<&str>)]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() + room_for(added));
        out.extend_from_slice(&self.0);
        ended(out, added)
    }
}

fn ended(mut out: Vec<u8>, added: &[(&str, Option<&str>)]) -> Vec<u8> {
    out.reserve(room_for(added));
    for (key, value) in added {
        if let Some(value) = value {
            write_field(&mut out, key, value);
        }
    }
    out.push(b'}');
    out
}

/// An upper bound of the length of these fields and the closing brace.
fn room_for(added: &[(&str, Option<&str>)]) -> usize {
    let fields = added.iter().map(|(key, value)| key.len() + value.map_or(0, str::len) + 4);
    fields.sum::<usize>() + 1
}

/// Whether a server that ignores case may take a key for this name.
pub(crate) fn is_like(key: &str, name: &str) -> bool {
    if key.is_ascii() {
        return key.eq_ignore_ascii_case(name);
    }
    // Some letters beyond ASCII are `s` or `k` in another case.
    key.to_lowercase().to_uppercase() == name.to_uppercase()
}

fn write_field(out: &mut Vec<u8>, key: &str, value: &str) {
    if out.len() > 1 {
        out.push(b',');
    }
    // Writing a string into memory cannot fail.
    let _ = serde_json::to_writer(&mut *out, key);
    out.push(b':');
    out.extend_from_slice(value.as_bytes());
}

impl<'de> Deserialize<'de> for RawObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawObject<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    if fields.len() == MAX_FIELDS {
                        return Err(serde::de::Error::custom(TOO_MANY));
                    }
                    fields.push((key, map.next_value()?));
                }
                Ok(RawObject { fields })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A key, borrowed from the body unless it has escapes.
#[derive(Deserialize)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[cfg(test)]
mod tests;
