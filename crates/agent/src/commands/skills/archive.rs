//! `agent skills archive`: a skill put away.

use super::moved;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::skills::archive::put_away;

/// Archive a skill, which hides it from models
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Moves the folder to `.archive`; undo it with `agent skills restore`.

Examples:
  agent skills archive review")]
pub(crate) struct Args {
    /// Skill name
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    moved(&args.name, "archived", "Archived", session, put_away)
}
