//! Tests of `folders`.

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
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
fn the_nearest_marked_folder_is_the_project() {
    let fixture = Fixture::new(&["me/a/.agent", "me/a/b/c", "me/a/x/.agent", "me/.agent"]);
    for (here, project) in [
        ("me/a", Some("me/a/.agent/skills")),
        ("me/a/b/c", Some("me/a/.agent/skills")),
        ("me/a/x", Some("me/a/x/.agent/skills")),
        ("me", None),
    ] {
        assert_eq!(fixture.project("me/.agent", here).as_deref(), project, "{here}");
    }
}

#[test]
fn the_home_folder_and_its_parents_are_no_projects() {
    let fixture = Fixture::new(&[".agent", "me/.agent", "me/work", "other"]);
    assert_eq!(fixture.project("elsewhere", "me/work"), None);
    assert_eq!(fixture.project("me/.agent/profiles/x", "me/work"), None);
    assert_eq!(fixture.project("elsewhere", "other").as_deref(), Some(".agent/skills"));
}

#[test]
fn the_home_of_a_profile_is_not_a_project() {
    let fixture = Fixture::new(&["a/.agent/profiles/x", "a/b"]);
    assert_eq!(fixture.project("a/.agent", "a/b"), None);
    assert_eq!(fixture.project("a/.agent/profiles/x", "a"), None);
    assert!(fixture.places("a/.agent", "a").project_to_be().is_err());
    assert!(fixture.places("a/.agent", "me").project_to_be().is_err());
    let begun = fixture.places("a/.agent", "a/b").project_to_be().unwrap();
    assert!(begun.ends_with("a/b/.agent/skills"), "{begun:?}");
}

#[test]
fn project_search_depth_is_limited() {
    let deep = format!("p/{}", vec!["d"; MAX_LEVELS].join("/"));
    let fixture = Fixture::new(&["p/.agent", &deep]);
    assert_eq!(fixture.project("home", &deep), None);
    assert!(fixture.project("home", deep.rsplit_once('/').unwrap().0).is_some());
}
