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
pub(crate) fn configure(bench: &TestHome, text: &str) {
    fs::create_dir_all(bench.home()).unwrap();
    fs::write(bench.home().join("config.yaml"), text).unwrap();
}

/// The configuration as it is now.
pub(crate) fn configuration(bench: &TestHome) -> String {
    fs::read_to_string(bench.home().join("config.yaml")).unwrap_or_default()
}

/// The profile's secrets as they are now.
pub(crate) fn env_file(bench: &TestHome) -> String {
    fs::read_to_string(bench.home().join(".env")).unwrap_or_default()
}

/// A text without the paths of this run.
pub(crate) fn plain(bench: &TestHome, text: &str) -> String {
    let home = bench.home().display().to_string();
    let work = bench.work().display().to_string();
    text.replace(&home, "[home]").replace(&work, "[work]")
}

/// A whole run.
pub(crate) fn transcript(bench: &TestHome, run: &ProgramOutput) -> String {
    plain(bench, &run.transcript())
}
