//! The name of a skill.

use crate::file_name::{FileName, NameKind};

pub(crate) const RULE: &str =
    "a name is 1 to 64 of `a` to `z`, `0` to `9` and `-`, and does not begin with `-`";

pub(crate) type Name = FileName<SkillName>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SkillName {}

impl NameKind for SkillName {
    const NOUN: &str = "skill";
    const RULE: &str = RULE;

    fn is_first(byte: u8) -> bool {
        byte.is_ascii_lowercase() || byte.is_ascii_digit()
    }

    fn is_further(byte: u8) -> bool {
        Self::is_first(byte) || byte == b'-'
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_name::MAX_NAME_BYTES;

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
