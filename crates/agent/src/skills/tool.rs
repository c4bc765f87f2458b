//! The tool by which a model loads a skill, and the list of skills in its system prompt.

use std::sync::Arc;

use mcp_client::host::BoxFuture;
use serde_json::{Value, json};
use task_loop::nearest;
use task_loop::toolbox::Definition;
use task_loop::toolbox::OwnTool;
use task_loop::untrusted::{is_unsafe, printable};
use usage_metrics::catalogue::ToolCategory;

use super::Name;
use super::catalogue::{Skill, unknown};
use super::folders::SkillFolders;
use super::log::SkillLog;
use crate::mcp::reporter::Reporter;

pub(crate) const NAME: &str = "load_skill";
/// Its approximate cost in every request.
const TOKENS: u32 = 110;
const MAX_FILES_NAMED: usize = 50;
const MAX_LIST_BYTES: usize = 16 * 1024;
/// Lengths of a description to try, longest first, until the list fits.
const DESCRIPTION_CHARS: [usize; 4] = [300, 120, 40, 0];

#[derive(Debug, Clone)]
pub(crate) struct LoadSkill {
    pub(crate) places: SkillFolders,
    pub(crate) log: SkillLog,
    pub(crate) reporter: Arc<Reporter>,
}

impl OwnTool for LoadSkill {
    fn definition(&self) -> Definition {
        let text = |about: &str| json!({"type": "string", "description": about});
        Definition {
            name: Arc::from(NAME),
            description: Arc::from(
                "Loads a skill: instructions for one kind of task, which you then follow. With \
                 `file`, returns another file that the skill refers to.",
            ),
            parameters: Arc::new(json!({
                "type": "object",
                "properties": {
                    "name": text("Name of the skill"),
                    "file": text("Path of another file in the skill's folder"),
                },
                "required": ["name"],
                "additionalProperties": false,
            })),
            tokens: TOKENS,
        }
    }

    fn category(&self) -> ToolCategory {
        ToolCategory::Skill
    }

    fn call(&self, arguments: Value) -> BoxFuture<Result<String, String>> {
        let tool = self.clone();
        Box::pin(async move {
            // Files and a lock may block.
            let loaded = tokio::task::spawn_blocking(move || tool.load(&arguments)).await;
            loaded.unwrap_or_else(|_| Err("cannot load the skill".to_owned()))
        })
    }
}

impl LoadSkill {
    fn load(&self, arguments: &Value) -> Result<String, String> {
        let text = |key: &str| match arguments.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(format!("`{key}` must be text")),
        };
        let name = text("name")?.ok_or("`name` is missing")?;
        let opened = Name::parse(name).and_then(|name| self.places.open(&name));
        let opened = opened.ok_or_else(|| unknown(name, &self.places.catalogue()))?;
        let skill = opened.map_err(|problem| problem.line())?;
        match text("file")? {
            Some(file) => further(&skill, file),
            None => self.instructions(&skill),
        }
    }

    /// The instructions. Loading them counts as a use.
    fn instructions(&self, skill: &Skill) -> Result<String, String> {
        let document = skill.located.document().map_err(|problem| problem.line())?;
        if let Err(diagnostic) = self.log.used(&skill.located) {
            let line = printable(&diagnostic.line());
            self.reporter.show(format!("cannot record the use of {}: {line}", skill.name()));
        }
        let folder = &skill.located.folder;
        let files = folder.files();
        let path = folder.path().display();
        let mut text = format!("[skill {}, in the folder {path}]\n", skill.name());
        if !files.is_empty() {
            let named = files[..files.len().min(MAX_FILES_NAMED)].join(", ");
            let more = files.len().saturating_sub(MAX_FILES_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!("[other files, for `file`: {named}{more}]\n"));
        }
        text.push('\n');
        text.push_str(&document.body);
        Ok(text)
    }
}

fn further(skill: &Skill, file: &str) -> Result<String, String> {
    let folder = &skill.located.folder;
    folder.text(file).map_err(|flaw| {
        let line = flaw.line.map(|line| format!(":{line}")).unwrap_or_default();
        let files = folder.files();
        let near = nearest(file, files.iter().map(String::as_str));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("`{}`{line} of skill `{}`: {}{near}", printable(file), skill.name(), flaw.what)
    })
}

/// The list of skills in the system prompt; `None` if there are none.
pub(crate) fn listing(skills: &[Skill]) -> Option<String> {
    if skills.is_empty() {
        return None;
    }
    Some(format!(
        "A skill contains instructions for one kind of task. If one matches the person's request, \
         load it with `{NAME}` before you start, and follow it as if the person had written it. \
         Available skills:\n{}",
        lines(skills)
    ))
}

fn lines(skills: &[Skill]) -> String {
    let mut listed = Vec::new();
    for most in DESCRIPTION_CHARS {
        listed = skills.iter().map(|skill| line(skill, most)).collect();
        if listed.iter().map(String::len).sum::<usize>() <= MAX_LIST_BYTES {
            return listed.concat().trim_end().to_owned();
        }
    }
    let mut text = String::new();
    let mut told = 0;
    for line in &listed {
        if text.len() + line.len() > MAX_LIST_BYTES {
            break;
        }
        text.push_str(line);
        told += 1;
    }
    format!("{text}({} more are not listed; load one if the person names it)", skills.len() - told)
}

fn line(skill: &Skill, most: usize) -> String {
    let about = one_line(&skill.description, most);
    let name = skill.name();
    if about.is_empty() { format!("- {name}\n") } else { format!("- {name}: {about}\n") }
}

/// A text on one line, without control characters, with at most this many characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|letter| !is_unsafe(*letter)).collect();
    if line.chars().count() <= most {
        return line;
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let cut: String = line.chars().take(room).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests;
