//! `agent skills`: instructions that models load when they fit.

mod archive;
mod install;
mod list;
mod path;
mod restore;
mod show;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;
use task_loop::untrusted::printable;

use crate::diagnostic::Diagnostic;
use crate::metrics_recorder;
use crate::output::GOOD;
use crate::session::Session;
use crate::skills::catalogue::{Skill, unknown};
use crate::skills::folders::SkillFolders;
use crate::skills::log::SkillLog;
use crate::skills::name::Name;

/// Manage skills: instructions that models load on demand
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
A skill is a folder with a SKILL.md: front matter with `name` and `description`, then the \
instructions. Skills live in the profile's home and in `.agent/skills` of a project, which takes \
precedence.

Examples:
  agent skills list
  agent skills install ./review
  agent skills show review"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Skills,
}

/// What can be done with skills.
#[derive(Debug, Subcommand)]
pub(crate) enum Skills {
    List(list::Args),
    Show(show::Args),
    Install(install::Args),
    Archive(archive::Args),
    Restore(restore::Args),
    Path(path::Args),
}

pub(crate) fn run(command: Skills, session: &Session) -> Result<(), Diagnostic> {
    match command {
        Skills::List(args) => list::run(&args, session),
        Skills::Show(args) => show::run(&args, session),
        Skills::Install(args) => install::run(&args, session),
        Skills::Archive(args) => archive::run(&args, session),
        Skills::Restore(args) => restore::run(&args, session),
        Skills::Path(args) => path::run(&args, session),
    }
}

fn with_log<T>(
    places: &SkillFolders,
    session: &Session,
    work: impl FnOnce(&SkillLog) -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let recorder = metrics_recorder::recorder(session)?;
    let done = work(&SkillLog::new(places, recorder.clone(), session.clock.clone()));
    metrics_recorder::close(&recorder);
    done
}

/// Moves a skill; `key` and `done` name the move in JSON and in text.
fn moved(
    name: &str,
    key: &str,
    done: &str,
    session: &Session,
    work: impl FnOnce(&SkillFolders, &Name, &SkillLog) -> Result<PathBuf, Diagnostic>,
) -> Result<(), Diagnostic> {
    let name = Name::typed(name)?;
    let places = SkillFolders::find(session)?;
    let to = with_log(&places, session, |log| work(&places, &name, log))?;
    if session.output.is_json() {
        return session.output.json(&json!({key: name.as_str(), "path": to}));
    }
    session.output.text(format!("{GOOD}{done}{GOOD:#} {name}.\n"))?;
    session.output.note(format!("It is in {}.", to.display()));
    Ok(())
}

fn named(name: &str, places: &SkillFolders) -> Result<Skill, Diagnostic> {
    let name = Name::typed(name)?;
    match places.open(&name) {
        Some(Ok(skill)) => Ok(skill),
        Some(Err(problem)) => Err(Diagnostic::failed(problem.line())),
        None => Err(Diagnostic::usage(printable(&unknown(name.as_str(), &places.catalogue())))
            .hint("list skills with `agent skills list`")),
    }
}
