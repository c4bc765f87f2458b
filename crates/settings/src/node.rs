//! The tree of a configuration file, with the position of every value.
//!
//! Scalars keep their spelling, so that `1.10` stays `1.10` where a string is wanted. The tree may
//! hold secrets: its `Debug` shows only the kind of a value.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Spanned};

use crate::problem::{Position, Problem};

pub const MAX_CONFIG_BYTES: usize = 4 * 1024 * 1024;
const NOT_YAML: &str = "the file is not valid YAML: ";
/// Maximum nesting of values. Every level costs some 40 KiB of stack in a debug build.
const MAX_DEPTH: usize = 16;

/// A value and its position.
#[derive(Clone)]
pub struct Node {
    /// The position of its first character.
    pub position: Position,
    /// Its bytes in the text.
    pub span: Span,
    pub value: Value,
}

#[derive(Clone)]
pub enum Value {
    /// `null`, `~`, or a missing value.
    Null,
    /// The value and its spelling.
    Bool(bool, String),
    /// The value and its spelling.
    Number(f64, String),
    /// A text with unresolved references.
    String(String),
    List(Vec<Node>),
    /// Keys and values in the order of the file.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping; duplicates are possible.
#[derive(Debug, Clone)]
pub struct Key {
    /// The position of its first character.
    pub position: Position,
    /// Its bytes in the text.
    pub span: Span,
    pub text: String,
}

/// The byte range of a value in the text, for edits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    pub start: usize,
    /// Length in bytes of a scalar; meaningless for others.
    pub length: usize,
    /// Whether the value is an alias of an anchor.
    pub is_alias: bool,
}

/// A value with the name and position for its problems.
#[derive(Debug, Clone)]
pub struct Field<'n> {
    /// Its dotted key, including the outer sections.
    pub key: String,
    /// Its position; without a value, that of its key.
    pub position: Position,
    /// Position for problems of a whole mapping: its name, if it has one.
    pub owner: Position,
    /// Number of an item in its list, from 1, if problems are reported for the list.
    pub entry: usize,
    pub node: &'n Node,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}:{}", self.kind(), self.position.line, self.position.column)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl Value {
    /// The kind of the value, in words.
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

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self { position: Position::default(), span: Span::default(), value }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self { position: Position::default(), span: Span::default(), text: text.to_owned() }
    }
}

impl Node {
    /// The kind of the value, in words.
    pub fn kind(&self) -> &'static str {
        self.value.kind()
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// The spelling of a scalar.
    pub fn written(&self) -> Option<&str> {
        match &self.value {
            Value::Bool(_, text) | Value::Number(_, text) | Value::String(text) => Some(text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The entries of a mapping; empty for any other value.
    pub fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key in a mapping; for duplicates, the last one.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().rev().find(|(key, _)| key.text == name).map(|(_, node)| node)
    }

    /// Parses a YAML text. An error message never quotes the text.
    pub fn from_yaml(text: &str) -> Result<Self, Problem> {
        if text.len() > MAX_CONFIG_BYTES {
            let message = format!("the file is larger than {MAX_CONFIG_BYTES} bytes");
            return Err(Problem::error(Position { line: 1, column: 1 }, message));
        }
        let options = serde_saphyr::options! {
            with_snippet: false,
            // `y` and `on` are words; a boolean field accepts them.
            strict_booleans: true,
            duplicate_keys: DuplicateKeyPolicy::LastWins,
            non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
            budget: serde_saphyr::budget! { max_depth: MAX_DEPTH },
        };
        let tree: Spanned<Raw> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| syntax_problem(&error))?;
        Ok(Self::from_raw(tree, text))
    }

    /// Converts a JSON value, without positions; `None` if it is nested too deeply.
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
            Json::Array(items) => {
                let items = items.iter().map(|item| Self::from_json_within(item, depth));
                Value::List(items.collect::<Option<_>>()?)
            }
            Json::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    Some((Key::from(key.as_str()), Self::from_json_within(value, depth)?))
                });
                Value::Map(entries.collect::<Option<_>>()?)
            }
        };
        Some(value.into())
    }

    /// The value as JSON; the last of duplicate keys wins.
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
        let (position, span) = (position(raw.referenced), Span::of(&raw));
        let written = |plain: String| spelling(&raw.defined, text).unwrap_or(plain);
        let value = match raw.value {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(value, written(value.to_string())),
            Raw::Number(value) => Value::Number(value, written(value.to_string())),
            Raw::String(value) => Value::String(value),
            Raw::List(items) => {
                Value::List(items.into_iter().map(|item| Self::from_raw(item, text)).collect())
            }
            Raw::Map(entries) => {
                let entries = entries.into_iter().map(|(key, value)| {
                    (Key::from_node(&Self::from_raw(key, text)), Self::from_raw(value, text))
                });
                Value::Map(entries.collect())
            }
        };
        Self { position, span, value }
    }
}

