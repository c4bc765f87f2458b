//! Tests of `catalogue`.

use super::*;

fn write(folder: &Path, name: &str, description: &str) {
    let path = folder.join(name);
    fs::create_dir_all(&path).unwrap();
    let text = format!("---\nname: some\ndescription: {description}\n---\nDo it.\n");
    fs::write(path.join(SKILL_FILE), text).unwrap();
}

fn fixture() -> (tempfile::TempDir, SkillFolders) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(root.join("p/.agent/skills")).unwrap();
    let places = SkillFolders::of(root.join("home/skills"), Some(&root.join("p")), None);
    (folder, places)
}

#[test]
fn project_skill_overrides_a_home_skill() {
    let (_folder, places) = fixture();
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
    let expected =
        [("both", "of project", true), ("mine", "of home", false), ("theirs", "of project", false)];
    assert_eq!(all, expected);
    assert!(catalogue.problems.is_empty());
    let record = SkillRecord::default();
    let from = |at: usize| catalogue.skills[at].located.provenance(&record).text();
    assert_eq!([from(0), from(1), from(2)], ["local", "local", "external"]);
    let key = catalogue.skills[2].located.key();
    assert!(key.ends_with("p/.agent/skills/theirs"), "{key}");
}

#[test]
fn broken_skills_are_reported_and_the_others_loaded() {
    let (_folder, places) = fixture();
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
    assert!(lines[0].contains("Bad Name: invalid skill name"), "{lines:?}");
    assert!(lines[1].contains("empty/SKILL.md: file not found"), "{lines:?}");
    assert!(lines[2].contains("torn/SKILL.md:3: "), "{lines:?}");
}

#[test]
fn a_broken_project_skill_does_not_override() {
    let (_folder, places) = fixture();
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

#[test]
fn project_skills_may_not_link_outside_the_project() {
    let (folder, places) = fixture();
    write(folder.path(), "away", "elsewhere");
    let project = places.project().unwrap();
    std::os::unix::fs::symlink(folder.path().join("away"), project.join("away")).unwrap();
    let catalogue = places.catalogue();
    assert!(catalogue.skills.is_empty());
    assert!(catalogue.problems[0].what.contains("to a place outside the project"));
    fs::create_dir_all(places.home()).unwrap();
    std::os::unix::fs::symlink(folder.path().join("away"), places.home().join("away")).unwrap();
    assert_eq!(places.catalogue().skills.len(), 1, "a person's own link is fine");
}

#[test]
fn the_number_of_skills_is_limited() {
    let (_folder, places) = fixture();
    for number in 0..=MAX_SKILLS {
        write(places.home(), &format!("s{number:04}"), "one of many");
    }
    let catalogue = places.catalogue();
    assert_eq!(catalogue.skills.len(), MAX_SKILLS);
    assert!(catalogue.problems[0].what.contains("`s0500` and the following ones"));
}

#[test]
fn the_entries_of_a_skill_folder_are_limited() {
    let (_folder, places) = fixture();
    for number in 0..=MAX_ENTRIES {
        fs::create_dir_all(places.home().join(format!("s{number:04}"))).unwrap();
    }
    assert_eq!(names(places.home(), &mut Vec::new()).len(), MAX_ENTRIES);
}

#[test]
fn unknown_skill_names_get_a_suggestion() {
    let (_folder, places) = fixture();
    write(places.home(), "review", "x");
    let catalogue = places.catalogue();
    assert_eq!(unknown("reviews", &catalogue), "no skill named `reviews`; did you mean `review`?");
    assert_eq!(unknown("../../etc", &catalogue), "no skill named `../../etc`");
}
