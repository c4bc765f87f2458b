//! `cargo xtask docs`: writes the reference pages made from the code, or compares them.

mod difference;
mod help;
mod images;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Failure, OrFail, Result};
use crate::process;
use crate::workspace::Workspace;

struct Page {
    path: &'static str,
    source: Source,
}

enum Source {
    /// The output of the program with these arguments.
    Output(&'static [&'static str]),
    /// The help of the program and of all commands.
    Help,
}

const PAGES: &[Page] = &[
    Page {
        path: "docs/metrics-catalogue.md",
        source: Source::Output(&["metrics", "catalogue", "--format", "markdown"]),
    },
    Page { path: "docs/metrics.schema.json", source: Source::Output(&["metrics", "schema"]) },
    Page { path: "docs/config.md", source: Source::Output(&["config", "reference"]) },
    Page { path: "docs/mcp-config.md", source: Source::Output(&["mcp", "reference"]) },
    Page { path: "docs/gateway-config.md", source: Source::Output(&["gateway", "reference"]) },
    Page { path: "docs/cli.md", source: Source::Help },
];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    match arguments {
        [] => write(workspace),
        [flag] if flag == "--check" => compare(workspace),
        [word] if word == "images" => images::write(workspace, &Program::build(workspace)?.0),
        _ => Err(Failure::usage("`docs` takes only `--check` or `images`")),
    }
}

/// Fails when a page is out of date.
pub(crate) fn compare(workspace: &Workspace) -> Result {
    let program = Program::build(workspace)?;
    let mut stale = Vec::new();
    for page in PAGES {
        let made = program.make(page)?;
        // An unreadable page differs in its first line, like an empty one.
        let written = fs::read_to_string(workspace.root().join(page.path)).unwrap_or_default();
        if let Some(difference) = difference::first(&written, &made) {
            println!("{}:{difference}", page.path);
            stale.push(page.path);
        }
    }
    if stale.is_empty() {
        println!("docs: {} pages agree with the code", PAGES.len());
        return Ok(());
    }
    Err(Failure::work(format!("out of date: {}", stale.join(", ")))
        .with_hint("run cargo xtask docs"))
}

fn write(workspace: &Workspace) -> Result {
    let program = Program::build(workspace)?;
    for page in PAGES {
        let made = program.make(page)?;
        let path = workspace.root().join(page.path);
        fs::write(path, made).or_fail(format!("cannot write {}", page.path))?;
        println!("docs: wrote {}", page.path);
    }
    Ok(())
}

struct Program(PathBuf);

impl Program {
    fn build(workspace: &Workspace) -> Result<Self> {
        // With the same targets as the tests, to share the dependencies.
        let targets = ["--lib", "--bins", "--examples", "--tests"];
        process::run(workspace.cargo().args(["build", "--workspace"]).args(targets))?;
        let name = format!("agent{}", env::consts::EXE_SUFFIX);
        Ok(Self(workspace.target_directory().join("debug").join(name)))
    }

    fn make(&self, page: &Page) -> Result<String> {
        let text = match page.source {
            Source::Output(arguments) => self.output(arguments)?,
            Source::Help => help::page(|arguments| self.output(arguments))?,
        };
        Ok(format!("{}\n", text.trim_end()))
    }

    /// The output of the program, independent of the terminal and settings of the caller.
    fn output(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.0);
        command.args(arguments).env("NO_COLOR", "1").env("COLUMNS", "100");
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("AGENT_") {
                command.env_remove(name);
            }
        }
        process::capture(&mut command)
    }
}
