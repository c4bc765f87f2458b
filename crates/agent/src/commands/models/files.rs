//! Model files on this machine, which the service of `agent up` runs itself.

mod add;
mod local;
mod pull;
mod remove;

use clap::Subcommand;
use local_model::About;
use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::model_files::model_dir::ModelDir;
use crate::model_files::name::Name;
use crate::model_files::record::Record;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum FilesCommand {
    #[command(alias = "list")]
    Local(local::Args),
    #[command(alias = "fetch")]
    Pull(pull::Args),
    Add(add::Args),
    #[command(visible_alias = "rm")]
    Remove(remove::Args),
}

pub(super) fn run(command: &FilesCommand, session: &Session) -> Result<(), Diagnostic> {
    match command {
        FilesCommand::Local(args) => local::run(args, session),
        FilesCommand::Pull(args) => pull::run(args, session),
        FilesCommand::Add(args) => add::run(args, session),
        FilesCommand::Remove(args) => remove::run(args, session),
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
        "path": shelf.path(name),
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

#[cfg(test)]
mod tests;
