//! The available skills. A skill of the project hides one of the home with the same name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use task_loop::nearest;
use task_loop::untrusted::printable;
use usage_metrics::catalogue::Provenance;

use super::document::Document;
use super::folder::Folder;
use super::folders::{SkillFolder, SkillFolders, SkillScope};
use super::record::SkillRecord;
use super::{Name, Problem, RULE, SKILL_FILE, SkillFlaw};
use crate::session::Session;

pub(crate) const MAX_SKILLS: usize = 500;
const MAX_ENTRIES: usize = 2000;
const MAX_TOLD: usize = 10;

#[derive(Debug, Clone)]
pub(crate) struct SkillLocation {
    pub(crate) name: Name,
    pub(crate) shelf: SkillScope,
    pub(crate) is_in_home: bool,
    pub(crate) folder: Folder,
}

impl SkillLocation {
    /// Key of its usage record: its name, or its path in a project.
    pub(crate) fn key(&self) -> String {
        match self.shelf {
            SkillScope::Home => self.name.to_string(),
            SkillScope::Project => self.folder.path().display().to_string(),
        }
    }

    pub(crate) fn provenance(&self, record: &SkillRecord) -> Provenance {
        if record.installed.is_some() {
            Provenance::Installed
        } else if self.shelf == SkillScope::Project && !self.is_in_home {
            Provenance::External
        } else {
            Provenance::Local
        }
    }

    pub(crate) fn document(&self) -> Result<Document, Problem> {
        let problem = |flaw| Problem::of(self.folder.path().join(SKILL_FILE), flaw);
        self.folder.document().map_err(problem)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Skill {
    pub(crate) located: SkillLocation,
    pub(crate) description: String,
}

impl Skill {
    pub(crate) fn name(&self) -> &str {
        self.located.name.as_str()
    }

    /// Whether this one hides a skill of the home.
    pub(crate) fn is_hiding(&self) -> bool {
        self.located.shelf == SkillScope::Project && self.located.is_in_home
    }
}

/// All skills, and the problems of broken ones.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) skills: Vec<Skill>,
    pub(crate) problems: Vec<Problem>,
}

impl SkillFolders {
    pub(crate) fn catalogue(&self) -> Catalogue {
        let mut found: BTreeMap<String, Skill> = BTreeMap::new();
        let mut problems: Vec<Problem> = self.problem.iter().cloned().collect();
        for folder in self.all() {
            for entry in names(folder.path, &mut problems) {
                if found.contains_key(&entry) {
                    continue;
                }
                if found.len() == MAX_SKILLS {
                    let what =
                        format!("more than {MAX_SKILLS} skills: `{entry}` and the following ones");
                    problems.push(Problem { path: folder.path.to_owned(), line: None, what });
                    break;
                }
                match self.skill(&entry, folder) {
                    Ok(skill) => drop(found.insert(entry, skill)),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        Catalogue { skills: found.into_values().collect(), problems }
    }

    pub(crate) fn open(&self, name: &Name) -> Option<Result<Skill, Problem>> {
        let mut broken = None;
        for folder in self.all() {
            if fs::symlink_metadata(folder.path.join(name.as_str())).is_err() {
                continue;
            }
            match self.skill(name.as_str(), folder) {
                Ok(skill) => return Some(Ok(skill)),
                Err(problem) => broken = broken.or(Some(problem)),
            }
        }
        broken.map(Err)
    }

    /// The skill of the home with this name, whether or not it is usable.
    pub(crate) fn at_home(&self, name: &Name) -> Option<SkillLocation> {
        let folder = Folder::open(&self.home().join(name.as_str()), None).ok()?;
        Some(self.located(name.clone(), SkillScope::Home, folder))
    }

    pub(crate) fn located(&self, name: Name, scope: SkillScope, folder: Folder) -> SkillLocation {
        let is_in_home = scope == SkillScope::Home || self.home().join(name.as_str()).is_dir();
        SkillLocation { name, shelf: scope, is_in_home, folder }
    }

    fn skill(&self, entry: &str, within: SkillFolder<'_>) -> Result<Skill, Problem> {
        let path = within.path.join(entry);
        let name = Name::parse(entry).ok_or_else(|| {
            Problem::of(path.clone(), SkillFlaw::of(format!("invalid skill name: {RULE}")))
        })?;
        let folder =
            Folder::open(&path, within.boundary).map_err(|flaw| Problem::of(path, flaw))?;
        let located = self.located(name, within.scope, folder);
        let description = located.document()?.description;
        Ok(Skill { located, description })
    }
}

impl Catalogue {
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.skills.iter().map(Skill::name))
    }

    /// Prints problems and hidden skills.
    pub(crate) fn report(&self, session: &Session) {
        let output = &session.output;
        for problem in self.problems.iter().take(MAX_TOLD) {
            output.warn(format!("skipped: {}", problem.line()));
        }
        if let Some(more @ 1..) = self.problems.len().checked_sub(MAX_TOLD) {
            output.warn(format!("{more} more; list all of them with `agent skills list --json`"));
        }
        for skill in self.skills.iter().filter(|skill| skill.is_hiding()) {
            let name = skill.name();
            output.note(format!("skill {name} of the project hides the one in the home folder"));
        }
    }
}

/// The subfolders of a folder of skills, in order. Those that begin with a dot are not skills.
fn names(folder: &Path, problems: &mut Vec<Problem>) -> Vec<String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let what = format!("cannot be read: {error}");
            problems.push(Problem { path: folder.to_owned(), line: None, what });
            return Vec::new();
        }
    };
    let mut names = Vec::new();
    for entry in entries.filter_map(Result::ok).take(MAX_ENTRIES) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && entry.path().is_dir() {
            names.push(name);
        }
    }
    names.sort_unstable();
    names
}

pub(crate) fn unknown(name: &str, catalogue: &Catalogue) -> String {
    let shown = printable(name);
    match catalogue.nearest(name) {
        Some(near) => format!("no skill named `{shown}`; did you mean `{near}`?"),
        None => format!("no skill named `{shown}`"),
    }
}

#[cfg(test)]
mod tests;
