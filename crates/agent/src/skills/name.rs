//! The name of a skill.

use std::fmt;

use crate::diagnostic::Diagnostic;
use crate::output::printable;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// What a name looks like.
pub(crate) const RULE: &str =
    "a name is 1 to 64 of `a` to `z`, `0` to `9` and `-`, and does not begin with `-`";

/// A name that can be one of a folder, whatever the system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_good = text.len() <= MAX_NAME_BYTES
            && text.bytes().next().is_some_and(is_letter)
            && text.bytes().all(|byte| is_letter(byte) || byte == b'-');
        is_good.then(|| Self(text.to_owned()))
    }

    /// A name that was typed.
    pub(crate) fn typed(text: &str) -> Result<Self, Diagnostic> {
        Self::parse(text).ok_or_else(|| {
            Diagnostic::usage(format!("`{}` cannot be the name of a skill", printable(text)))
                .hint(RULE)
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        let longest = "a".repeat(MAX_NAME_BYTES);
        for good in ["a", "7", "write-tests", "x-", longest.as_str()] {
            assert_eq!(Name::parse(good).unwrap().as_str(), good);
        }
        let too_long = "a".repeat(MAX_NAME_BYTES + 1);
        let bad = ["", "-a", "A", "a b", "a/b", "..", ".", "a.b", "ä", "a\n", "a\0", &too_long];
        for bad in bad {
            assert_eq!(Name::parse(bad), None, "{bad:?}");
        }
    }
}
