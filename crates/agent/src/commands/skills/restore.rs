//! `agent skills restore`: a skill brought back.

use super::moved;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::skills::archive::bring_back;

/// Restore an archived skill
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent skills restore review")]
pub(crate) struct Args {
    /// Skill name
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    moved(&args.name, "restored", "Restored", session, bring_back)
}
