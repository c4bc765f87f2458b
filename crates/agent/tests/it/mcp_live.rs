//! Commands that talk to servers: a real server in a separate process.

mod call;
mod client_document;
mod doctor;
mod list;
mod logs;
mod processes;
mod project;
mod secrets;
mod server_tasks;
mod test_command;
mod tools;

use std::fs;
use std::path::PathBuf;

use agent_test_support::command::{ProgramOutput, TestHome};

use crate::command_line::agent;

/// Where the server of these tests is.
pub(crate) const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/server.py");

/// A bench with this configuration. `[server]` is replaced by the arguments that start the server.
pub(crate) fn configured(config: &str) -> TestHome {
    let agent = agent();
    configure(&agent, config);
    agent
}

/// Writes the configuration, all at once as an editor does.
pub(crate) fn configure(agent: &TestHome, config: &str) {
    fs::create_dir_all(agent.home()).unwrap();
    let fresh = agent.home().join("config.yaml.new");
    fs::write(&fresh, config.replace("[server]", &format!("[\"{SERVER}\"]"))).unwrap();
    fs::rename(fresh, agent.home().join("config.yaml")).unwrap();
}

/// One server under this name, with these variables.
pub(crate) fn entry(name: &str, variables: &str) -> String {
    format!("  {name}:\n    command: python3\n    args: [server]\n    env: {{{variables}}}\n")
}

/// A bench with one good server called `notes`.
pub(crate) fn with_notes() -> TestHome {
    configured(&format!("mcp_servers:\n{}", entry("notes", "")))
}

/// The file a server writes what happens to it to.
pub(crate) fn log(agent: &TestHome) -> PathBuf {
    agent.work().join("fixture.log")
}

/// What of it is the same in every run.
pub(crate) fn steady(agent: &TestHome, run: &ProgramOutput) -> String {
    without_paths(&run.transcript().replace(&agent.home().display().to_string(), "[home]"))
}

/// A text without the paths of this machine.
pub(crate) fn without_paths(text: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut text = text.replace(SERVER, "[server]").replace(&path, "[path]");
    let places = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    if let Some(python) = places.into_iter().find(|place| place.is_file()) {
        text = text.replace(&python.display().to_string(), "[python3]");
    }
    text
}

/// Times and numbers of processes, which differ from run to run.
pub(crate) const UNSTEADY: [(&str, &str); 4] = [
    (r"\(\d+ ms\)", "([time])"),
    (r"process \d+", "process [pid]"),
    (r"(?m)^(\w+ .*)  +\d+ s$", "$1  [since]"),
    (r"/\S*/agent-call-\w+", "[folder]"),
];
