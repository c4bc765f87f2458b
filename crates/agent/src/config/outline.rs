//! What stands where in a configuration: the tree of its values, with the place of each.
//!
//! Edits are made on the text, so that everything they do not touch keeps every byte. This is how
//! they find their way, and how they are checked afterwards.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Spanned};

/// How deep values may be nested.
const MAX_DEPTH: usize = 32;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// What can stand in a configuration.
#[derive(Debug)]
pub(super) enum Value {
    Scalar(Json),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) place: Place,
    pub(super) text: String,
}

/// A place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The line, from 0.
    pub(super) line: usize,
    /// The column in characters, from 0.
    pub(super) column: usize,
    /// The first byte.
    pub(super) start: usize,
    /// The bytes of a scalar; without meaning for others.
    pub(super) length: usize,
    /// Whether it stands here only by reference to another place.
    pub(super) is_alias: bool,
}

impl Node {
    /// Reads a text. An empty one is a null.
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        let options = serde_saphyr::options! {
            with_snippet: false,
            strict_booleans: true,
            duplicate_keys: DuplicateKeyPolicy::Error,
            non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
            budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        };
        let tree: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options)?;
        Ok(Self::from_raw(tree, text))
    }

    fn from_raw(raw: Spanned<Raw>, text: &str) -> Self {
        let place = Place::of(&raw);
        let value = match raw.value {
            Raw::Scalar(value) => Value::Scalar(value),
            Raw::List(items) => {
                Value::List(items.into_iter().map(|item| Self::from_raw(item, text)).collect())
            }
            Raw::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| (Key::from_raw(&key, text), Self::from_raw(value, text)))
                    .collect(),
            ),
        };
        Self { place, value }
    }

    /// The value under a key, and the key.
    pub(super) fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        self.entries().iter().find(|(key, _)| key.text == name).map(|(key, node)| (key, node))
    }

    /// The entries of a mapping; none of anything else.
    pub(super) fn entries(&self) -> &[(Key, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Scalar(_) | Value::List(_) => &[],
        }
    }

    /// Whether it is nothing, or a mapping of nothing.
    pub(super) fn is_empty(&self) -> bool {
        match &self.value {
            Value::Scalar(value) => value.is_null(),
            Value::Map(entries) => entries.is_empty(),
            Value::List(_) => false,
        }
    }

    /// Whether it is written between braces.
    pub(super) fn is_flow(&self, text: &str) -> bool {
        text.get(self.place.start..).is_some_and(|rest| rest.starts_with('{'))
    }

    /// The value alone.
    pub(super) fn to_json(&self) -> Json {
        match &self.value {
            Value::Scalar(value) => value.clone(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => {
                let pairs = entries.iter().map(|(key, node)| (key.text.clone(), node.to_json()));
                Json::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }
}

impl Key {
    fn from_raw(raw: &Spanned<Raw>, text: &str) -> Self {
        let place = Place::of(raw);
        let name = match &raw.value {
            Raw::Scalar(Json::String(name)) => name.clone(),
            // `8080:` and `true:` are names as they are written.
            Raw::Scalar(_) => {
                let written = text.get(place.start..place.start.saturating_add(place.length));
                written.unwrap_or_default().trim().to_owned()
            }
            Raw::List(_) | Raw::Map(_) => String::new(),
        };
        Self { place, text: name }
    }
}

impl Place {
    fn of(raw: &Spanned<Raw>) -> Self {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let (at, span) = (raw.referenced, raw.referenced.span());
        Place {
            line: number(at.line()).saturating_sub(1),
            column: number(at.column()).saturating_sub(1),
            start: span.byte_offset().map_or(usize::MAX, number),
            length: span.byte_len().map_or(0, number),
            is_alias: !same(raw.referenced, raw.defined),
        }
    }
}

fn same(one: Location, other: Location) -> bool {
    (one.line(), one.column()) == (other.line(), other.column())
}

/// What the YAML reader hands over.
enum Raw {
    Scalar(Json),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Json::Null))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Json::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Raw, E> {
        // Infinity is no number of JSON; as a word it can still be compared.
        let number = Number::from_f64(value).map(Json::Number);
        Ok(Raw::Scalar(number.unwrap_or_else(|| value.to_string().into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Scalar(value.into()))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Raw, E> {
        Err(E::custom("binary values are not understood"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries: Vec<(Spanned<Raw>, Spanned<Raw>)> = Vec::new();
        while let Some((key, value)) = access.next_entry::<Spanned<Raw>, _>()? {
            if matches!(key.value, Raw::List(_) | Raw::Map(_)) {
                return Err(A::Error::custom("a key must be a plain word"));
            }
            entries.push((key, value));
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_have_their_places() {
        let text = "# ä\nmcp_servers:\n  ä: {command: x}\n  b:\n    enabled: \"off\"\n";
        let root = Node::read(text).unwrap();
        let (key, servers) = root.entry("mcp_servers").unwrap();
        assert_eq!((key.place.line, key.place.column), (1, 0));
        assert!(!servers.is_flow(text));
        let (key, entry) = servers.entry("ä").unwrap();
        assert_eq!((key.place.line, key.place.column), (2, 2));
        assert!(entry.is_flow(text) && text[entry.place.start..].starts_with("{command"));
        let (_, entry) = servers.entry("b").unwrap();
        assert!(!entry.is_flow(text));
        let (_, enabled) = entry.entry("enabled").unwrap();
        let Place { start, length, .. } = enabled.place;
        assert_eq!(&text[start..start + length], "\"off\"");
    }

    #[test]
    fn what_stands_elsewhere_is_known_as_such() {
        let root = Node::read("a: &x {b: 1}\nc: *x\n").unwrap();
        assert!(!root.entry("a").unwrap().1.place.is_alias);
        assert!(root.entry("c").unwrap().1.place.is_alias);
    }

    #[test]
    fn values_compare_as_json() {
        let root = Node::read("a: [1, 1.5, on, ~, .inf]\n8080: true\n").unwrap();
        let expected = serde_json::json!({"a": [1, 1.5, "on", null, "inf"], "8080": true});
        assert_eq!(root.to_json(), expected);
        assert!(Node::read("").unwrap().is_empty());
        assert!(Node::read("a: 1\na: 2\n").is_err());
    }
}
