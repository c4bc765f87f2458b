//! `agent model list`: the files that are there, and those that can be fetched.

use local_model::{About, Problem};
use serde_json::{Value, json};

use super::{document, short};
use crate::diagnostic::Diagnostic;
use crate::mcp::table::{Lean, Table, amount, grouped};
use crate::output::printable;
use crate::session::Session;
use crate::weights::known::{KNOWN, Known};
use crate::weights::name::Name;
use crate::weights::record::Record;
use crate::weights::shelf::{MAX_FILES, Shelf};

/// List the models that are here, and those that can be fetched
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Memory is what a model takes when it is loaded; each conversation takes more. A file \
                  that cannot be used is named with the reason; the others work.\n\n\
                  Examples:\n  agent model list\n  agent model list --json"
)]
pub(crate) struct Args {}

/// A file of the folder.
struct Found {
    name: Name,
    about: Result<About, Problem>,
    record: Option<Record>,
}

pub(crate) fn run(_: &Args, session: &Session) -> Result<(), Diagnostic> {
    let shelf = Shelf::find(session)?;
    let content = shelf.content()?;
    let look = |name: Name| {
        let about = About::read(&shelf.path(&name));
        let record = Record::load(&shelf.record_path(&name));
        Found { name, about, record }
    };
    let found: Vec<Found> = content.names.into_iter().map(look).collect();
    let is_there = |known: &&Known| found.iter().any(|found| found.name.as_str() == known.name);
    let missing: Vec<&Known> = KNOWN.iter().filter(|known| !is_there(known)).collect();
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
        session.output.warn(format!("{} has a name that no model can have", printable(path)));
    }
    if content.is_cut {
        session.output.warn(format!("there are more than {MAX_FILES} files; not all are listed"));
    }
    Ok(())
}

fn tell(
    found: &[Found],
    missing: &[&Known],
    shelf: &Shelf,
    session: &Session,
) -> Result<(), Diagnostic> {
    let output = &session.output;
    let (good, bad): (Vec<&Found>, Vec<&Found>) =
        found.iter().partition(|found| found.about.is_ok());
    if good.is_empty() {
        output.text(format!("There are no models in {}.\n", shelf.folder().display()))?;
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
        output.text("\nCan be fetched:\n\n")?;
        let mut table = Table::new([
            ("name", Lean::Left),
            ("size", Lean::Right),
            ("licence", Lean::Left),
            ("what to expect", Lean::Left),
        ]);
        for known in missing {
            let Known { name, licence, about, bytes, .. } = known;
            table.row([(*name).to_owned(), amount(*bytes), (*licence).into(), (*about).into()]);
        }
        output.text(table.text())?;
        output.note(
            "`agent model fetch NAME` fetches one, `agent model add PATH` takes your own file.",
        );
    }
    Ok(())
}

fn table(found: &[&Found]) -> String {
    let mut table = Table::new([
        ("name", Lean::Left),
        ("size", Lean::Right),
        ("weights", Lean::Right),
        ("stored", Lean::Left),
        ("licence", Lean::Left),
        ("context", Lean::Right),
        ("memory", Lean::Right),
        ("tools", Lean::Left),
    ]);
    for Found { name, about, .. } in found {
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

/// A file for programs.
fn listed(found: &Found, shelf: &Shelf) -> Value {
    let about = found.about.as_ref().ok();
    let mut value = document(&found.name, shelf, about, found.record.as_ref());
    if let Err(problem) = &found.about {
        let file = shelf.path(&found.name).metadata();
        value["bytes"] = json!(file.ok().map(|file| file.len()));
        value["problem"] = json!(problem.to_string());
    }
    value
}

fn fetchable(known: &Known) -> Value {
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
