//! `agent models remove`: delete a model file.

use serde_json::json;
use task_loop::nearest;

use crate::diagnostic::Diagnostic;
use crate::model_files::lock;
use crate::model_files::model_dir::ModelDir;
use crate::model_files::name::Name;
use crate::output::GOOD;
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::amount;

/// Delete a local model
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Deletes only files in the models folder; of a symbolic link, only the link.

Examples:
  agent models remove smollm2-135m
  agent models remove smollm2-135m --yes")]
pub(crate) struct Args {
    /// Model name
    #[arg(value_name = "NAME")]
    name: String,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let name = Name::typed(&args.name)?;
    let shelf = ModelDir::find(session)?;
    let path = shelf.path(&name);
    let Ok(found) = path.symlink_metadata() else { return Err(unknown(&name, &shelf)?) };
    if found.is_dir() {
        return Err(Diagnostic::failed(format!("{} is a folder", path.display()))
            .hint("it is not a model; check it and remove it yourself"));
    }
    if !args.yes && !confirmed(&name, found.len(), session)? {
        session.output.note("Nothing was removed.");
        return Ok(());
    }
    let wait = || session.output.note("Waiting for another process that is changing the models.");
    block_on(async {
        let _lock = lock::take(&shelf, wait).await?;
        shelf.remove(&name)
    })?;
    if session.output.is_json() {
        return session.output.json(&json!({ "removed": name.as_str(), "path": path }));
    }
    session.output.text(format!("{GOOD}Removed{GOOD:#} {name}.\n"))
}

fn unknown(name: &Name, shelf: &ModelDir) -> Result<Diagnostic, Diagnostic> {
    let names = shelf.content()?.names;
    let diagnostic =
        Diagnostic::usage(format!("no model named `{name}` in {}", shelf.folder().display()));
    Ok(match nearest(name.as_str(), names.iter().map(Name::as_str)) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint("list models with `agent models local`"),
    })
}

fn confirmed(name: &Name, bytes: u64, session: &Session) -> Result<bool, Diagnostic> {
    match Prompt::find(&session.output) {
        Some(prompt) => prompt.confirm(&format!("Remove {name} ({})?", amount(bytes))),
        None => Err(Diagnostic::failed(format!(
            "removing {name} needs confirmation, but no terminal is attached"
        ))
        .hint("confirm with `--yes`")),
    }
}
