//! The name of a model: that of its file without `.gguf`.

use std::path::Path;

use crate::file_name::{FileName, NameKind};

pub(crate) const ENDING: &str = "gguf";

pub(crate) type Name = FileName<ModelName>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelName {}

impl NameKind for ModelName {
    const NOUN: &str = "model";
    const RULE: &str = "a name has 1 to 64 letters, digits, `.`, `_` and `-`, starts with a letter \
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
mod tests;
