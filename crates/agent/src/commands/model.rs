//! `agent model`: the files of models that answer in this machine's own service.

mod add;
mod fetch;
mod list;
mod remove;

use clap::Subcommand;
use local_model::About;
use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::model_files::model_dir::ModelDir;
use crate::model_files::name::Name;
use crate::model_files::record::Record;
use crate::session::Session;

/// Model files on this machine, for the member service of `agent up`
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "A model is a GGUF file of the Llama architecture in the folder `models` of the \
                  profile's home. The member service answers with it on this machine's processor, \
                  as `local/<name>`. A service that runs sees new files within a minute.\n\n\
                  Examples:\n  agent model list\n  agent model fetch smollm2-135m\n  \
                  agent model add ./some-model.Q8_0.gguf --name some-model\n  \
                  agent model remove some-model"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) command: Model,
}

/// What can be done with model files.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    List(list::Args),
    Fetch(fetch::Args),
    Add(add::Args),
    Remove(remove::Args),
}

pub(crate) fn run(command: Model, session: &Session) -> Result<(), Diagnostic> {
    match command {
        Model::List(args) => list::run(&args, session),
        Model::Fetch(args) => fetch::run(&args, session),
        Model::Add(args) => add::run(&args, session),
        Model::Remove(args) => remove::run(&args, session),
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
