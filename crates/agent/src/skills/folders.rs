//! Where skills are: in the profile's home, and in the project that one works in.

use std::fs;
use std::path::{Path, PathBuf};

use super::Problem;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// What marks the folder of a project, and holds its skills.
const MARK: &str = ".agent";
/// The folder of skills, in the mark of a project.
const SKILLS: &str = "skills";
/// How many folders above the working folder are looked at.
const MAX_LEVELS: usize = 64;
/// Where skills are put away, below the skills of the home.
const ARCHIVE: &str = ".archive";
/// What is kept of the use of skills, beside the skills of the home.
const USAGE: &str = ".usage.json";

/// On which of the two shelves a skill stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillScope {
    Home,
    Project,
}

impl SkillScope {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Project => "project",
        }
    }
}

/// The folders that hold skills.
#[derive(Debug, Clone)]
pub(crate) struct SkillFolders {
    home: PathBuf,
    project: Option<Project>,
    /// Where a project would begin that has none yet.
    here: Option<PathBuf>,
    /// Why a project's skills are not used.
    pub(super) problem: Option<Problem>,
}

/// A project: the nearest folder that has a mark.
#[derive(Debug, Clone)]
struct Project {
    /// By its real path.
    root: PathBuf,
    skills: PathBuf,
}

impl SkillFolders {
    /// Those of the profile and the working folder.
    pub(crate) fn find(session: &Session) -> Result<Self, Diagnostic> {
        let home = session.home()?.skills();
        let here = std::env::current_dir().ok();
        Ok(Self::of(home, here.as_deref(), session.environment.home.as_deref()))
    }

    /// `person` is the home folder of the person: no project is there or above.
    pub(super) fn of(home: PathBuf, here: Option<&Path>, person: Option<&Path>) -> Self {
        let mut places = Self { home, project: None, here: None, problem: None };
        let Some(here) = here else { return places };
        let person = person.map(real);
        places.here = Some(here.to_owned()).filter(|here| places.is_free(here, person.as_deref()));
        let above = here.ancestors().take(MAX_LEVELS);
        let above = above.take_while(|folder| Some(*folder) != person.as_deref());
        for folder in above {
            let mark = folder.join(MARK);
            if !mark.is_dir() || !places.is_free(folder, None) {
                continue;
            }
            if owner(&mark) == owner(here) {
                let (root, skills) = (real(folder), mark.join(SKILLS));
                places.project = Some(Project { root, skills });
            } else {
                let what = "it belongs to somebody else".to_owned();
                places.problem = Some(Problem { path: mark, line: None, what });
            }
            break;
        }
        places
    }

    /// Whether this can be a project: it is not where the program or the person keeps everything.
    fn is_free(&self, folder: &Path, person: Option<&Path>) -> bool {
        !real(&self.home).starts_with(real(&folder.join(MARK))) && Some(folder) != person
    }

    /// The skills of the home.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The skills of the project, if there is one.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_ref().map(|project| project.skills.as_path())
    }

    /// The same, or where the working folder would have them.
    pub(crate) fn project_to_be(&self) -> Result<PathBuf, Diagnostic> {
        let begun = self.here.as_ref().map(|here| here.join(MARK).join(SKILLS));
        self.project().map(Path::to_owned).or(begun).ok_or_else(|| {
            Diagnostic::usage("this folder cannot be a project: agent keeps its own files here")
                .hint("go to the folder of a project, or leave `--project` out")
        })
    }

    /// The shelves, the one that wins first, and what their skills may not lead out of.
    pub(super) fn shelves(&self) -> Vec<(SkillScope, &Path, Option<&Path>)> {
        let project = self.project.as_ref();
        let project = project.map(|it| (SkillScope::Project, &*it.skills, Some(&*it.root)));
        project.into_iter().chain([(SkillScope::Home, self.home.as_path(), None)]).collect()
    }

    /// Where skills are put away.
    pub(crate) fn archive(&self) -> PathBuf {
        self.home.join(ARCHIVE)
    }

    /// What is kept of their use.
    pub(crate) fn usage(&self) -> PathBuf {
        self.home.join(USAGE)
    }
}

/// A path without links as far as it exists.
fn real(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        if let Ok(known) = fs::canonicalize(folder) {
            let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { known } else { known.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|folder| folder.uid())
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ground {
        folder: tempfile::TempDir,
    }

    impl Ground {
        fn new(folders: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for path in folders {
                fs::create_dir_all(folder.path().join(path)).unwrap();
            }
            Self { folder }
        }

        fn places(&self, home: &str, here: &str) -> SkillFolders {
            let at = |path: &str| real(self.folder.path()).join(path);
            SkillFolders::of(at(home).join("skills"), Some(&at(here)), Some(&at("me")))
        }

        fn project(&self, home: &str, here: &str) -> Option<String> {
            let places = self.places(home, here);
            let root = real(self.folder.path());
            let project = places.project()?.strip_prefix(&root).unwrap();
            Some(project.display().to_string())
        }
    }

    #[test]
    fn the_nearest_folder_with_a_mark_is_the_project() {
        let ground = Ground::new(&["me/a/.agent", "me/a/b/c", "me/a/x/.agent", "me/.agent"]);
        for (here, project) in [
            ("me/a", Some("me/a/.agent/skills")),
            ("me/a/b/c", Some("me/a/.agent/skills")),
            ("me/a/x", Some("me/a/x/.agent/skills")),
            ("me", None),
        ] {
            assert_eq!(ground.project("me/.agent", here).as_deref(), project, "{here}");
        }
    }

    #[test]
    fn nothing_is_looked_for_in_the_home_folder_or_above() {
        let ground = Ground::new(&[".agent", "me/.agent", "me/work", "other"]);
        assert_eq!(ground.project("elsewhere", "me/work"), None);
        assert_eq!(ground.project("me/.agent/profiles/x", "me/work"), None);
        assert_eq!(ground.project("elsewhere", "other").as_deref(), Some(".agent/skills"));
    }

    #[test]
    fn the_home_of_a_profile_is_no_project() {
        let ground = Ground::new(&["a/.agent/profiles/x", "a/b"]);
        assert_eq!(ground.project("a/.agent", "a/b"), None);
        assert_eq!(ground.project("a/.agent/profiles/x", "a"), None);
        assert!(ground.places("a/.agent", "a").project_to_be().is_err());
        assert!(ground.places("a/.agent", "me").project_to_be().is_err());
        let begun = ground.places("a/.agent", "a/b").project_to_be().unwrap();
        assert!(begun.ends_with("a/b/.agent/skills"), "{begun:?}");
    }

    #[test]
    fn folders_far_above_are_not_looked_at() {
        let deep = format!("p/{}", vec!["d"; MAX_LEVELS].join("/"));
        let ground = Ground::new(&["p/.agent", &deep]);
        assert_eq!(ground.project("home", &deep), None);
        assert!(ground.project("home", deep.rsplit_once('/').unwrap().0).is_some());
    }
}
