//! `agent metrics lint`: judges packages and warns of what is legal but looks wrong.

use super::inspect::{Inspection, Question, inspect};
use crate::diagnostic::Diagnostic;
use crate::session::Session;

/// Validate packages and warn about suspicious values
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Warnings:
  L001  period_end is not after period_start
  L002  generated_at is before period_start
  L003  the period is not one UTC day
  L004  two entries have the same name and dimensions
  L005  outcome, end_reason and termination of a finished task are inconsistent
  L006  the dimensions of a skill load are inconsistent

Examples:
  agent metrics lint outbox/
  agent metrics lint --deny-warnings package.json")]
pub(crate) struct Args {
    #[command(flatten)]
    inspection: Inspection,
    /// Exit with code 1 on any warning
    #[arg(long)]
    deny_warnings: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let question = if args.deny_warnings { Question::LintStrictly } else { Question::Lint };
    inspect(&args.inspection, question, session)
}
