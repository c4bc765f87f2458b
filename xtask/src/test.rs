//! `cargo xtask test`: installs requirements while it builds, and runs all tests, with the official
//! MCP suite unless tests are selected.

use std::thread;

use crate::conformance;
use crate::failure::Result;
use crate::process;
use crate::setup::Installation;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    thread::scope(|scope| {
        let installation = Installation::start(scope, workspace)?;
        // Arguments for a run may not fit a build.
        if arguments.is_empty() {
            process::run(workspace.cargo().args(["nextest", "run", "--workspace", "--no-run"]))?;
        }
        installation.wait()
    })?;
    run_suites(workspace, Profile::Default, arguments)
}

/// Runs the tests without setup.
pub(crate) fn run_suites(workspace: &Workspace, profile: Profile, arguments: &[String]) -> Result {
    process::run(workspace.cargo().args(nextest_arguments(profile, arguments)))?;
    process::run(workspace.cargo().args(["test", "--doc", "--workspace"]))?;
    if arguments.is_empty() { conformance::run(workspace, &[]) } else { Ok(()) }
}

/// The profile of nextest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Default,
    Ci,
}

fn nextest_arguments(profile: Profile, arguments: &[String]) -> Vec<String> {
    let mut words = vec!["nextest", "run"];
    // Cargo ignores `--package` together with `--workspace`.
    if !arguments.iter().any(|argument| selects_package(argument)) {
        words.push("--workspace");
    }
    if profile == Profile::Ci {
        words.extend(["--profile", "ci"]);
    }
    words.into_iter().map(str::to_owned).chain(arguments.iter().cloned()).collect()
}

fn selects_package(argument: &str) -> bool {
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
    fn workspace_is_tested_unless_a_package_is_selected() {
        assert_eq!(line(Profile::Default, &[]), "nextest run --workspace");
        assert_eq!(line(Profile::Default, &["-p", "agent"]), "nextest run -p agent");
        assert_eq!(line(Profile::Default, &["--package=agent"]), "nextest run --package=agent");
    }

    #[test]
    fn ci_profile_and_further_arguments_are_passed_on() {
        assert_eq!(
            line(Profile::Ci, &["--no-capture", "parses"]),
            "nextest run --workspace --profile ci --no-capture parses"
        );
        assert_eq!(line(Profile::Default, &["--partition"]), "nextest run --workspace --partition");
    }
}
