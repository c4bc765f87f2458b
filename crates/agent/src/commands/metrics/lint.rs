//! `agent metrics lint`: judges packages and warns of what is legal but looks wrong.

use super::inspect::{Inspection, Question, inspect};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Judge packages and warn of what is legal but looks wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Warnings:\n  \
    L001  period_end is not after period_start\n  \
    L002  generated_at is before period_start\n  \
    L003  the period is not one UTC day\n  \
    L004  two entries have the same name and dimensions\n  \
    L005  outcome, end_reason and termination of a finished task do not go together\n  \
    L006  the dimensions of a skill load do not go together\n\n\
    Examples:\n  agent metrics lint outbox/\n  agent metrics lint --deny-warnings package.json")]
pub(crate) struct Args {
    #[command(flatten)]
    inspection: Inspection,
    /// Exit code 1 if there is any warning
    #[arg(long)]
    deny_warnings: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let question = if args.deny_warnings { Question::LintStrictly } else { Question::Lint };
    inspect(&args.inspection, question, session)
}
