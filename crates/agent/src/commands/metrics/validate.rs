//! `agent metrics validate`: judges packages.

use super::inspect::{Inspection, Question, inspect};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Validate packages against the specification
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every error is reported with its location. Exit codes: 0 all valid, 1 a package is invalid or \
cannot be read.

Examples:
  agent metrics validate package.json
  agent metrics validate outbox/ archive.ndjson.gz
  agent metrics validate --json - < package.json")]
pub(crate) struct Args {
    #[command(flatten)]
    inspection: Inspection,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    inspect(&args.inspection, Question::Validate, session)
}
