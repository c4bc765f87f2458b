//! Skills: folders with instructions that a model loads when they fit its task.
//!
//! A skill is a folder with a `SKILL.md` (see [`document`]) and optional further files
//! ([`folder`]). [`folders`] has the places that are searched for skills, [`catalogue`] lists
//! the found skills, [`tool`] passes a skill to a model, [`log`] records and counts uses, and
//! [`install`] and [`archive`] add and remove skills. A name from a person or a model never
//! resolves to a path outside the skill's folder; a broken skill does not affect others.

pub(crate) mod archive;
pub(crate) mod catalogue;
pub(crate) mod document;
pub(crate) mod folder;
pub(crate) mod folders;
pub(crate) mod install;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod tool;

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use task_loop::untrusted::escaped;

use crate::file_name::{FileName, NameKind};

pub(crate) const SKILL_FILE: &str = "SKILL.md";

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillFlaw {
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
}

impl SkillFlaw {
    pub(crate) fn of(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }

    pub(crate) fn at(line: usize, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    #[serde(serialize_with = "lossy")]
    pub(crate) path: PathBuf,
    pub(crate) line: Option<usize>,
    #[serde(rename = "message")]
    pub(crate) what: String,
}

impl Problem {
    pub(crate) fn of(path: PathBuf, SkillFlaw { line, what }: SkillFlaw) -> Self {
        Self { path, line, what }
    }

    /// `file:line: what`.
    pub(crate) fn line(&self) -> String {
        let path = escaped(&self.path.display().to_string());
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{path}{line}: {}", self.what)
    }
}

/// A path that is not UTF-8 cannot be written as JSON as it is.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

#[cfg(test)]
mod tests;
