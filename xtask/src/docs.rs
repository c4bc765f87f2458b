//! `cargo xtask docs`: writes the reference pages made from the code, or compares them.

mod help;
mod images;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Failure, OrFail, Result};
use crate::process;
use crate::workspace::Workspace;

/// The path of each page, and the arguments with which the program prints it; without arguments, the
/// page is the help of the program and of all commands.
const PAGES: &[(&str, &[&str])] = &[
    ("docs/metrics-catalogue.md", &["metrics", "catalogue", "--format", "markdown"]),
    ("docs/metrics.schema.json", &["metrics", "schema"]),
    ("docs/config.md", &["config", "reference"]),
    ("docs/mcp-config.md", &["mcp", "reference"]),
    ("docs/gateway-config.md", &["gateway", "reference"]),
    ("docs/cli.md", &[]),
];

/// Maximum lines of each text that a difference shows.
const MAX_LINES_SHOWN: usize = 3;

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
    for (path, arguments) in PAGES {
        let made = program.make(arguments)?;
        // An unreadable page differs in its first line, like an empty one.
        let written = fs::read_to_string(workspace.root().join(path)).unwrap_or_default();
        if let Some(difference) = first_difference(&written, &made) {
            println!("{path}:{difference}");
            stale.push(*path);
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
    for (path, arguments) in PAGES {
        let made = program.make(arguments)?;
        fs::write(workspace.root().join(path), made).or_fail(format!("cannot write {path}"))?;
        println!("docs: wrote {path}");
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

    fn make(&self, arguments: &[&str]) -> Result<String> {
        let text = match arguments {
            [] => help::page(|arguments| self.output(arguments))?,
            _ => self.output(arguments)?,
        };
        Ok(format!("{}\n", text.trim_end()))
    }

    /// The output of the program, independent of the terminal and settings of the caller.
    fn output(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.0);
        command.args(arguments).env("NO_COLOR", "1").env("COLUMNS", "100");
        process::remove_agent_settings(&mut command);
        process::capture(&mut command)
    }
}

/// The number of the first different line, then a few lines of each text; `None` if they are equal.
fn first_difference(written: &str, made: &str) -> Option<String> {
    if written == made {
        return None;
    }
    // `split` rather than `lines`: a missing newline at the end is a difference too.
    let written: Vec<&str> = written.split('\n').collect();
    let made: Vec<&str> = made.split('\n').collect();
    let start = written.iter().zip(&made).take_while(|(left, right)| left == right).count();
    let mut text = format!("{}: differs from the code", start + 1);
    for (sign, lines) in [('-', &written), ('+', &made)] {
        for line in lines.iter().skip(start).take(MAX_LINES_SHOWN) {
            text += &format!("\n  {sign} {line}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests;