impl Key {
    fn from_node(node: &Node) -> Self {
        // No key has the other name, so it is reported as unknown.
        let text = node.written().map_or_else(|| format!("({})", node.kind()), str::to_owned);
        Self { position: node.position, span: node.span, text }
    }
}

impl Span {
    fn of(raw: &Spanned<Raw>) -> Self {
        let span = raw.referenced.span();
        Self {
            start: span.byte_offset().map_or(usize::MAX, number),
            length: span.byte_len().map_or(0, number),
            is_alias: position(raw.referenced) != position(raw.defined),
        }
    }
}

impl<'n> Field<'n> {
    /// A value without a key, such as the whole file.
    pub fn of(node: &'n Node) -> Self {
        let position = node.position;
        Self { key: String::new(), position, owner: position, entry: 0, node }
    }

    /// The value under a key of the mapping `section`.
    pub fn within(section: &str, key: &Key, node: &'n Node) -> Self {
        let has_own = node.position != Position::default() && !node.is_null();
        let position = if has_own { node.position } else { key.position };
        Self { key: dotted(section, &key.text), position, owner: position, entry: 0, node }
    }

    #[must_use]
    pub fn item(&self, index: usize, node: &'n Node) -> Self {
        Self { key: format!("{}[{index}]", self.key), ..Field::of(node) }
    }
}

/// Pairs of duplicate keys in one mapping: the first, and each later one.
pub fn duplicates(entries: &[(Key, Node)]) -> Vec<(&Key, &Key)> {
    let mut seen: BTreeMap<&str, &Key> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (key, _) in entries {
        match seen.get(key.text.as_str()) {
            Some(first) => pairs.push((*first, key)),
            None => {
                seen.insert(&key.text, key);
            }
        }
    }
    pairs
}

pub fn given_twice(first: &Key, second: &Key) -> Problem {
    let (name, one, other) = (&second.text, first.position.line, second.position.line);
    let message = format!("`{name}` is set twice, in lines {one} and {other}");
    Problem::error(second.position, message).hint("remove one of them")
}

pub(crate) fn dotted(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

fn number(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn position(location: Location) -> Position {
    Position { line: number(location.line()), column: number(location.column()) }
}

/// The spelling of a plain scalar; `None` if it was quoted, tagged or not found.
fn spelling(location: &Location, text: &str) -> Option<String> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let end = start.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
    let written = text.get(start..end)?.trim();
    let plain = written.starts_with(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c));
    plain.then(|| written.to_owned())
}

/// The parse error of a text, if this is one.
pub fn not_yaml(problem: &Problem) -> Option<&str> {
    problem.message.strip_prefix(NOT_YAML)
}

fn syntax_problem(error: &Error) -> Problem {
    let error = error.without_snippet();
    let position = error.location().map_or(Position { line: 1, column: 1 }, position);
    let why = match error {
        // The parser's message, which never quotes its input.
        Error::ExternalMessage { msg, .. } => msg.as_str(),
        Error::Eof { .. } => "unexpected end of file",
        Error::MultipleDocuments { .. } => "the file contains more than one document",
        Error::UnknownAnchor { .. } => "`*` refers to an unknown anchor",
        Error::MergeValueNotMapOrSeqOfMaps { .. } => "`<<` requires a mapping",
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "the file is too large or nested too deeply"
        }
        _ => "a value does not match its tag or position",
    };
    let problem = Problem::error(position, format!("{NOT_YAML}{why}"));
    // Only if a special character may be the reason.
    match error {
        Error::ExternalMessage { .. } | Error::UnknownAnchor { .. } => problem
            .hint("quote values that start with one of * & ! % @ ` { [ or contain `: ` or ` #`"),
        _ => problem,
    }
}

/// A value as the YAML reader returns it, before its spelling is looked up in the text.
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

    #[expect(clippy::cast_precision_loss, reason = "the spelling is kept beside it")]
    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "the spelling is kept beside it")]
    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let items = std::iter::from_fn(|| access.next_element().transpose());
        items.collect::<Result<_, _>>().map(Raw::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let entries = std::iter::from_fn(|| access.next_entry().transpose());
        entries.collect::<Result<_, _>>().map(Raw::Map)
    }
}

#[cfg(test)]
mod tests;
