//! A secret value that is never printed.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use settings::{Position, Problem, Reader, Text};

/// Minimum length of operator-chosen tokens and secrets, in characters.
pub const MIN_SECRET_CHARS: usize = 32;

/// A key, token or password. It has no `Display`, cannot be compared by accident, and its `Debug`
/// says nothing of it.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("format" = "secret"))]
pub struct Secret(Box<str>);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into().into_boxed_str())
    }

    /// The value, for sending or hashing it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Warns of a secret that is written literally in the file.
pub(super) fn warn_of_plain_text(
    reader: &mut Reader<'_>,
    (key, position): (&str, Position),
    text: &Text,
) {
    if !text.written().contains("${") {
        let problem = Problem::warning(position, "the file contains a secret in plain text");
        let hint = "use a reference such as `${NAME}` and set the variable in the profile's `.env` \
                    or in the environment";
        reader.report(key, problem.hint(hint));
    }
}

#[cfg(test)]
mod tests;
