//! `/reload-mcp`: changes are listed first, programs are asked about, and the rest keeps running.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use agent_test_support::mcp::ServerCommand;
use serde_json::json;

use super::{Fixture, Screen, entry, says};

/// The small server of the commands' tests, which writes down what happens to it.
fn notes(fixture: &Fixture, name: &str) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py");
    let launch =
        ServerCommand { command: "python3".into(), args: vec![script.to_owned()], env: Vec::new() };
    let log = fixture.agent.work().join(format!("{name}.log"));
    entry(name, &launch, &format!("    env: {{FIXTURE_LOG: {}}}\n", log.display()))
}

fn started(fixture: &Fixture, name: &str) -> usize {
    let log = fs::read_to_string(fixture.agent.work().join(format!("{name}.log")));
    log.unwrap_or_default().matches("started ").count()
}

fn leave(mut person: Screen) {
    person.types("\x04");
    let (code, screen) = person.finish();
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn reload_adds_and_removes_servers_and_keeps_unchanged_ones() {
    let fixture = Fixture::new();
    let (stays, goes, comes) =
        (notes(&fixture, "stays"), notes(&fixture, "goes"), notes(&fixture, "comes"));
    fixture.configure(&format!("{stays}{goes}"));
    let mut person = fixture.person_with_servers(&["--yes"]);
    fixture.configure(&format!("{stays}{comes}"));
    let (prompts, row) = person.here();
    person.enters("/reload-mcp").sees("Start it? [y/N]");
    let plan = person.text().lines().skip(row + 1).collect::<Vec<_>>().join("\n");
    for line in ["  added      comes", "  removed    goes", "  unchanged  stays", "FIXTURE_LOG"] {
        assert!(plan.contains(line), "{plan}");
    }
    assert_eq!(started(&fixture, "comes"), 0, "nothing starts before the yes");
    person.types("y\n").awaits_prompt(prompts + 1);
    let tools = person.says("/tools");
    assert!(tools.contains("comes") && tools.contains("stays"), "{tools}");
    assert!(!tools.contains("goes"), "{tools}");
    assert_eq!((started(&fixture, "stays"), started(&fixture, "comes")), (1, 1));
    let again = person.says("/reload-mcp");
    assert_eq!(again, "nothing changed");
    leave(person);
}

#[test]
fn declining_a_new_command_changes_nothing() {
    let fixture = Fixture::new();
    let (notes, other) = (notes(&fixture, "notes"), notes(&fixture, "other"));
    fixture.configure(&notes);
    let mut person = fixture.person_with_servers(&[]);
    let changed = notes.replace("FIXTURE_LOG", "OTHER: x, FIXTURE_LOG");
    fixture.configure(&format!("{changed}{other}"));
    let (prompts, _) = person.here();
    person.enters("/reload-mcp").sees("Start it? [y/N]");
    person.types("n\n").sees_times("Start it? [y/N]", 2);
    person.types("\n").awaits_prompt(prompts + 1);
    person.sees("`notes` was not reloaded").sees("`other` was not reloaded");
    let servers = person.says("/mcp");
    assert!(servers.contains("notes") && !servers.contains("other"), "{servers}");
    assert_eq!((started(&fixture, "notes"), started(&fixture, "other")), (1, 0));
    leave(person);
}

#[test]
fn policy_changes_are_applied_without_confirmation() {
    let fixture = Fixture::new();
    let notes = notes(&fixture, "notes");
    fixture.configure(&notes);
    let mut person = fixture.person_with_servers(&[]);
    fixture.configure(&format!("{notes}    tools: {{include: [echo]}}\n"));
    let shown = person.says("/reload-mcp");
    assert!(shown.contains("updated    notes"), "{shown}");
    let tools = person.says("/tools");
    assert!(tools.contains("echo") && !tools.contains("write-note"), "{tools}");
    assert_eq!(started(&fixture, "notes"), 1);
    leave(person);
}

#[test]
fn an_invalid_configuration_changes_no_server() {
    let fixture = Fixture::new();
    fixture.configure(&notes(&fixture, "notes"));
    let mut person = fixture.person_with_servers(&[]);
    fs::write(fixture.agent.home().join("config.yaml"), "mcp_servers: [\n").unwrap();
    let shown = person.says("/reload-mcp");
    assert!(shown.contains("error:"), "{shown}");
    assert!(person.says("/mcp").contains("notes"));
    leave(person);
}

#[test]
fn new_commands_are_skipped_without_a_terminal() {
    let fixture = Fixture::new();
    let path = fixture.agent.home().join("config.yaml");
    let before = fs::read_to_string(&path).unwrap();
    // The first message is answered before the second line is looked at.
    fixture.configure(&notes(&fixture, "notes"));
    let after = fs::read_to_string(&path).unwrap();
    fs::write(&path, before).unwrap();
    let mut child = fixture
        .command(&["--json", "--yes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"ready\""));
    fs::write(&path, after).unwrap();
    child.stdin.take().unwrap().write_all(b"/reload-mcp\n/mcp\n").unwrap();
    let reloaded: serde_json::Value =
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(reloaded["refused"], serde_json::json!(["notes"]));
    assert_eq!(reloaded["added"], serde_json::json!([]));
    assert!(lines.next().unwrap().unwrap().contains("\"servers\":[]"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(started(&fixture, "notes"), 0);
}

#[test]
fn a_project_file_that_changes_under_a_conversation_needs_approval_again() {
    let fixture = Fixture::new();
    let file = fixture.agent.work().join(".mcp.json");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py");
    let write = |name: &str| {
        let log = fixture.agent.work().join(format!("{name}.log"));
        let server = json!({"command": "python3", "args": [script], "env": {"FIXTURE_LOG": log}});
        fs::write(&file, json!({"mcpServers": {"local": server}}).to_string()).unwrap();
    };
    write("good");
    assert_eq!(fixture.agent.run(["mcp", "project", "--approve", "--yes"]).code, 0);
    let mut person = fixture.person_with_servers(&[]);
    assert_eq!(started(&fixture, "good"), 1);
    write("evil");
    let told = person.says("/reload-mcp");
    assert!(told.contains("are not used; approve them"), "{told}");
    assert!(!person.says("/mcp").contains("local"), "it is not used any more");
    assert_eq!(started(&fixture, "evil"), 0);
    leave(person);
}

#[test]
fn a_conversation_is_not_idle_between_a_reload_and_a_waiting_message() {
    let fixture = Fixture::new();
    fixture.script(vec![says("Hello.")]);
    let reload = json!({"type": "reload", "confirmed": []});
    let message = json!({"type": "message", "text": "Hi"});
    let run = fixture.piped(&["--json", "--attended"], &format!("{reload}\n{message}\n"));
    let types = run.stdout.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["type"].as_str().unwrap().to_owned()
    });
    let types: Vec<String> = types.filter(|it| it != "text").collect();
    assert_eq!(types, ["ready", "idle", "reloaded", "asking", "finished", "idle"], "{run:?}");
}
