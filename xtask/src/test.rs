//! `cargo xtask test`: installs what the tests need, then runs all of them; the official MCP suite is
//! one of them unless tests are chosen.

use crate::conformance;
use crate::failure::Failure;
use crate::process;
use crate::setup::{self, Occasion};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    setup::run(workspace, Occasion::Test)?;
    run_suites(workspace, Profile::Default, arguments)
}

/// The tests themselves, on a machine that is already set up.
pub(crate) fn run_suites(
    workspace: &Workspace,
    profile: Profile,
    arguments: &[String],
) -> Result<(), Failure> {
    process::run(workspace.cargo().args(nextest_arguments(profile, arguments)))?;
    process::run(workspace.cargo().args(["test", "--doc", "--workspace"]))?;
    if arguments.is_empty() { conformance::run(workspace, &[]) } else { Ok(()) }
}

/// How many tests run at a time, and how much is told of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// For a person who waits.
    Default,
    /// For everything that a change must pass.
    Ci,
}

fn nextest_arguments(profile: Profile, arguments: &[String]) -> Vec<String> {
    let mut words = vec!["nextest", "run"];
    // Cargo ignores `--package` beside `--workspace`, so a chosen package replaces it.
    if !arguments.iter().any(|argument| chooses_package(argument)) {
        words.push("--workspace");
    }
    if profile == Profile::Ci {
        words.extend(["--profile", "ci"]);
    }
    words.into_iter().map(str::to_owned).chain(arguments.iter().cloned()).collect()
}

fn chooses_package(argument: &str) -> bool {
    let long = argument == "--package" || argument.starts_with("--package=");
    long || (argument.starts_with("-p") && !argument.starts_with("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(profile: Profile, arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        nextest_arguments(profile, &arguments).join(" ")
    }

    #[test]
    fn the_whole_workspace_is_tested_unless_a_package_is_chosen() {
        assert_eq!(line(Profile::Default, &[]), "nextest run --workspace");
        assert_eq!(line(Profile::Default, &["-p", "agent"]), "nextest run -p agent");
        assert_eq!(line(Profile::Default, &["--package=agent"]), "nextest run --package=agent");
    }

    #[test]
    fn the_ci_profile_and_further_arguments_are_passed_on() {
        assert_eq!(
            line(Profile::Ci, &["--no-capture", "parses"]),
            "nextest run --workspace --profile ci --no-capture parses"
        );
        assert_eq!(line(Profile::Default, &["--partition"]), "nextest run --workspace --partition");
    }
}
