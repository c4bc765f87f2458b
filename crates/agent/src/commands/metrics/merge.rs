//! `agent metrics merge`: adds packages up.

use std::path::PathBuf;

use usage_metrics::merge::merge;

use super::read_packages;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Merge packages by installation, period and resource
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Duplicate packages count once. Several results are printed one per line.

Examples:
  agent metrics merge outbox/
  cat a.json | agent metrics merge - b.json")]
pub(crate) struct Args {
    /// Files, folders, or `-` for stdin
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let packages = read_packages(&args.paths)?;
    let count = packages.len();
    let merged = merge(packages)
        .map_err(|error| Diagnostic::failed("cannot add up these packages").because(&error))?;
    match &merged[..] {
        [one] => session.output.bytes(&one.to_bytes())?,
        many => {
            for package in many {
                session.output.json_line(package)?;
            }
        }
    }
    session.output.note(format!("merged {count} packages into {}", merged.len()));
    Ok(())
}
