//! `agent metrics validate`: judges packages.

use super::inspect::{Inspection, Question, inspect};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Judge packages: exactly the specification, every fault with its place
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 1 if any package is invalid or cannot be read.\n\nExamples:\n  \
                        agent metrics validate package.json\n  agent metrics validate outbox/ archive.ndjson.gz\n  \
                        agent metrics validate --json - < package.json")]
pub(crate) struct Args {
    #[command(flatten)]
    inspection: Inspection,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    inspect(&args.inspection, Question::Validate, session)
}
