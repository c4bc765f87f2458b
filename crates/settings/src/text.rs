//! A configured string: its spelling, its value, and its printable form.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::problem::Position;

/// A string of an entry. It displays its spelling with placeholders, but without literal
/// secrets; only [`Text::value`] returns the resolved value, which may hold secrets.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Text {
    written: String,
    resolved: Option<Box<str>>,
    masked: Option<Box<str>>,
}

/// A string and its position.
#[derive(Debug, Clone, Deserialize)]
pub struct Located {
    /// Its key, dotted.
    pub key: String,
    pub position: Position,
    pub value: Text,
}

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "x-text": true})
    }
}

impl JsonSchema for Located {
    fn schema_name() -> Cow<'static, str> {
        "Located".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "x-text": true, "x-located": true})
    }
}

impl From<Text> for Json {
    fn from(Text { written, resolved, masked }: Text) -> Self {
        json!({"written": written, "resolved": resolved, "masked": masked})
    }
}

impl Text {
    /// A string without references.
    pub fn literal(value: impl Into<String>) -> Self {
        Self { written: value.into(), resolved: None, masked: None }
    }

    /// A string with resolved references or `~`.
    pub fn resolved(written: impl Into<String>, value: impl Into<String>) -> Self {
        let (written, value) = (written.into(), value.into());
        let resolved = (written != value).then(|| value.into_boxed_str());
        Self { written, resolved, masked: None }
    }

    /// The same string, displayed differently because its spelling contains a secret.
    #[must_use]
    pub fn masked(self, shown: impl Into<String>) -> Self {
        Self { masked: Some(shown.into().into_boxed_str()), ..self }
    }

    /// The same string with another value, such as a path with `~` expanded.
    #[must_use]
    pub fn with_value(self, value: impl Into<String>) -> Self {
        let masked = self.masked;
        Self { masked, ..Self::resolved(self.written, value) }
    }

    /// The form for messages and logs.
    pub fn shown(&self) -> &str {
        self.masked.as_deref().unwrap_or(&self.written)
    }

    /// The spelling: placeholders unresolved, but literal secrets in clear. Only for comparing
    /// and hashing, never for output.
    pub fn written(&self) -> &str {
        &self.written
    }

    pub fn value(&self) -> &str {
        self.resolved.as_deref().unwrap_or(&self.written)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}

#[cfg(test)]
mod tests;
