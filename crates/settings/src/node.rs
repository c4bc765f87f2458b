//! A tree of what stands in a configuration, with the place of every value.
//!
//! Scalars keep how they were written, so that `1.10` stays `1.10` where a string is wanted. The
//! tree may hold secrets: shown is only what kind of value stands where.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Spanned};

use crate::problem::{Place, Problem};

/// The largest configuration that is read, in bytes.
pub const MAX_CONFIG_BYTES: usize = 4 * 1024 * 1024;
/// How deep values may be nested. Every level costs some 40 KiB of stack in a debug build.
const MAX_DEPTH: usize = 16;

/// A value and where it stands.
pub struct Node {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// What can stand in a configuration.
pub enum Value {
    /// Nothing: `null`, `~`, or no value at all.
    Null,
    /// As understood, and as written.
    Bool(bool, String),
    /// As understood, and as written.
    Number(f64, String),
    /// A text, its references unresolved.
    String(String),
    /// Values in their order.
    List(Vec<Node>),
    /// Keys and values in the order of the file.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping; several may be the same.
#[derive(Debug, Clone)]
pub struct Key {
    /// Where it stands.
    pub place: Place,
    /// As written.
    pub text: String,
}

// The tree may hold secrets: only what kind of value stands there is shown.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}:{}", self.kind(), self.place.line, self.place.column)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl Value {
    /// What kind of value this is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(..) => "a boolean",
            Self::Number(..) => "a number",
            Self::String(text) if text.trim().is_empty() => "an empty string",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl Node {
    /// What kind of value this is, in words.
    pub fn kind(&self) -> &'static str {
        self.value.kind()
    }

    /// Whether nothing stands there.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// Reads a whole YAML text. The message of a failure never quotes the text.
    pub fn from_yaml(text: &str) -> Result<Self, Problem> {
        if text.len() > MAX_CONFIG_BYTES {
            let message = format!("the file is larger than {MAX_CONFIG_BYTES} bytes");
            return Err(Problem::error(Place { line: 1, column: 1 }, message));
        }
        let options = serde_saphyr::options! {
            with_snippet: false,
            // `y` and `on` are words; where a switch is wanted they are understood as one.
            strict_booleans: true,
            duplicate_keys: DuplicateKeyPolicy::LastWins,
            non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
            budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        };
        let tree: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| not_understood(&error))?;
        Ok(Self::from_raw(tree, text))
    }

    /// Takes over a JSON value; nothing in it has a place. Nothing deeper than the limit.
    pub fn from_json(json: &Json) -> Option<Self> {
        Self::from_json_within(json, MAX_DEPTH)
    }

    fn from_json_within(json: &Json, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value, value.to_string()),
            Json::Number(number) => {
                Value::Number(number.as_f64().unwrap_or(f64::NAN), number.to_string())
            }
            Json::String(text) => Value::String(text.clone()),
            Json::Array(items) => Value::List(
                items
                    .iter()
                    .map(|item| Self::from_json_within(item, depth))
                    .collect::<Option<_>>()?,
            ),
            Json::Object(entries) => Value::Map(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let key = Key { place: Place::default(), text: key.clone() };
                        Some((key, Self::from_json_within(value, depth)?))
                    })
                    .collect::<Option<_>>()?,
            ),
        };
        Some(Self { place: Place::default(), value })
    }

    /// The same as JSON; of a key that stands twice the last one counts.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value, _) => Json::Bool(*value),
            Value::Number(value, written) => serde_json::from_str(written)
                .ok()
                .filter(Json::is_number)
                .unwrap_or_else(|| Json::from(*value)),
            Value::String(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                entries.iter().map(|(key, value)| (key.text.clone(), value.to_json())).collect()
            }
        }
    }

    fn from_raw(raw: Spanned<Raw>, text: &str) -> Self {
        let place = place(raw.referenced);
        let written = |plain: String| source(&raw.defined, text).unwrap_or(plain);
        let value = match raw.value {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(value, written(value.to_string())),
            Raw::Number(value) => Value::Number(value, written(value.to_string())),
            Raw::String(value) => Value::String(value),
            Raw::List(items) => {
                Value::List(items.into_iter().map(|item| Self::from_raw(item, text)).collect())
            }
            Raw::Map(entries) => Value::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| {
                        (Key::from_node(&Self::from_raw(key, text)), Self::from_raw(value, text))
                    })
                    .collect(),
            ),
        };
        Self { place, value }
    }
}

impl Key {
    fn from_node(node: &Node) -> Self {
        let text = match &node.value {
            Value::Bool(_, written) | Value::Number(_, written) => written.clone(),
            Value::String(text) => text.clone(),
            // Kept under a name that no key has, to be reported as unknown.
            Value::Null | Value::List(_) | Value::Map(_) => format!("({})", node.kind()),
        };
        Self { place: node.place, text }
    }
}

