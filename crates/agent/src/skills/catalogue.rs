//! Which skills there are. A skill of the project hides one of the home that has its name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use usage_metrics::catalogue::Provenance;
use usage_metrics::mapping::skill::{SkillOrigin, provenance};

use super::document::Document;
use super::folder::Folder;
use super::folders::{SkillFolders, SkillScope};
use super::name::{Name, RULE};
use super::record::SkillRecord;
use super::{Problem, SKILL_FILE, SkillFlaw};
use crate::mcp::nearest;
use crate::output::printable;
use crate::session::Session;

/// The most skills there may be.
pub(crate) const MAX_SKILLS: usize = 500;
/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 2000;
/// The most problems that are told at once.
const MAX_TOLD: usize = 10;

/// Where a skill is.
#[derive(Debug, Clone)]
pub(crate) struct SkillLocation {
    pub(crate) name: Name,
    pub(crate) shelf: SkillScope,
    /// The home has a skill of this name.
    pub(crate) is_in_home: bool,
    pub(crate) folder: Folder,
}

impl SkillLocation {
    /// By what its use is kept: its name, or its place if it is a project's.
    pub(crate) fn key(&self) -> String {
        match self.shelf {
            SkillScope::Home => self.name.to_string(),
            SkillScope::Project => self.folder.path().display().to_string(),
        }
    }

    /// Where it came from.
    pub(crate) fn provenance(&self, record: &SkillRecord) -> Provenance {
        provenance(&SkillOrigin {
            created_by_agent: false,
            installed_from_hub: record.installed.is_some(),
            only_in_external_dirs: self.shelf == SkillScope::Project && !self.is_in_home,
            in_local_tree: self.is_in_home,
            has_record: true,
        })
    }

    /// What it says.
    pub(crate) fn document(&self) -> Result<Document, Problem> {
        let problem = |flaw| Problem::of(self.folder.path().join(SKILL_FILE), flaw);
        self.folder.document().map_err(problem)
    }
}

/// A skill that can be used.
#[derive(Debug, Clone)]
pub(crate) struct Skill {
    pub(crate) located: SkillLocation,
    pub(crate) description: String,
}

impl Skill {
    pub(crate) fn name(&self) -> &str {
        self.located.name.as_str()
    }
}

/// All skills, and what is wrong with others.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    /// By name.
    pub(crate) skills: Vec<Skill>,
    pub(crate) problems: Vec<Problem>,
}

impl SkillFolders {
    /// What is there now.
    pub(crate) fn catalogue(&self) -> Catalogue {
        let mut found: BTreeMap<String, Skill> = BTreeMap::new();
        let mut problems: Vec<Problem> = self.problem.iter().cloned().collect();
        for (shelf, folder, bound) in self.shelves() {
            for entry in names(folder, &mut problems) {
                if found.contains_key(&entry) {
                    continue;
                }
                if found.len() == MAX_SKILLS {
                    let what = format!(
                        "there are more than {MAX_SKILLS} skills: `{entry}` and those after it"
                    );
                    problems.push(Problem { path: folder.to_owned(), line: None, what });
                    break;
                }
                match self.skill(&entry, (shelf, folder, bound)) {
                    Ok(skill) => drop(found.insert(entry, skill)),
                    Err(problem) => problems.push(problem),
                }
            }
        }
        Catalogue { skills: found.into_values().collect(), problems }
    }

    /// The skill of this name, if there is one, or what is wrong with it.
    pub(crate) fn open(&self, name: &Name) -> Option<Result<Skill, Problem>> {
        let mut broken = None;
        for shelf in self.shelves() {
            if fs::symlink_metadata(shelf.1.join(name.as_str())).is_err() {
                continue;
            }
            match self.skill(name.as_str(), shelf) {
                Ok(skill) => return Some(Ok(skill)),
                Err(problem) => broken = broken.or(Some(problem)),
            }
        }
        broken.map(Err)
    }

    /// The skill of the home of this name, whether or not it can be used.
    pub(crate) fn at_home(&self, name: &Name) -> Option<SkillLocation> {
        let folder = Folder::open(&self.home().join(name.as_str()), None).ok()?;
        Some(SkillLocation {
            name: name.clone(),
            shelf: SkillScope::Home,
            is_in_home: true,
            folder,
        })
    }

    fn skill(
        &self,
        entry: &str,
        (on, folder, bound): (SkillScope, &Path, Option<&Path>),
    ) -> Result<Skill, Problem> {
        let path = folder.join(entry);
        let name = Name::parse(entry).ok_or_else(|| {
            Problem::of(
                path.clone(),
                SkillFlaw::of(format!("it cannot be the name of a skill: {RULE}")),
            )
        })?;
        let folder = Folder::open(&path, bound).map_err(|flaw| Problem::of(path, flaw))?;
        let is_in_home = on == SkillScope::Home || self.home().join(name.as_str()).is_dir();
        let located = SkillLocation { name, shelf: on, is_in_home, folder };
        let description = located.document()?.description;
        Ok(Skill { located, description })
    }
}

impl Catalogue {
    /// The name of a skill that is most like this.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.skills.iter().map(Skill::name))
    }

    /// Says on standard error what is wrong, and what hides what.
    pub(crate) fn tell(&self, session: &Session) {
        for problem in self.problems.iter().take(MAX_TOLD) {
            session.output.warn(format!("left out: {}", problem.line()));
        }
        if let Some(more @ 1..) = self.problems.len().checked_sub(MAX_TOLD) {
            session.output.warn(format!("{more} more; `agent skills list --json` has them all"));
        }
        for skill in self.skills.iter().filter(|skill| skill.is_hiding()) {
            let name = skill.name();
            session.output.note(format!("the skill {name} of the project hides that of the home"));
        }
    }
}

