//! A configured string: what was written, what may be shown, and what it resolved to.

use std::fmt;

/// A string of an entry. It shows what was written, placeholders and all, with literal secrets
/// left out; only [`Text::value`] gives what it resolved to, which may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    written: String,
    resolved: Option<Box<str>>,
    masked: Option<Box<str>>,
}

impl Text {
    /// A string without references.
    pub fn literal(value: impl Into<String>) -> Self {
        Self { written: value.into(), resolved: None, masked: None }
    }

    /// A string whose references, or `~`, were resolved.
    pub fn resolved(written: impl Into<String>, value: impl Into<String>) -> Self {
        let (written, value) = (written.into(), value.into());
        let resolved = (written != value).then(|| value.into_boxed_str());
        Self { written, resolved, masked: None }
    }

    /// The same string, shown in another way because what was written holds a secret.
    #[must_use]
    pub fn masked(self, shown: impl Into<String>) -> Self {
        Self { masked: Some(shown.into().into_boxed_str()), ..self }
    }

    /// The same string, used with another value, such as a path with `~` expanded.
    #[must_use]
    pub fn with_value(self, value: impl Into<String>) -> Self {
        let masked = self.masked;
        Self { masked, ..Self::resolved(self.written, value) }
    }

    /// What may be shown and logged.
    pub fn shown(&self) -> &str {
        self.masked.as_deref().unwrap_or(&self.written)
    }

    /// What stands in the file: placeholders unresolved, but literal secrets in clear. Only for
    /// comparing and for hashing, never for showing.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// What is used.
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
mod tests {
    use super::*;

    #[test]
    fn only_the_value_tells_what_a_reference_became() {
        let text = Text::resolved("Bearer ${TOKEN}", "Bearer s3cret");
        assert_eq!(text.shown(), "Bearer ${TOKEN}");
        assert_eq!(format!("{text:?}"), "\"Bearer ${TOKEN}\"");
        assert_eq!(text.value(), "Bearer s3cret");
    }

    #[test]
    fn a_masked_literal_is_used_but_not_shown() {
        let text = Text::literal("Bearer s3cret").masked("Bearer [hidden]");
        assert_eq!(format!("{text:?}"), "\"Bearer [hidden]\"");
        assert_eq!((text.value(), text.written()), ("Bearer s3cret", "Bearer s3cret"));
        let text = text.with_value("other");
        assert_eq!((text.shown(), text.value()), ("Bearer [hidden]", "other"));
    }
}
