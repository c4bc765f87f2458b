//! The tool by which a model loads a skill.

use std::sync::Arc;

use mcp_client::host::BoxFuture;
use serde_json::{Value, json};
use task_loop::nearest;
use task_loop::toolbox::Definition;
use task_loop::toolbox::OwnTool;
use task_loop::untrusted::printable;
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

#[cfg(test)]
mod tests;
