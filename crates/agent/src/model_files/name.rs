//! The name of a model: that of its file without `.gguf`.

use std::fmt;
use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::output::printable;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// How the files are called.
pub(crate) const ENDING: &str = "gguf";
/// What a name looks like.
const RULE: &str = "a name is 1 to 64 letters, digits, `.`, `_` and `-`, begins with a letter or a \
                    digit, and stands without `.gguf`";

/// A name that stays in its folder, whatever the system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name(String);

impl Name {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_good = text.len() <= MAX_NAME_BYTES
            && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && !text.to_ascii_lowercase().ends_with(".gguf");
        is_good.then(|| Self(text.to_owned()))
    }

    /// A name that was typed.
    pub(crate) fn typed(text: &str) -> Result<Self, Diagnostic> {
        Self::parse(text).ok_or_else(|| {
            Diagnostic::usage(format!("`{}` cannot be the name of a model", printable(text)))
                .hint(RULE)
        })
    }

    /// The name that a file would have, whatever it ends with.
    pub(crate) fn of_any_file(path: &Path) -> Option<Self> {
        Self::parse(path.file_stem()?.to_str()?)
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
    fn names_stay_in_their_folder() {
        let longest = "a".repeat(MAX_NAME_BYTES);
        for good in ["a", "7", "Qwen2.5-0.5B_Q8", "x-", longest.as_str()] {
            assert_eq!(Name::parse(good).unwrap().as_str(), good);
        }
        let too_long = "a".repeat(MAX_NAME_BYTES + 1);
        for bad in [
            "", "-a", ".a", "..", ".", "a b", "a/b", "../a", "ä", "a\n", "a.gguf", "a.GGUF",
            &too_long,
        ] {
            assert_eq!(Name::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_file_has_the_name_before_its_ending() {
        let of = |path: &str| Name::of_any_file(Path::new(path)).map(|name| name.to_string());
        assert_eq!(of("/x/small.Q4_1.gguf").as_deref(), Some("small.Q4_1"));
        assert_eq!(of("small").as_deref(), Some("small"));
        assert_eq!(of("/x/two words.gguf"), None);
        assert_eq!(of("/"), None);
    }
}