impl Skill {
    /// Whether a skill of the home is not seen because of this one.
    pub(crate) fn is_hiding(&self) -> bool {
        self.located.shelf == SkillScope::Project && self.located.is_in_home
    }
}

/// The folders in a folder of skills, in order. Those that begin with a dot are not skills.
fn names(folder: &Path, problems: &mut Vec<Problem>) -> Vec<String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let what = format!("it cannot be read: {error}");
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

/// What somebody is told who named a skill that is not there.
pub(crate) fn unknown(name: &str, catalogue: &Catalogue) -> String {
    let shown = printable(name);
    match catalogue.nearest(name) {
        Some(near) => format!("there is no skill `{shown}`; did you mean `{near}`?"),
        None => format!("there is no skill `{shown}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, description: &str) {
        let path = folder.join(name);
        fs::create_dir_all(&path).unwrap();
        let text = format!("---\nname: some\ndescription: {description}\n---\nDo it.\n");
        fs::write(path.join(SKILL_FILE), text).unwrap();
    }

    fn ground() -> (tempfile::TempDir, SkillFolders) {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("p/.agent/skills")).unwrap();
        let places = SkillFolders::of(root.join("home/skills"), Some(&root.join("p")), None);
        (folder, places)
    }

    #[test]
    fn a_skill_of_the_project_hides_one_of_the_home() {
        let (_folder, places) = ground();
        let project = places.project().unwrap().to_owned();
        write(places.home(), "both", "of home");
        write(places.home(), "mine", "of home");
        write(&project, "both", "of project");
        write(&project, "theirs", "of project");
        let catalogue = places.catalogue();
        let all: Vec<_> = catalogue
            .skills
            .iter()
            .map(|skill| (skill.name(), &*skill.description, skill.is_hiding()))
            .collect();
        let expected = [
            ("both", "of project", true),
            ("mine", "of home", false),
            ("theirs", "of project", false),
        ];
        assert_eq!(all, expected);
        assert!(catalogue.problems.is_empty());
        let record = SkillRecord::default();
        let from = |at: usize| catalogue.skills[at].located.provenance(&record).text();
        assert_eq!([from(0), from(1), from(2)], ["local", "local", "external"]);
        let key = catalogue.skills[2].located.key();
        assert!(key.ends_with("p/.agent/skills/theirs"), "{key}");
    }

    #[test]
    fn a_broken_skill_is_named_and_the_others_live() {
        let (_folder, places) = ground();
        write(places.home(), "good", "fine");
        write(places.home(), "Bad Name", "fine");
        write(places.home(), ".hidden", "fine");
        fs::create_dir_all(places.home().join("empty")).unwrap();
        fs::write(places.home().join("README.md"), "no skill").unwrap();
        write(places.home(), "torn", "[x");
        let catalogue = places.catalogue();
        assert_eq!(catalogue.skills.len(), 1);
        let lines: Vec<_> = catalogue.problems.iter().map(Problem::line).collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].contains("Bad Name: it cannot be the name of a skill"), "{lines:?}");
        assert!(lines[1].contains("empty/SKILL.md: there is no such file"), "{lines:?}");
        assert!(lines[2].contains("torn/SKILL.md:3: "), "{lines:?}");
    }

    #[test]
    fn a_broken_skill_of_the_project_hides_nothing() {
        let (_folder, places) = ground();
        write(places.home(), "both", "of home");
        write(places.project().unwrap(), "both", "[x");
        let catalogue = places.catalogue();
        assert_eq!((catalogue.skills.len(), catalogue.problems.len()), (1, 1));
        let both = Name::parse("both").unwrap();
        let opened = places.open(&both).unwrap().unwrap();
        assert_eq!(opened.description, "of home");
        fs::remove_dir_all(places.home().join("both")).unwrap();
        assert!(places.open(&both).unwrap().is_err());
        assert!(places.open(&Name::parse("none").unwrap()).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_skill_of_the_project_may_not_be_elsewhere() {
        let (folder, places) = ground();
        write(folder.path(), "away", "elsewhere");
        let project = places.project().unwrap();
        std::os::unix::fs::symlink(folder.path().join("away"), project.join("away")).unwrap();
        let catalogue = places.catalogue();
        assert!(catalogue.skills.is_empty());
        assert!(catalogue.problems[0].what.contains("leads out of the project"));
        fs::create_dir_all(places.home()).unwrap();
        std::os::unix::fs::symlink(folder.path().join("away"), places.home().join("away")).unwrap();
        assert_eq!(places.catalogue().skills.len(), 1, "a person's own link is fine");
    }

    #[test]
    fn there_is_an_end_to_skills() {
        let (_folder, places) = ground();
        for number in 0..=MAX_SKILLS {
            write(places.home(), &format!("s{number:04}"), "one of many");
        }
        let catalogue = places.catalogue();
        assert_eq!(catalogue.skills.len(), MAX_SKILLS);
        assert!(catalogue.problems[0].what.contains("`s0500` and those after it"));
    }

    #[test]
    fn there_is_an_end_to_a_folder_of_skills() {
        let (_folder, places) = ground();
        for number in 0..=MAX_ENTRIES {
            fs::create_dir_all(places.home().join(format!("s{number:04}"))).unwrap();
        }
        assert_eq!(names(places.home(), &mut Vec::new()).len(), MAX_ENTRIES);
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        let (_folder, places) = ground();
        write(places.home(), "review", "x");
        let catalogue = places.catalogue();
        assert_eq!(
            unknown("reviews", &catalogue),
            "there is no skill `reviews`; did you mean `review`?"
        );
        assert_eq!(unknown("../../etc", &catalogue), "there is no skill `../../etc`");
    }
}
