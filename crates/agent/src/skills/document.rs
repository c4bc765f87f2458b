//! `SKILL.md`: a front matter with `name` and `description`, then the instructions.

use serde::Deserialize;
use serde_saphyr::Spanned;
use task_loop::untrusted::printable;

use super::SkillFlaw;
use super::name::{Name, RULE};
use crate::config;

const MAX_DESCRIPTION_CHARS: usize = 1024;
/// The lines before and after the front matter.
const FENCE: &str = "---";

/// A `SKILL.md` that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    /// What it calls itself; the folder decides what it is called by.
    pub(crate) title: Name,
    pub(crate) description: String,
    pub(crate) body: String,
}

/// The keys that are known. Others belong to other programs.
#[derive(Debug, Default, Deserialize)]
struct FrontMatter {
    name: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, SkillFlaw> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (front, body) = halves(text)?;
        let front: Option<FrontMatter> = serde_saphyr::from_str(&front).map_err(|error| {
            let line = error.location().map(|place| place.line());
            SkillFlaw { line, what: printable(&config::reason(&error)) }
        })?;
        let front = front.unwrap_or_default();
        let missing =
            |key: &str| SkillFlaw::at(1, format!("`{key}` is missing in the front matter"));
        let name = front.name.ok_or_else(|| missing("name"))?;
        let title = Name::parse(&name.value).ok_or_else(|| {
            let shown = printable(&name.value);
            SkillFlaw::at(name.referenced.line(), format!("invalid name `{shown}`: {RULE}"))
        })?;
        let description = front.description.ok_or_else(|| missing("description"))?;
        let line = description.referenced.line();
        let description = description.value.trim().to_owned();
        if description.is_empty() {
            return Err(SkillFlaw::at(line, "`description` is empty"));
        }
        let count = description.chars().count();
        if count > MAX_DESCRIPTION_CHARS {
            let what = format!(
                "`description` has {count} characters, at most {MAX_DESCRIPTION_CHARS} are allowed"
            );
            return Err(SkillFlaw::at(line, what));
        }
        let body = body.trim().to_owned();
        if body.is_empty() {
            return Err(SkillFlaw::of("no instructions after the front matter"));
        }
        Ok(Self { title, description, body })
    }
}

/// The front matter, with the lines of the file, and what follows it.
fn halves(text: &str) -> Result<(String, &str), SkillFlaw> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != FENCE {
        return Err(SkillFlaw::at(1, "the front matter is missing: the first line must be `---`"));
    }
    let mut front = String::from("\n");
    let mut read = first.len();
    for line in lines {
        read += line.len();
        if line.trim_end() == FENCE {
            return Ok((front, &text[read..]));
        }
        front.push_str(line);
    }
    Err(SkillFlaw::at(1, "the front matter is not closed: a second line `---` is missing"))
}

#[cfg(test)]
mod tests;
