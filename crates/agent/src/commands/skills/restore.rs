//! `agent skills restore`: a skill brought back.

use serde_json::json;

use super::with_diary;
use crate::diagnostic::Diagnostic;
use crate::output::GOOD;
use crate::session::Session;
use crate::skills::archive::bring_back;
use crate::skills::name::Name;
use crate::skills::places::Places;

/// Bring back a skill that was archived
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent skills restore review")]
pub(crate) struct Args {
    /// The name of the skill
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let name = Name::typed(&args.name)?;
    let places = Places::find(session)?;
    let to = with_diary(&places, session, |diary| bring_back(&places, &name, diary))?;
    if session.output.is_json() {
        return session.output.json(&json!({"restored": name.as_str(), "path": to}));
    }
    session.output.text(format!("{GOOD}Restored{GOOD:#} {name}.\n"))?;
    session.output.note(format!("It is in {}.", to.display()));
    Ok(())
}
