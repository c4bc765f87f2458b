//! Skills of a project.

use std::fs;

use agent_test_support::command::ProgramOutput;

use super::{SkillFixture, load, settings, transcript, write_skill};
use crate::command_line::agent;

#[test]
fn a_project_skill_overrides_with_a_note() {
    let house = SkillFixture::new();
    house.skill("review", "How I review", "Of home.");
    let project = house.agent.work().join(".agent/skills");
    write_skill(&project, "review", "How we review", "Of the project.");
    write_skill(&project, "local", "Only here", "Of the project.");
    let run = house.task(&[load("review"), load("local")]);
    assert_eq!(run.code, 0, "{run:?}");
    let note = "skill review of the project hides the one in the home folder";
    assert_eq!(run.stderr.matches(note).count(), 1, "{run:?}");
    assert!(house.opening().contains("- local: Only here\n- review: How we review"));
    for result in house.results() {
        assert!(result.ends_with("Of the project."), "{result}");
    }
    let usage = fs::read_to_string(house.agent.home().join("skills/.usage.json")).unwrap();
    assert!(usage.contains(".agent/skills/local\""), "{usage}");
    assert_eq!(usage.matches("\"uses\": 1").count(), 2, "{usage}");
}

#[test]
fn a_project_is_found_from_subfolders_and_accepts_skills() {
    let agent = agent();
    write_skill(agent.work(), "review", "How we review", "Look.");
    let deep = agent.work().join("project/src/deep");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(agent.work().join("project/.agent")).unwrap();
    let at =
        |arguments: &[&str]| ProgramOutput::of(agent.command(arguments).current_dir(&deep), b"");
    let installed = at(&["skills", "install", "../../../review", "--project"]);
    settings().bind(|| insta::assert_snapshot!(transcript(&agent, &installed)));
    assert!(agent.work().join("project/.agent/skills/review/SKILL.md").exists());
    let listed = at(&["skills", "list"]);
    settings().bind(|| insta::assert_snapshot!(transcript(&agent, &listed)));
    let elsewhere = agent.run(["skills", "list"]);
    assert!(elsewhere.stdout.starts_with("No skills"), "{elsewhere:?}");
    let refused = at(&["skills", "archive", "review"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("belongs to the project"), "{refused:?}");
}

#[test]
fn links_out_of_a_project_are_rejected() {
    use std::os::unix::fs::symlink;
    let agent = agent();
    write_skill(&agent.work().join("private"), "diary", "Mine", "Secret.");
    let project = agent.work().join("project");
    fs::create_dir_all(project.join(".agent/skills")).unwrap();
    symlink(agent.work().join("private/diary"), project.join(".agent/skills/diary")).unwrap();
    let run = ProgramOutput::of(agent.command(["skills", "list"]).current_dir(&project), b"");
    assert!(run.stdout.starts_with("No skills"), "{run:?}");
    assert!(run.stderr.contains("a link to a place outside the project"), "{run:?}");
}
