//! The folders of skills: in the profile's home, and in the current project.

use std::fs;
use std::path::{Path, PathBuf};

use super::Problem;
use crate::diagnostic::{Diagnostic, Result};
use crate::session::Session;

/// Marks the folder of a project, and holds its skills.
const MARK: &str = ".agent";
/// The folder of skills, in the marked folder of a project.
const SKILLS: &str = "skills";
/// Maximum number of folders searched above the working folder.
pub(crate) const MAX_LEVELS: usize = 64;
/// Archived skills, below the skills of the home.
const ARCHIVE: &str = ".archive";
/// Usage records, beside the skills of the home.
const USAGE: &str = ".usage.json";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillScope {
    Home,
    Project,
}

impl SkillScope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Project => "project",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct SkillFolders {
    home: PathBuf,
    project: Option<Project>,
    /// The folder for a new project, if there is none.
    here: Option<PathBuf>,
    pub(super) problem: Option<Problem>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SkillFolder<'a> {
    pub(super) scope: SkillScope,
    pub(super) path: &'a Path,
    /// Links may not lead out of this folder.
    pub(super) boundary: Option<&'a Path>,
}

/// A project: the nearest folder with the mark.
#[derive(Debug, Clone)]
struct Project {
    root: PathBuf,
    skills: PathBuf,
}

impl SkillFolders {
    pub(crate) fn find(session: &Session) -> Result<Self> {
        let home = session.home()?.skills();
        let here = std::env::current_dir().ok();
        Ok(Self::of(home, here.as_deref(), session.environment.home.as_deref()))
    }

    /// `person` is the person's home folder: it and its parents are not projects.
    pub(super) fn of(home: PathBuf, here: Option<&Path>, person: Option<&Path>) -> Self {
        let mut places = Self { home, project: None, here: None, problem: None };
        let Some(here) = here else { return places };
        let person = person.map(real);
        places.here = Some(here.to_owned()).filter(|here| places.is_free(here, person.as_deref()));
        let above = here.ancestors().take(MAX_LEVELS);
        let mut above = above.take_while(|folder| Some(*folder) != person.as_deref());
        let is_project =
            |folder: &&Path| folder.join(MARK).is_dir() && places.is_free(folder, None);
        if let Some(folder) = above.find(is_project) {
            let mark = folder.join(MARK);
            if owner(&mark) == owner(here) {
                let (root, skills) = (real(folder), mark.join(SKILLS));
                places.project = Some(Project { root, skills });
            } else {
                let what = "belongs to another user".to_owned();
                places.problem = Some(Problem { path: mark, line: None, what });
            }
        }
        places
    }

    /// Whether this can be a project: it is not a home folder of the program or the person.
    fn is_free(&self, folder: &Path, person: Option<&Path>) -> bool {
        !real(&self.home).starts_with(real(&folder.join(MARK))) && Some(folder) != person
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_ref().map(|project| project.skills.as_path())
    }

    /// As above, or the place of a new project.
    pub(crate) fn project_to_be(&self) -> Result<PathBuf> {
        let begun = self.here.as_ref().map(|here| here.join(MARK).join(SKILLS));
        self.project().map(Path::to_owned).or(begun).ok_or_else(|| {
            Diagnostic::usage("this folder cannot be a project: it contains agent's own files")
                .hint("change to the folder of a project, or omit `--project`")
        })
    }

    pub(super) fn all(&self) -> Vec<SkillFolder<'_>> {
        let project = self.project.as_ref().map(|project| SkillFolder {
            scope: SkillScope::Project,
            path: &project.skills,
            boundary: Some(&project.root),
        });
        let home = SkillFolder { scope: SkillScope::Home, path: &self.home, boundary: None };
        project.into_iter().chain([home]).collect()
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.home.join(ARCHIVE)
    }

    pub(crate) fn usage(&self) -> PathBuf {
        self.home.join(USAGE)
    }
}

/// A path with links resolved, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        if let Ok(known) = fs::canonicalize(folder) {
            let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { known } else { known.join(rest) };
        }
    }
    path.to_owned()
}

pub(crate) fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|folder| folder.uid())
}

#[cfg(test)]
mod tests;
