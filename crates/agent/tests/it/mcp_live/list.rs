//! `agent mcp list`: how servers are, once and for as long as one looks.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use agent_test_support::command::TestHome;
use agent_test_support::wait::eventually;
use serde_json::Value;

use super::{UNSTEADY, configure, configured, entry, steady, with_notes};
use crate::command_line::agent;

fn mixed() -> TestHome {
    configured(&format!(
        "mcp_servers:\n{}{}{}  gone:\n    command: /no/such/program\n",
        entry("notes", ""),
        entry("crash", "FIXTURE_MODE: crash"),
        entry("off", "") + "    enabled: false\n",
    ))
}

#[test]
fn a_failed_server_is_listed_without_failing_the_command() {
    let agent = mixed();
    let run = agent.run(["mcp", "list"]);
    insta::with_settings!({ filters => UNSTEADY.to_vec() }, {
        insta::assert_snapshot!(steady(&agent, &run));
    });
}

#[test]
fn the_configuration_can_be_shown_without_connecting() {
    let agent = mixed();
    let run = agent.run(["mcp", "list", "--no-connect"]);
    insta::assert_snapshot!(steady(&agent, &run));
    let json = agent.run(["mcp", "list", "--no-connect", "--json"]);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["servers"][2]["enabled"], false);
    assert!(!agent.home().join("logs").exists());
}

#[test]
fn configuration_errors_name_their_position_and_exit_with_3() {
    let agent = configured(&format!(
        "mcp_servers:\n{}    tiemout: 5\n  bad:\n    command: 5\n    url: [1]\n",
        entry("notes", "")
    ));
    let run = agent.run(["mcp", "list"]);
    insta::with_settings!({ filters => UNSTEADY.to_vec() }, {
        insta::assert_snapshot!(steady(&agent, &run));
    });
}

#[test]
fn without_servers_a_hint_is_printed() {
    let agent = agent();
    insta::assert_snapshot!(steady(&agent, &agent.run(["mcp", "list"])));
    assert!(!agent.home().exists());
}

#[test]
fn list_stops_waiting_after_the_given_time() {
    let agent = configured(&format!("mcp_servers:\n{}", entry("slow", "FIXTURE_MODE: hang")));
    let run = agent.run(["mcp", "list", "--wait", "1", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["servers"][0]["state"], "connecting");
    assert_eq!(document["problems"], Value::Array(Vec::new()));
}

/// A running `--watch` and what it has said so far.
struct Watching {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Watching {
    fn start(agent: &TestHome, more: &[&str]) -> Self {
        let mut command = agent.command(["mcp", "list", "--watch"]);
        let mut child = command.args(more).stdout(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().unwrap().push(line);
            }
        });
        Self { child, said }
    }

    fn hears(&self, wanted: &str) {
        eventually(wanted, || self.said.lock().unwrap().iter().any(|line| line.contains(wanted)));
    }

    fn interrupt(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // A test that fails must not leave it running; one that is over does not mind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watch_prints_changes_and_follows_the_configuration() {
    let agent = with_notes();
    let mut watching = Watching::start(&agent, &[]);
    watching.hears("notes: ready, 11 tools, about 526 tokens");
    configure(&agent, &format!("mcp_servers:\n{}{}", entry("notes", ""), entry("more", "")));
    watching.hears("configuration reloaded; added: more; unchanged: notes");
    watching.hears("more: ready");
    configure(&agent, "mcp_servers: [\n");
    watching.hears("the configuration was not reloaded: ");
    let changed = format!("mcp_servers:\n{}", entry("more", "X: \"1\""));
    configure(&agent, &changed);
    watching.hears("configuration reloaded; removed: notes; restarted: more");
    configure(&agent, &format!("{changed}    tools: {{include: [echo]}}\n"));
    watching.hears("configuration reloaded; updated without a restart: more");
    watching.hears("more: ready, 5 tools");
    assert_eq!(watching.interrupt(), Some(0));
}

#[test]
fn watch_prints_one_json_object_per_line() {
    let agent = with_notes();
    let mut watching = Watching::start(&agent, &["--json"]);
    watching.hears("\"state\":\"ready\"");
    configure(&agent, "mcp_servers: {}\n");
    watching.hears("\"event\":\"reloaded\"");
    let said = watching.said.lock().unwrap().clone();
    let events: Vec<Value> = said.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["removed"][0], "notes");
    assert_eq!(watching.interrupt(), Some(0));
}

#[test]
fn an_unready_required_server_exits_with_5() {
    let agent = configured("mcp_servers:\n  gone: {command: no-such-program, required: true}\n");
    let run = agent.run(["mcp", "list"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("required but not ready: gone"), "{run:?}");
}

#[test]
fn non_utf8_files_are_reported_with_their_line() {
    let agent = configured("mcp_servers: {}\n");
    std::fs::write(agent.home().join(".env"), b"A=1\nB=\xff\n").unwrap();
    let run = agent.run(["mcp", "doctor", "--offline"]);
    assert!(run.stdout.contains(".env:2") && run.stdout.contains("not UTF-8"), "{run:?}");
    std::fs::write(agent.home().join("config.yaml"), b"a: 1\n# \xff\n").unwrap();
    let run = agent.run(["mcp", "list"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("config.yaml:2: this line is not UTF-8"), "{run:?}");
}
