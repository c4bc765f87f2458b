//! Violations of the specification, described for people.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// Maximum length of an excerpt of the input, in characters.
pub const MAX_FOUND_CHARS: usize = 64;

crate::text_enum::text_enum! {
    /// The violated rule. The codes are stable.
    pub enum Problem {
        /// The bytes are not UTF-8, or start with a byte order mark.
        Encoding = "encoding",
        Syntax = "syntax",
        DuplicateKey = "duplicate-key",
        MissingField = "missing-field",
        UnknownField = "unknown-field",
        WrongType = "wrong-type",
        NotAllowed = "not-allowed",
        BadUuid = "bad-uuid",
        BadDateTime = "bad-date-time",
        BadIdentifier = "bad-identifier",
        /// Too short or too long.
        BadLength = "bad-length",
        /// Not an integer of at least 1, or not exactly 1 if required.
        BadValue = "bad-value",
        Empty = "empty",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Allowed {
    Listed(&'static [&'static str]),
    Exactly(&'static str),
    Rule(&'static str),
}

impl fmt::Display for Allowed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Listed([]) => out.write_str("none"),
            Allowed::Listed(texts) => out.write_str(&texts.join(", ")),
            Allowed::Exactly(text) => write!(out, "only `{text}`"),
            Allowed::Rule(rule) => out.write_str(rule),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    pub code: Problem,
    /// JSON pointer to the value, or to the object that lacks a field.
    pub pointer: String,
    /// Line in the input, from 1.
    pub line: usize,
    /// Column in the line, in characters, from 1.
    pub column: usize,
    pub offset: usize,
    pub found: String,
    pub allowed: Allowed,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Cow<'static, str>>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = &self.found;
        match self.code {
            Problem::MissingField => write!(out, "required field {found} is missing"),
            Problem::UnknownField => write!(out, "unexpected field {found}"),
            Problem::DuplicateKey => write!(out, "duplicate key {found}"),
            Problem::Encoding | Problem::Syntax => write!(out, "{found}"),
            _ => write!(out, "{found} is not allowed"),
        }?;
        match self.code {
            // The field is named already; the rule would add nothing.
            Problem::MissingField | Problem::DuplicateKey => {}
            _ => write!(out, "; allowed: {}", self.allowed)?,
        }
        match &self.nearest {
            Some(nearest) => write!(out, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// Shortens a part of the input and makes it printable.
pub(super) fn excerpt(text: &str) -> String {
    shorten(text).escape_debug().to_string()
}

pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_FOUND_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
