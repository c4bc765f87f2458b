//! Tests of `listing`.

use std::fs;

use super::*;
use crate::skills::folders::SkillFolders;

fn skills(count: usize, name: &str, description: &str) -> (tempfile::TempDir, Vec<Skill>) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("skills");
    for number in 0..count {
        let path = home.join(format!("{name}{number:03}"));
        fs::create_dir_all(&path).unwrap();
        let text = format!("---\nname: a\ndescription: {description}\n---\nDo it.\n");
        fs::write(path.join("SKILL.md"), text).unwrap();
    }
    let skills = SkillFolders::of(home, None, None).catalogue().skills;
    (folder, skills)
}

#[test]
fn every_skill_is_listed_on_one_line() {
    assert_eq!(text(&[]), None);
    let (_folder, skills) = skills(2, "a", "\"Does\\n- b: it\\e[2J\"");
    let text = text(&skills).unwrap();
    assert!(text.ends_with("skills:\n- a000: Does - b: it[2J\n- a001: Does - b: it[2J"), "{text}");
}

#[test]
fn long_lists_are_shortened() {
    let (_folder, few) = skills(60, "a", &"word ".repeat(100));
    let lines = lines(&few);
    assert!(lines.len() <= MAX_BYTES && lines.lines().count() == 60);
    assert!(lines.lines().all(|line| line.ends_with('…')), "{lines}");
    let (_folder, many) = skills(400, &"a".repeat(60), "x");
    let lines = super::lines(&many);
    assert!(lines.len() < MAX_BYTES + 100);
    assert!(lines.contains(" more are not listed"), "{lines}");
}

#[test]
fn lines_are_truncated_at_character_boundaries() {
    assert_eq!(one_line(" a\n b\x07 ", 10), "a b");
    assert_eq!(one_line("äöü äöü", 5), "äöü…");
    assert_eq!((one_line("abc", 3), one_line("abc", 0)), ("abc".into(), String::new()));
}
