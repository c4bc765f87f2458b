//! Servers added, removed, switched and imported, and what stays of the configuration.

mod add;
mod files;
mod import;
mod registry;
mod remove;
mod secrets;
pub(crate) mod terminal;

use std::fs;

use agent_test_support::command::{ProgramOutput, TestHome};

/// Writes the configuration.
pub(crate) fn configure(agent: &TestHome, text: &str) {
    fs::create_dir_all(agent.home()).unwrap();
    fs::write(agent.home().join("config.yaml"), text).unwrap();
}

/// The configuration as it is now.
pub(crate) fn configuration(agent: &TestHome) -> String {
    fs::read_to_string(agent.home().join("config.yaml")).unwrap_or_default()
}

/// The profile's secrets as they are now.
pub(crate) fn env_file(agent: &TestHome) -> String {
    fs::read_to_string(agent.home().join(".env")).unwrap_or_default()
}

/// A text without the paths of this run.
pub(crate) fn plain(agent: &TestHome, text: &str) -> String {
    let home = agent.home().display().to_string();
    let work = agent.work().display().to_string();
    text.replace(&home, "[home]").replace(&work, "[work]")
}

/// A whole run.
pub(crate) fn transcript(agent: &TestHome, run: &ProgramOutput) -> String {
    plain(agent, &run.transcript())
}
