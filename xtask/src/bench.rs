//! `cargo xtask bench`: runs the benchmarks of one area, or of all.

use crate::failure::{Failure, Result};
use crate::process;
use crate::setup::{self, PeerFolders, Task};
use crate::workspace::Workspace;

const PROFILE: &str = "dist";

/// Bench targets that print their own tables.
struct Area {
    name: &'static str,
    /// Package and target of each benchmark.
    benches: &'static [(&'static str, &'static str)],
    /// Package, kind and name of the programs that the benchmarks start.
    programs: &'static [(&'static str, &'static str, &'static str)],
}

const AGENT: (&str, &str, &str) = ("agent", "--bin", "agent");

const AREAS: &[Area] = &[
    Area {
        name: "metrics",
        benches: &[("usage-metrics", "metrics"), ("agent", "files")],
        programs: &[],
    },
    Area {
        name: "mcp",
        benches: &[("mcp-client", "calls"), ("mcp-client", "registry")],
        programs: &[("mcp-client", "--example", "rmcp_server")],
    },
    Area { name: "gateway", benches: &[("gateway", "gateway")], programs: &[AGENT] },
    Area { name: "services", benches: &[("gateway", "services")], programs: &[AGENT] },
    Area { name: "peers", benches: &[("gateway", "compare")], programs: &[AGENT] },
    Area { name: "agent", benches: &[("agent", "tasks")], programs: &[] },
    Area { name: "local", benches: &[("local-model", "local")], programs: &[] },
];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let (areas, extra) = select(arguments)?;
    let peers = PeerFolders::of(workspace);
    setup::run(workspace, Task::Bench)?;
    if areas.iter().any(|area| area.name == "peers") {
        setup::run(workspace, Task::Compare)?;
    }
    for (package, kind, name) in areas.iter().flat_map(|area| area.programs) {
        // `cargo bench` builds only the benches.
        let arguments = ["build", "--profile", PROFILE, "-p", package, kind, name];
        process::run(workspace.cargo().args(arguments))?;
    }
    for (package, target) in areas.iter().flat_map(|area| area.benches) {
        let mut command = workspace.cargo();
        command.args(["bench", "--profile", PROFILE, "-p", package, "--bench", target]);
        if !extra.is_empty() {
            command.arg("--").args(extra);
        }
        command.env("BENCH_PYTHON", peers.folder("jsonschema").join("bin").join("python"));
        process::run(&mut command)?;
    }
    Ok(())
}

/// The areas that the first argument selects, and the arguments for their benchmarks.
fn select(arguments: &[String]) -> Result<(&'static [Area], &[String])> {
    match arguments.split_first() {
        Some((name, extra)) if !name.starts_with('-') => {
            let Some(index) = AREAS.iter().position(|area| area.name == name) else {
                let names: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
                return Err(Failure::usage(format!("there is no bench area `{name}`"))
                    .with_hint(format!("the areas are: {}", names.join(", "))));
            };
            Ok((&AREAS[index..=index], extra))
        }
        _ => Ok((AREAS, arguments)),
    }
}

#[cfg(test)]
mod tests;
