//! `SKILL.md`: a front matter with `name` and `description`, then the instructions.

use settings::{Node, Value};
use task_loop::untrusted::printable;

use super::{Name, RULE, SkillFlaw};

const MAX_DESCRIPTION_CHARS: usize = 1024;
const FENCE: &str = "---";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    /// The declared name; the folder determines the actual one.
    pub(crate) title: Name,
    pub(crate) description: String,
    pub(crate) body: String,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, SkillFlaw> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (front, body) = halves(text)?;
        let front = Node::from_yaml(&front)
            .map_err(|problem| SkillFlaw::at(problem.line, printable(&problem.message)))?;
        if let Some((_, again)) = settings::duplicates(front.entries()).first() {
            let what = format!("duplicate key `{}`", printable(&again.text));
            return Err(SkillFlaw::at(again.position.line, what));
        }
        let (name, line) = text_of(&front, "name")?;
        let title = Name::parse(name).ok_or_else(|| {
            SkillFlaw::at(line, format!("invalid name `{}`: {RULE}", printable(name)))
        })?;
        let (description, line) = text_of(&front, "description")?;
        let description = description.trim().to_owned();
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

/// The value of a key and its line. Other keys are for other programs.
fn text_of<'n>(front: &'n Node, key: &str) -> Result<(&'n str, usize), SkillFlaw> {
    let Some(node) = front.get(key).filter(|node| !node.is_null()) else {
        return Err(SkillFlaw::at(1, format!("`{key}` is missing in the front matter")));
    };
    let line = node.position.line;
    match &node.value {
        Value::String(text) | Value::Number(_, text) | Value::Bool(_, text) => Ok((text, line)),
        _ => Err(SkillFlaw::at(line, format!("`{key}` must be a string, found {}", node.kind()))),
    }
}

/// The front matter, with the lines of the file, and the text after it.
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
