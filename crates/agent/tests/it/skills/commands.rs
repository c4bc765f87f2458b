//! `agent skills …`: what each command says and does.

use std::fs;
use std::process::{Command, Stdio};

use agent_test_support::command::{ProgramOutput, TestHome};
use serde_json::Value;

use super::{settings, transcript, write_skill};
use crate::command_line::agent;

/// Runs `agent skills …`.
fn skills<const N: usize>(agent: &TestHome, arguments: [&str; N]) -> ProgramOutput {
    agent.run(["skills"].iter().chain(&arguments))
}

fn snapshot<const N: usize>(agent: &TestHome, name: &str, arguments: [&str; N]) {
    let run = skills(agent, arguments);
    settings().bind(|| insta::assert_snapshot!(name, transcript(agent, &run)));
}

fn json<const N: usize>(agent: &TestHome, arguments: [&str; N]) -> Value {
    let run = agent.run(["skills", "--json"].iter().chain(&arguments));
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// A folder with a skill that has further files.
fn source() -> TestHome {
    let agent = agent();
    let body = "# Review\n\nLook at the tests first.\u{1b}[2J";
    let about = "How changes are reviewed here, which is longer than a row of the table may be";
    write_skill(agent.work(), "review", about, body);
    let folder = agent.work().join("review");
    fs::create_dir(folder.join("more")).unwrap();
    fs::write(folder.join("more/list.txt"), "1. names\n").unwrap();
    fs::create_dir(folder.join(".git")).unwrap();
    fs::write(folder.join(".git/config"), "x").unwrap();
    agent
}

#[test]
fn a_skill_is_installed_listed_shown_archived_and_restored() {
    let agent = source();
    snapshot(&agent, "install", ["install", "review"]);
    snapshot(&agent, "list", ["list"]);
    snapshot(&agent, "show", ["show", "review"]);
    snapshot(&agent, "install_again", ["install", "review"]);
    snapshot(&agent, "install_named", ["install", "review", "--name", "careful"]);
    snapshot(&agent, "show_named", ["show", "careful"]);
    fs::write(agent.work().join("review/new.txt"), "x").unwrap();
    snapshot(&agent, "install_forced", ["install", "review", "--force"]);
    snapshot(&agent, "archive", ["archive", "careful"]);
    snapshot(&agent, "list_with_archived", ["list"]);
    snapshot(&agent, "archive_unknown", ["archive", "reviews"]);
    snapshot(&agent, "restore", ["restore", "careful"]);
    snapshot(&agent, "restore_unknown", ["restore", "careful"]);
    snapshot(&agent, "path", ["path"]);
    snapshot(&agent, "path_of_one", ["path", "review"]);
}

#[test]
fn every_skill_command_has_json_output() {
    let agent = source();
    let installed = json(&agent, ["install", "review"]);
    assert_eq!(installed["files"].as_array().unwrap().len(), 2, "{installed}");
    assert_eq!(installed["replaced"], false);
    write_skill(&agent.home().join("skills"), "torn", "[x", "y");
    let listed = json(&agent, ["list"]);
    assert_eq!(listed["skills"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["skills"][0]["state"], "active");
    assert!(listed["skills"][0]["installed_from"].as_str().unwrap().ends_with("/review"));
    assert!(listed["problems"][0]["path"].as_str().unwrap().ends_with("torn/SKILL.md"));
    assert!(listed["problems"][0]["line"].is_u64(), "{listed}");
    let shown = json(&agent, ["show", "review"]);
    assert_eq!(shown["files"], serde_json::json!(["more/list.txt"]));
    assert!(shown["body"].as_str().unwrap().starts_with("# Review"));
    assert_eq!(json(&agent, ["archive", "review"])["archived"], "review");
    assert_eq!(json(&agent, ["list"])["archived"], serde_json::json!(["review"]));
    assert_eq!(json(&agent, ["restore", "review"])["restored"], "review");
    assert!(json(&agent, ["path"])["home"].as_str().unwrap().ends_with("agent-home/skills"));
    assert!(json(&agent, ["path", "review"])["path"].as_str().unwrap().ends_with("skills/review"));
    let failed = agent.run(["skills", "show", "none", "--json"]);
    let failed: Value = serde_json::from_str(&failed.stderr).unwrap();
    assert_eq!(failed["error"]["kind"], "usage", "{failed}");
}

#[test]
fn without_skills_a_hint_is_printed_and_nothing_created() {
    let agent = agent();
    snapshot(&agent, "list_nothing", ["list"]);
    assert_eq!(skills(&agent, ["path"]).code, 0);
    assert!(!agent.home().exists());
}

#[test]
fn broken_skills_are_listed_separately() {
    let agent = agent();
    let home = agent.home().join("skills");
    write_skill(&home, "good", "Fine", "Look.");
    write_skill(&home, "torn", "\"no end", "Look.");
    write_skill(&home, "Loud", "Fine", "Look.");
    fs::create_dir_all(home.join("empty")).unwrap();
    fs::create_dir_all(home.join("plain")).unwrap();
    fs::write(home.join("plain/SKILL.md"), "# No front matter\n").unwrap();
    fs::create_dir_all(home.join("big")).unwrap();
    fs::write(home.join("big/SKILL.md"), "x".repeat(300 * 1024)).unwrap();
    snapshot(&agent, "list_broken", ["list"]);
    for number in 0..7 {
        fs::create_dir_all(home.join(format!("none-{number}"))).unwrap();
    }
    let run = skills(&agent, ["list"]);
    assert_eq!(run.stderr.matches("warning: skipped: ").count(), 10, "{run:?}");
    assert!(
        run.stderr.contains("warning: 2 more; list all of them with `agent skills list --json`"),
        "{run:?}"
    );
    snapshot(&agent, "show_broken", ["show", "plain"]);
    snapshot(&agent, "show_unknown", ["show", "goood"]);
}

#[test]
fn an_invalid_record_hides_no_skill() {
    let agent = source();
    assert_eq!(skills(&agent, ["install", "review"]).code, 0);
    fs::write(agent.home().join("skills/.usage.json"), "{").unwrap();
    for command in [["list", "--no-color"], ["show", "review"]] {
        let run = skills(&agent, command);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stdout.contains("review"), "{run:?}");
        assert!(
            run.stderr.contains("warning: cannot read the usage record: cannot parse"),
            "{run:?}"
        );
    }
    snapshot(&agent, "archive_unreadable_record", ["archive", "review"]);
    assert!(agent.home().join("skills/review/SKILL.md").exists());
}

#[test]
fn invalid_skill_names_are_rejected_by_every_command() {
    let agent = source();
    fs::create_dir_all(agent.home().join("skills")).unwrap();
    for name in ["../review", "/etc", "..", ".archive", "a/b", "A", "x\u{1b}[2J"] {
        for command in ["show", "archive", "restore", "path"] {
            let run = skills(&agent, [command, name]);
            assert_eq!(run.code, 2, "{command} {name}: {run:?}");
            assert!(run.stderr.contains("is not a valid skill name"), "{run:?}");
            assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
        }
        let run = skills(&agent, ["install", "review", "--name", name]);
        assert_eq!(run.code, 2, "{name}: {run:?}");
    }
    assert_eq!(fs::read_dir(agent.home().join("skills")).unwrap().count(), 0);
    assert!(agent.work().join("review/SKILL.md").exists());
}

#[test]
fn a_folder_with_a_symlink_is_not_installed() {
    let agent = source();
    std::os::unix::fs::symlink("/etc/passwd", agent.work().join("review/zz")).unwrap();
    snapshot(&agent, "install_link", ["install", "review"]);
    assert!(!agent.home().join("skills").exists());
    snapshot(&agent, "install_nothing", ["install", "no-such-folder"]);
}

#[test]
fn archive_and_restore_overwrite_nothing() {
    let agent = source();
    let home = agent.home().join("skills");
    assert_eq!(skills(&agent, ["install", "review"]).code, 0);
    assert_eq!(skills(&agent, ["archive", "review"]).code, 0);
    write_skill(&home, "review", "Another", "Another.");
    for command in ["archive", "restore"] {
        let run = skills(&agent, [command, "review"]);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains("hint: rename or remove "), "{run:?}");
    }
    let text = |path: &str| fs::read_to_string(home.join(path)).unwrap();
    assert!(text("review/SKILL.md").contains("Another."));
    assert!(text(".archive/review/SKILL.md").contains("# Review"));
}

#[test]
fn a_closed_stdout_is_not_a_failure() {
    let agent = source();
    assert_eq!(skills(&agent, ["install", "review"]).code, 0);
    let mut child = agent
        .command(["skills", "show", "review"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn one_of_many_concurrent_installations_succeeds() {
    let agent = source();
    let start = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> =
        (0..4).map(|_| start(&mut agent.command(["skills", "install", "review"]))).collect();
    let done = children.into_iter().map(|mut child| child.wait().unwrap().success());
    assert_eq!(done.filter(|done| *done).count(), 1);
    let left = fs::read_dir(agent.home().join("skills")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".install")), "{left:?}");
}

#[test]
fn every_command_has_a_help_page_with_examples() {
    let agent = agent();
    for command in ["list", "show", "install", "archive", "restore", "path"] {
        let help = skills(&agent, [command, "--help"]);
        let example = format!("  agent skills {command}");
        assert!(help.stdout.contains("Examples:") && help.stdout.contains(&example), "{command}");
    }
}
