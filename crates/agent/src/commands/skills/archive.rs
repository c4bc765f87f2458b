//! `agent skills archive`: a skill put away.

use serde_json::json;

use super::with_diary;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;
use crate::skills::archive::put_away;
use crate::skills::name::Name;
use crate::skills::places::Places;

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
    let name = Name::typed(&args.name)?;
    let places = Places::find(session)?;
    let to = with_diary(&places, session, |diary| put_away(&places, &name, diary))?;
    if session.output.is_json() {
        return session.output.json(&json!({"archived": name.as_str(), "path": to}));
    }
    session.output.text(format!("{GOOD}Archived{GOOD:#} {name}.\n"))?;
    session.output.note(format!("It is in {}.", to.display()));
    Ok(())
}
