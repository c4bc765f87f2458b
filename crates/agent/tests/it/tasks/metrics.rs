//! What an afternoon of work leaves in the metrics: a package with all nine kinds.

use std::fs;

use agent_test_support::upstream::Step;
use serde_json::{Value, json};

use super::{Setup, call, notes, say, text};

/// What depends on how busy the machine is.
const VARYING: [&str; 2] = ["duration_bucket", "latency_bucket"];

#[test]
fn a_session_of_several_tasks_has_the_expected_package() {
    let setup = Setup::with_servers(&notes("    trust: untrusted\n"));
    assert_eq!(setup.agent(&["metrics", "on"]).code, 0);
    let folder = setup.fixture.agent.work().join("greet");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), "---\nname: greet\ndescription: How to greet.\n---\nHi!\n")
        .unwrap();
    let folder = folder.display().to_string();
    assert_eq!(setup.agent(&["skills", "install", &folder]).code, 0);
    let skill = json!({"name": "greet"});
    setup.script(vec![
        // A task with two tools, one of which is approved.
        call("mcp__notes__echo", &text("a")),
        call("mcp__notes__write_note", &text("b")),
        say("Done."),
        // One that only talks.
        say("Hello."),
        // One that is denied what it wants.
        call("mcp__notes__write_note", &text("c")),
        call("mcp__notes__write_note", &text("c")),
        call("mcp__notes__write_note", &text("c")),
        // One that loads a skill, twice, and calls a tool that fails and one that is not there.
        call("load_skill", &skill),
        call("load_skill", &skill),
        call("mcp__notes__fail", &json!({})),
        call("nothing", &json!({})),
        say("Hi!"),
        // One whose model refuses, and one that goes round and round.
        Step::Status(400),
        call("mcp__notes__echo", &text("again")),
        call("mcp__notes__echo", &text("again")),
        // Two of a file.
        say("1"),
        say("2"),
    ]);
    assert_eq!(setup.run(&["--approve", "notes", "One"]).code, 0);
    assert_eq!(setup.run(&["--no-tools", "Two"]).code, 0);
    assert_eq!(setup.run(&["Three"]).code, 1);
    assert_eq!(setup.run(&["--approve", "notes", "Four"]).code, 0);
    assert_ne!(setup.run(&["--no-tools", "Five"]).code, 0);
    assert_eq!(setup.run(&["--max-rounds", "2", "Six"]).code, 1);
    let tasks = setup.fixture.agent.work().join("tasks");
    fs::write(&tasks, "seven\neight\n").unwrap();
    let tasks = tasks.display().to_string();
    assert_eq!(setup.run(&["--no-tools", "--jobs", "1", "--batch", &tasks]).code, 0);
    assert_eq!(setup.agent(&["skills", "archive", "greet"]).code, 0);

    let run = setup.agent(&["metrics", "package", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let outbox = setup.fixture.agent.home().join("metrics/outbox");
    let files: Vec<_> = fs::read_dir(outbox).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let path = files[0].display().to_string();
    assert_eq!(setup.agent(&["metrics", "validate", &path]).code, 0);
    assert_eq!(setup.agent(&["metrics", "lint", &path]).code, 0);
    let package: Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    insta::assert_snapshot!(steady(package));
}

/// The package as it would be on every machine: entries that differ only in how long something took
/// are added up.
fn steady(mut package: Value) -> String {
    for key in ["package_id", "install_id", "period_start", "period_end", "generated_at"] {
        assert!(package[key].is_string(), "{key}");
        package[key] = json!("…");
    }
    package["resource"] = json!("…");
    let mut merged: Vec<Value> = Vec::new();
    for mut metric in package["metrics"].as_array().unwrap().clone() {
        for varying in VARYING {
            if let Some(bucket) = metric["dimensions"].get_mut(varying) {
                *bucket = json!("…");
            }
        }
        let is_same = |known: &&mut Value| {
            known["name"] == metric["name"] && known["dimensions"] == metric["dimensions"]
        };
        match merged.iter_mut().find(is_same) {
            Some(known) => {
                let sum = known["value"].as_u64().unwrap() + metric["value"].as_u64().unwrap();
                known["value"] = json!(sum);
            }
            None => merged.push(metric),
        }
    }
    merged.sort_by_key(|metric| format!("{} {}", metric["name"], metric["dimensions"]));
    let kinds: std::collections::BTreeSet<String> =
        merged.iter().map(|metric| metric["name"].to_string()).collect();
    assert_eq!(kinds.len(), 9, "{kinds:?}");
    package["metrics"] = json!(merged);
    serde_json::to_string_pretty(&package).unwrap() + "\n"
}
