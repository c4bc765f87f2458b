//! The name of a model: that of its file without `.gguf`.

use std::path::Path;

use crate::file_name::{FileName, NameKind};

pub(crate) const ENDING: &str = "gguf";

pub(crate) type Name = FileName<ModelName>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelName {}

impl NameKind for ModelName {
    const NOUN: &str = "model";
    const RULE: &str = "a name is 1 to 64 letters, digits, `.`, `_` and `-`, begins with a letter \
                        or a digit, and does not end with `.gguf`";

    fn is_first(byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
    }

    fn is_further(byte: u8) -> bool {
        Self::is_first(byte) || b"._-".contains(&byte)
    }
}

impl Name {
    /// The name of the model in a file, whatever its extension.
    pub(crate) fn of_any_file(path: &Path) -> Option<Self> {
        Self::parse(path.file_stem()?.to_str()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_name::MAX_NAME_BYTES;

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
