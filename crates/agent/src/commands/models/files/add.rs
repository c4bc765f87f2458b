//! `agent models add`: add a file from disk.

use std::path::PathBuf;

use serde_json::json;
use task_loop::untrusted::printable;

use super::{document, short};
use crate::destination::OnConflict;
use crate::diagnostic::Diagnostic;
use crate::model_files::add::add;
use crate::model_files::model_dir::ModelDir;
use crate::model_files::name::Name;
use crate::output::GOOD;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::amount;

/// Add a GGUF file from disk
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file must be a complete GGUF file of the Llama architecture with a supported tokenizer and \
chat template.

Examples:
  agent models add ./some-model.Q8_0.gguf
  agent models add ./some-model.Q8_0.gguf --name some-model")]
pub(crate) struct Args {
    /// Path of the GGUF file
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Model name [default: the file name without its extension]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Replace an existing model of that name
    #[arg(long)]
    replace: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let name = match &args.name {
        Some(name) => Name::typed(name)?,
        None => Name::of_any_file(&args.path).ok_or_else(|| {
            let shown = printable(&args.path.display().to_string());
            Diagnostic::usage(format!("cannot derive a valid model name from {shown}"))
                .hint("choose a name with `--name`")
        })?,
    };
    let shelf = ModelDir::find(session)?;
    let existing = if args.replace { OnConflict::Replace } else { OnConflict::Keep };
    let added = block_on(add(&args.path, &name, existing, &shelf, session))?;
    let about = &added.about;
    if session.output.is_json() {
        let mut value = document(&name, &shelf, Some(about), Some(&added.record));
        value["replaced"] = json!(added.is_replaced);
        return session.output.json(&value);
    }
    let done = if added.is_replaced { "Replaced" } else { "Added" };
    let title =
        about.name.as_deref().map_or_else(String::new, |title| format!("{}, ", printable(title)));
    let licence = about.licence.as_deref().map_or("licence unknown".to_owned(), printable);
    session.output.text(format!(
        "{GOOD}{done}{GOOD:#} {name}: {title}{} weights as {}, {}, {licence}; no tools.\n",
        short(about.parameters),
        printable(&about.quantisation),
        amount(about.file_bytes),
    ))?;
    session.output.note(format!(
        "Stored as {}; uses {} of memory when loaded.",
        shelf.path(&name).display(),
        amount(about.loaded_bytes)
    ));
    Ok(())
}
