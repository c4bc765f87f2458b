//! `cargo xtask chaos`: runs the service under load while its dependencies fail.

use crate::failure::{Failure, Result};
use crate::process;
use crate::setup::{self, Task};
use crate::workspace::Workspace;

const DEFAULT_MINUTES: u64 = 2;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let (minutes, options) = parse(arguments)?;
    setup::run(workspace, Task::Test)?;
    let mut words = vec!["--seconds".to_owned(), (minutes * 60).to_string()];
    words.extend_from_slice(options);
    start(workspace, &words)
}

/// Runs for two minutes, without setup.
pub(crate) fn run_short(workspace: &Workspace) -> Result {
    start(workspace, &["--seconds".to_owned(), (DEFAULT_MINUTES * 60).to_string()])
}

fn start(workspace: &Workspace, arguments: &[String]) -> Result {
    // The whole workspace, so that dependencies have the features of the test build.
    let build = ["build", "--workspace", "--bin", "agent", "--example", "chaos"];
    process::run(workspace.cargo().args(build))?;
    let folder = workspace.target_directory().join("debug");
    let mut command = std::process::Command::new(folder.join("examples/chaos"));
    process::run(command.arg("--program").arg(folder.join("agent")).args(arguments))
}

/// The minutes and the options of the program.
fn parse(arguments: &[String]) -> Result<(u64, &[String])> {
    match arguments.split_first() {
        Some((first, rest)) if !first.starts_with('-') => {
            let minutes = first.parse().map_err(|_| {
                Failure::usage(format!("`{first}` is not a number of minutes"))
                    .with_hint("cargo xtask chaos [MINUTES] [--kills N] [--seed N]")
            })?;
            Ok((minutes, rest))
        }
        _ => Ok((DEFAULT_MINUTES, arguments)),
    }
}

#[cfg(test)]
mod tests;