fn place(location: Location) -> Place {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    Place { line: number(location.line()), column: number(location.column()) }
}

/// How a plain scalar was written; nothing if it was quoted, tagged or cannot be found.
fn source(location: &Location, text: &str) -> Option<String> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let end = start.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
    let written = text.get(start..end)?.trim();
    let plain = written.starts_with(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c));
    plain.then(|| written.to_owned())
}

fn not_understood(error: &Error) -> Problem {
    let error = error.without_snippet();
    let place = error.location().map_or(Place { line: 1, column: 1 }, place);
    let why = match error {
        // The parser's own words, which never quote what it reads.
        Error::ExternalMessage { msg, .. } => msg.as_str(),
        Error::Eof { .. } => "the file ends too early",
        Error::MultipleDocuments { .. } => "there is more than one document",
        Error::UnknownAnchor { .. } => "`*` refers to an anchor that does not exist",
        Error::MergeValueNotMapOrSeqOfMaps { .. } => "`<<` must be given a mapping",
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "it is too large or too deeply nested",
        _ => "a value does not have the form that its tag or place asks for",
    };
    let problem = Problem::error(place, format!("the file is not valid YAML: {why}"));
    // Only where a special character may be the reason.
    match error {
        Error::ExternalMessage { .. } | Error::UnknownAnchor { .. } => problem.hint(
            "a value that begins with one of * & ! % @ ` { [ or holds `: ` or ` #` needs quotes",
        ),
        _ => problem,
    }
}

/// What the YAML reader hands over, before scalars are looked up in the text.
enum Raw {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
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
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "how it was written is kept beside it")]
    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "how it was written is kept beside it")]
    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(node: &Node) -> String {
        match &node.value {
            Value::Null => "null".into(),
            Value::Bool(_, text) | Value::Number(_, text) | Value::String(text) => text.clone(),
            Value::List(items) => {
                format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(" "))
            }
            Value::Map(entries) => entries
                .iter()
                .map(|(key, value)| format!("{}={}", key.text, written(value)))
                .collect::<Vec<_>>()
                .join(" "),
        }
    }

    #[test]
    fn scalars_keep_how_they_were_written() {
        for (yaml, expected) in [
            ("a: 1.10", "a=1.10"),
            (
                "a: [yes, 007, 0o17, 1e3, 12345678901234567890123, ~]",
                "a=[yes 007 0o17 1e3 12345678901234567890123 null]",
            ),
            ("a: \"007\"\n8080: x\ntrue: y", "a=007 8080=x true=y"),
            ("\u{feff}ä: 'ö'\nb: 1.50 # c", "ä=ö b=1.50"),
            ("a: &n 1.10\nb: *n", "a=1.10 b=1.10"),
            ("a: .inf", "a=.inf"),
            ("", "null"),
        ] {
            let node = Node::from_yaml(yaml).unwrap_or_else(|p| panic!("{yaml}: {p}"));
            assert_eq!(written(&node), expected, "{yaml}");
        }
    }

    #[test]
    fn every_value_and_key_has_its_place() {
        let node = Node::from_yaml("a: 1\nb:\n  - x\n  -  y\n").unwrap_or_else(|p| panic!("{p}"));
        let Value::Map(entries) = &node.value else { panic!("{}", node.kind()) };
        assert_eq!(entries[1].0.place, Place { line: 2, column: 1 });
        let Value::List(items) = &entries[1].1.value else { panic!() };
        assert_eq!(items[1].place, Place { line: 4, column: 6 });
    }

    #[test]
    fn the_same_key_twice_is_kept_twice() {
        let node = Node::from_yaml("a: 1\nb: 2\na: 3\n").unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(written(&node), "a=1 b=2 a=3");
    }

    #[test]
    fn broken_text_is_one_problem_with_its_place_and_without_its_words() {
        for text in ["a: [s3cret", "a: *s3cret", "a: \"s3cret", "\ta: s3cret\n b", "a: 's3cret'x"] {
            let problem = Node::from_yaml(text).err().unwrap_or_else(|| panic!("{text}"));
            assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
            assert!(!problem.to_string().contains("s3cret"), "{problem}");
        }
    }

    #[test]
    fn too_large_and_too_deep_are_refused() {
        let large = format!("a: {}", "x".repeat(MAX_CONFIG_BYTES));
        assert!(Node::from_yaml(&large).is_err());
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Node::from_yaml(&nested(MAX_DEPTH)).is_ok());
        assert!(Node::from_yaml(&nested(MAX_DEPTH + 1)).is_err());
        let nested = (0..MAX_DEPTH).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        assert!(Node::from_json(&nested).is_none());
        let Json::Array(mut inner) = nested else { panic!() };
        assert!(Node::from_json(&inner.remove(0)).is_some());
    }
}
