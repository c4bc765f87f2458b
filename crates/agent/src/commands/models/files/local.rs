//! `agent models local`: list model files and models available to pull.

use local_model::{About, Problem};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::{document, short};
use crate::diagnostic::Diagnostic;
use crate::model_files::known_models::{KNOWN, KnownModel};
use crate::model_files::model_dir::{MAX_FILES, ModelDir};
use crate::model_files::name::Name;
use crate::model_files::record::Record;
use crate::session::Session;
use crate::table::{Alignment, Table, amount, grouped};

/// List local models and those available to pull
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Memory is the size of a loaded model without its conversations. Unusable files are listed with \
the reason.

Examples:
  agent models local
  agent models local --json")]
pub(crate) struct Args {}

struct ListedFile {
    name: Name,
    about: Result<About, Problem>,
    record: Option<Record>,
}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
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
            "folder": shelf.folder(),
            "models": models.collect::<Vec<_>>(),
            "fetchable": fetchable.collect::<Vec<_>>(),
        }))?;
    } else {
        tell(&found, &missing, &shelf, session)?;
    }
    for path in &content.odd {
        session.output.warn(format!("the name of {} is not a valid model name", printable(path)));
    }
    if content.is_cut {
        session.output.warn(format!("more than {MAX_FILES} files; not all are listed"));
    }
    Ok(())
}

fn tell(
    found: &[ListedFile],
    missing: &[&KnownModel],
    shelf: &ModelDir,
    session: &Session,
) -> Result<(), Diagnostic> {
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
        let mut table = Table::new([
            ("name", Alignment::Left),
            ("size", Alignment::Right),
            ("licence", Alignment::Left),
            ("description", Alignment::Left),
        ]);
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
    let mut table = Table::new([
        ("name", Alignment::Left),
        ("size", Alignment::Right),
        ("weights", Alignment::Right),
        ("stored", Alignment::Left),
        ("licence", Alignment::Left),
        ("context", Alignment::Right),
        ("memory", Alignment::Right),
        ("tools", Alignment::Left),
    ]);
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
