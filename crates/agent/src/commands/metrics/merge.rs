//! `agent metrics merge`: adds packages up.

use std::path::PathBuf;

use usage_metrics::merge::merge;

use super::read_packages;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Add packages up: one package for each installation, period and resource
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A package that is given twice counts once. With one result a package is printed, \
                        with more one per line.\n\nExamples:\n  agent metrics merge outbox/\n  \
                        cat a.json | agent metrics merge - b.json"
)]
pub(crate) struct Args {
    /// Files, folders, or `-` for standard input
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let packages = read_packages(&args.paths)?;
    let count = packages.len();
    let merged = merge(packages)
        .map_err(|error| Diagnostic::failed("cannot add these packages up").because(&error))?;
    match &merged[..] {
        [one] => session.output.bytes(&one.to_bytes())?,
        many => {
            for package in many {
                session.output.json_line(package)?;
            }
        }
    }
    session.output.note(format!("{count} packages merged into {}", merged.len()));
    Ok(())
}
