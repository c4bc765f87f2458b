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
