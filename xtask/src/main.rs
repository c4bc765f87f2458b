//! The task runner of this workspace: `cargo xtask COMMAND`, one module per command.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task runner talks to the terminal"
)]

mod bench;
mod chaos;
mod ci;
mod conformance;
mod dist;
mod docs;
mod failure;
mod fuzz;
mod process;
mod setup;
mod test;
mod tidy;
mod workspace;

use std::env;
use std::process::ExitCode;

use failure::{Failure, Result};
use workspace::Workspace;

const HELP: &str = "\
The task runner of this workspace.

Usage: cargo xtask <COMMAND> [ARGUMENTS]

Commands:
  ci [--keep-going]       Everything a change must pass: setup, fmt, tidy, clippy, docs, test, chaos;
                          stops at the first failure without `--keep-going`
  test [NEXTEST ARGS]     Install what the tests need, then run all tests and documentation tests
  fuzz [SECONDS]          Run every fuzz target for SECONDS [default: 20]
  bench [AREA] [ARGS]     Measure one area, or all of them (areas: metrics, mcp,
                          gateway, services, peers, agent, local)
  chaos [MINUTES] [--kills N] [--seed N]
                          Kill and disturb the service under load, and audit its ledger [default: 2]
  conformance [WHAT]      Test the MCP client with the official suite: all scenarios without
                          authorization, or `--requirements VERSION`, or `--scenario NAME ...`
  dist [--check] [--binary FILE] [--generator FILE] [--key FILE] [--allow-dirty]
                          Make the artifacts that users install, in target/dist/packages;
                          `--check` installs and runs each, `--key` signs a manifest of them
  docs [--check|images]   Write the reference pages made from the code, compare them, or make pictures
  tidy                    Check the rules of the project: sources, arrows, documents, commands, text
  help, --help            Print this text

Examples:
  cargo xtask ci
  cargo xtask test -p usage-metrics
  cargo xtask fuzz 300
  cargo xtask bench metrics
  cargo xtask chaos 20 --kills 1000
  cargo xtask conformance --scenario tools_call
  cargo xtask dist --check --binary target/release/agent

Exit codes: 0 success, 1 failure, 2 usage.
";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn dispatch(arguments: &[String]) -> Result {
    let Some((command, rest)) = arguments.split_first() else {
        return Err(Failure::usage("no command was given"));
    };
    if is_help(command) || rest.first().is_some_and(|first| is_help(first)) {
        print!("{HELP}");
        return Ok(());
    }
    let run = match command.as_str() {
        "ci" => ci::run,
        "test" => test::run,
        "fuzz" => fuzz::run,
        "bench" => bench::run,
        "chaos" => chaos::run,
        "conformance" => conformance::run,
        "dist" => dist::run,
        "docs" => docs::run,
        "tidy" => tidy::run,
        unknown => return Err(Failure::usage(format!("there is no command `{unknown}`"))),
    };
    run(&Workspace::load()?, rest)
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "help" | "--help" | "-h")
}

#[cfg(test)]
mod tests;
