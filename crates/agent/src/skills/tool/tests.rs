//! Tests of `tool`.

use std::fs;

use mcp_client::redact::Redactor;
use usage_metrics::clock::SystemClock;
use usage_metrics::recorder::Recorder;

use super::*;
use crate::mcp::reporter::MessageSink;
use crate::output::{Color, Output, Style, Volume};
use task_loop::Sanitizer;

#[test]
fn long_file_lists_are_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let places = SkillFolders::of(folder.path().join("skills"), None, None);
    let skill = places.home().join("a");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: a\ndescription: x\n---\nDo it.\n").unwrap();
    for number in 0..MAX_FILES_NAMED + 2 {
        fs::write(skill.join(format!("f{number:02}")), "x").unwrap();
    }
    let output = Output::new(Style::Human, Volume::Quiet, Color::Never);
    let shown = Sanitizer::new(Arc::new(Redactor::default()));
    let reporter = Reporter::new(output, shown, MessageSink::Kept);
    let log = SkillLog::new(&places, Recorder::off(), Arc::new(SystemClock));
    let tool = LoadSkill { places, log, reporter };
    let text = tool.load(&json!({"name": "a"})).unwrap();
    assert!(text.contains(", f49 and 2 more]\n\nDo it."), "{text}");
    assert!(!text.contains("f50"), "{text}");
    assert_eq!(tool.load(&json!({"name": "a", "file": "f51"})).unwrap(), "x");
    assert!(tool.load(&json!({"name": "a", "file": 5})).is_err());
}

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
    assert_eq!(listing(&[]), None);
    let (_folder, skills) = skills(2, "a", "\"Does\\n- b: it\\e[2J\"");
    let text = listing(&skills).unwrap();
    assert!(text.ends_with("skills:\n- a000: Does - b: it[2J\n- a001: Does - b: it[2J"), "{text}");
}

#[test]
fn long_lists_are_shortened() {
    let (_folder, few) = skills(60, "a", &"word ".repeat(100));
    let lines = lines(&few);
    assert!(lines.len() <= MAX_LIST_BYTES && lines.lines().count() == 60);
    assert!(lines.lines().all(|line| line.ends_with('…')), "{lines}");
    let (_folder, many) = skills(400, &"a".repeat(60), "x");
    let lines = super::lines(&many);
    assert!(lines.len() < MAX_LIST_BYTES + 100);
    assert!(lines.contains(" more are not listed"), "{lines}");
}

#[test]
fn lines_are_truncated_at_character_boundaries() {
    assert_eq!(one_line(" a\n b\x07 ", 10), "a b");
    assert_eq!(one_line("äöü äöü", 5), "äöü…");
    assert_eq!((one_line("abc", 3), one_line("abc", 0)), ("abc".into(), String::new()));
}
