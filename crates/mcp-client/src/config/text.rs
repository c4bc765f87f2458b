//! A configured string: what was written, and what it resolved to.

use std::fmt;

/// A string of an entry. It shows what was written, placeholders and all; only [`Text::value`]
/// gives what it resolved to, which may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    written: String,
    resolved: Option<String>,
}

impl Text {
    /// A string without references.
    pub fn literal(value: impl Into<String>) -> Self {
        Self { written: value.into(), resolved: None }
    }

    /// A string whose references, or `~`, were resolved.
    pub fn resolved(written: impl Into<String>, value: impl Into<String>) -> Self {
        let (written, value) = (written.into(), value.into());
        let resolved = (written != value).then_some(value);
        Self { written, resolved }
    }

    /// What may be shown and logged.
    pub fn shown(&self) -> &str {
        &self.written
    }

    /// What is used.
    pub fn value(&self) -> &str {
        self.resolved.as_deref().unwrap_or(&self.written)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.written)
    }
}
