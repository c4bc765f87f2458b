//! `agent skills archive`: a skill put away.

use super::moved;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::skills::archive::put_away;

/// Put a skill away, so that no model sees it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The folder moves to `.archive` beside the skills; `agent skills restore` brings it \
                  back.\n\nExamples:\n  agent skills archive review"
)]
pub(crate) struct Args {
    /// The name of the skill
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    moved(&args.name, "archived", "Archived", session, put_away)
}
