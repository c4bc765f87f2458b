//! `agent skills path`: where skills are.

use serde_json::json;

use super::named;
use crate::diagnostic::Diagnostic;
use crate::session::Session;
use crate::skills::folders::SkillFolders;

/// Print the folder of all skills or of one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  agent skills path\n  agent skills path review")]
pub(crate) struct Args {
    /// Skill name
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let places = SkillFolders::find(session)?;
    if let Some(name) = &args.name {
        let skill = named(name, &places)?;
        let path = skill.located.folder.path();
        if session.output.is_json() {
            return session.output.json(&json!({"name": skill.name(), "path": path}));
        }
        return session.output.text(format!("{}\n", path.display()));
    }
    if session.output.is_json() {
        let (home, project) = (places.home(), places.project());
        return session.output.json(&json!({"home": home, "project": project}));
    }
    session.output.text(format!("{}\n", places.home().display()))?;
    if let Some(project) = places.project() {
        session.output.note(format!("Skills of the project are in {}.", project.display()));
    }
    Ok(())
}
