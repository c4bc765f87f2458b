//! The name of a skill.

use crate::file_name::{FileName, NameKind};

pub(crate) const RULE: &str = "a name has 1 to 64 characters from `a` to `z`, `0` to `9` and `-`, \
                               and does not start with `-`";

pub(crate) type Name = FileName<SkillName>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SkillName {}

impl NameKind for SkillName {
    const NOUN: &str = "skill";
    const RULE: &str = RULE;
    const HAS_CAPITALS: bool = false;
    const MARKS: &[u8] = b"-";
}

#[cfg(test)]
mod tests;
