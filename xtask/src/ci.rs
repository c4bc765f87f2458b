//! `cargo xtask ci`: runs all checks and prints the time of each step.

use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Result};
use crate::setup::Installation;
use crate::test::Profile;
use crate::workspace::Workspace;
use crate::{chaos, docs, process, test, tidy};

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result {
    let policy = match arguments {
        [] => OnFailure::Stop,
        [flag] if flag == "--keep-going" => OnFailure::KeepGoing,
        _ => return Err(Failure::usage("`ci` takes only `--keep-going`")),
    };
    let rows = thread::scope(|scope| {
        let mut installation = None;
        execute(Step::ALL, policy, |step| match step {
            Step::Setup => Installation::start(scope, workspace).map(|it| installation = Some(it)),
            Step::Peers => installation.take().map_or(Ok(()), Installation::wait),
            _ => step.run(workspace),
        })
    });
    print!("\n{}", table(&rows));
    let failed = rows.iter().filter(|row| matches!(row.outcome, Outcome::Failed(_)));
    let failed: Vec<String> = failed.map(|row| row.step.name()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::work(format!("failed: {}", failed.join(", "))))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Installs what the build needs, and starts to install the peers of the tests.
    Setup,
    Fmt,
    Tidy,
    Clippy,
    Docs,
    /// Waits until the peers are installed.
    Peers,
    Test,
    Chaos,
}

impl Step {
    #[rustfmt::skip] // a table of words
    const ALL: &[Self] = &[
        Self::Setup, Self::Fmt, Self::Tidy, Self::Clippy, Self::Docs, Self::Peers, Self::Test,
        Self::Chaos,
    ];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn run(self, workspace: &Workspace) -> Result {
        match self {
            // `run` above.
            Self::Setup | Self::Peers => Ok(()),
            Self::Fmt => process::run(workspace.cargo().args(["fmt", "--all", "--check"])),
            Self::Tidy => tidy::run(workspace, &[]),
            Self::Clippy => {
                let line =
                    "clippy --workspace --all-targets --features agent-fuzz/targets -- -D warnings";
                process::run(workspace.cargo().args(line.split(' ')))
            }
            Self::Docs => {
                docs::compare(workspace)?;
                let mut doc = workspace.cargo();
                doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
                process::run(&mut doc)
            }
            Self::Test => test::run_suites(workspace, Profile::Ci, &[]),
            Self::Chaos => chaos::run_short(workspace),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    Stop,
    KeepGoing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    NotRun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    step: Step,
    outcome: Outcome,
}

fn execute(steps: &[Step], policy: OnFailure, mut run: impl FnMut(Step) -> Result) -> Vec<Row> {
    let mut stopped = false;
    let mut rows = Vec::new();
    for &step in steps {
        if stopped {
            rows.push(Row { step, outcome: Outcome::NotRun });
            continue;
        }
        eprintln!("\n== {} ==", step.name());
        let started = Instant::now();
        let result = run(step);
        let elapsed = started.elapsed();
        let outcome = match result {
            Ok(()) => Outcome::Passed(elapsed),
            Err(failure) => {
                eprintln!("{failure}");
                stopped = policy == OnFailure::Stop;
                Outcome::Failed(elapsed)
            }
        };
        rows.push(Row { step, outcome });
    }
    rows
}

fn table(rows: &[Row]) -> String {
    let mut text = format!("{:<8} {:>8}  result\n", "step", "seconds");
    for Row { step, outcome } in rows {
        let (seconds, word) = match outcome {
            Outcome::Passed(elapsed) => (format!("{:.1}", elapsed.as_secs_f64()), "ok"),
            Outcome::Failed(elapsed) => (format!("{:.1}", elapsed.as_secs_f64()), "FAILED"),
            Outcome::NotRun => ("-".to_owned(), "not run"),
        };
        text += &format!("{:<8} {seconds:>8}  {word}\n", step.name());
    }
    text
}

#[cfg(test)]
mod tests;
