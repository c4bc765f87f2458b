//! `agent models`: models of the service with prices and availability, and local model files.

#[cfg(feature = "local-model")]
mod files;

use task_loop::member::credits;
use task_loop::untrusted::{escaped_lines, printable};
use wire::capability::{Capability, CapabilityList, CapableModel};
use wire::model::{Model, ModelList};

use crate::diagnostic::{Diagnostic, Result};
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::output::{DIM, Output, WARNING};
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{Table, grouped};
use crate::wrap;

const INDENT: &str = "    ";

/// List models, prices and availability; manage local models
#[derive(Debug, clap::Args)]
#[command(
    alias = "model",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "\
Without a subcommand, lists the models of the service. Local models are GGUF files of the Llama \
architecture, which the service of `agent up` runs itself as `local/NAME`.

Examples:
  agent models
  agent models --capability chat
  agent models pull smollm2-135m
  agent models add ./some-model.Q8_0.gguf --name some-model"
)]
pub(crate) struct Args {
    #[cfg(feature = "local-model")]
    #[command(subcommand)]
    command: Option<files::FilesCommand>,
    /// Filter by capability, for example chat, image or `web_search`
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    #[command(flatten)]
    waiting: RetryOptions,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    #[cfg(feature = "local-model")]
    if let Some(command) = &args.command {
        return files::run(command, session);
    }
    let service = RetryingMember::find(session, args.waiting)?;
    let (listed, able) = block_on(async {
        let listed = service.get("/models").await?;
        // A program that requests the list gets the list.
        let is_plain = session.output.is_json() && args.capability.is_none();
        let able = if is_plain { None } else { Some(service.get("/capabilities").await?) };
        Ok((listed, able))
    })?;
    let Some(able) = able else { return service.print(&listed) };
    let mut listed: ModelList = service.read(&listed)?;
    let able: CapabilityList = service.read(&able)?;
    let wanted = args.capability.as_deref().map(|name| named(&able, name)).transpose()?;
    if session.output.is_json() {
        let has =
            |model: &Model| wanted.is_none_or(|it| it.models.iter().any(|m| m.id == model.id));
        listed.data.retain(has);
        return session.output.json(&listed);
    }
    let rows = match wanted {
        None => listed.data.iter().map(|model| Row::of_model(model, &able)).collect(),
        Some(capability) => {
            let row = |one| Row::of_capable(one, capability, &listed);
            capability.models.iter().map(row).collect::<Vec<_>>()
        }
    };
    if let Some(reason) = wanted.filter(|it| !it.usable).and_then(|it| it.reason.as_deref()) {
        let name = args.capability.as_deref().unwrap_or_default();
        session.output.warn(format!("{name} is unavailable: {}", printable(reason)));
    }
    if rows.is_empty() {
        session.output.note("This key cannot use any model.");
        return Ok(());
    }
    session.output.text(text(&rows, &session.output))
}

fn named<'a>(able: &'a CapabilityList, name: &str) -> Result<&'a Capability> {
    able.data.iter().find(|capability| capability.id == name).ok_or_else(|| {
        let known: Vec<String> = able.data.iter().map(|it| printable(&it.id)).collect();
        Diagnostic::usage(format!("unknown capability `{}`", printable(name)))
            .hint(format!("available capabilities: {}", known.join(", ")))
    })
}

struct Row {
    id: String,
    uses: String,
    price_micros: i64,
    context: Option<u64>,
    about: Option<String>,
    /// Its unavailable uses, with the reasons.
    trouble: Option<String>,
}

impl Row {
    fn of_model(model: &Model, able: &CapabilityList) -> Self {
        let own = able.data.iter().filter(|it| model.capabilities.contains(&it.id));
        let troubles = own.filter_map(|capability| {
            let capable = capability.models.iter().find(|one| one.id == model.id)?;
            Some((capability.id.as_str(), why(capable, capability)?))
        });
        let troubles: Vec<(&str, String)> = troubles.collect();
        let is_all = troubles.len() == model.capabilities.len();
        let trouble = troubles.first().map(|(_, why)| {
            let names: Vec<&str> = troubles.iter().map(|(name, _)| *name).collect();
            if is_all { format!(": {why}") } else { format!(" for {}: {why}", names.join(", ")) }
        });
        Self {
            id: model.id.clone(),
            uses: model.capabilities.join(", "),
            price_micros: model.price_micros,
            context: model.context_length,
            about: model.description.clone(),
            trouble,
        }
    }

    fn of_capable(one: &CapableModel, capability: &Capability, listed: &ModelList) -> Self {
        let model = listed.data.iter().find(|model| model.id == one.id);
        Self {
            id: one.id.clone(),
            uses: capability.id.clone(),
            price_micros: one.price_micros,
            context: model.and_then(|model| model.context_length),
            about: model.and_then(|model| model.description.clone()),
            trouble: why(one, capability).map(|why| format!(": {why}")),
        }
    }
}

fn why(one: &CapableModel, capability: &Capability) -> Option<String> {
    if !capability.usable {
        return Some(capability.reason.clone().unwrap_or_else(|| "unavailable".to_owned()));
    }
    (!one.usable).then(|| "its provider is failing".to_owned())
}

fn text(rows: &[Row], output: &Output) -> String {
    let mut table =
        Table::new(["model", "for", "credits", "context"]).align_right(&["credits", "context"]);
    for row in rows {
        table.row([
            row.id.clone(),
            row.uses.clone(),
            credits(row.price_micros),
            row.context.map_or_else(|| "-".to_owned(), grouped),
        ]);
    }
    table.with_below(rows.iter().map(|row| below(row, output)))
}

/// The lines below a model: why it is unavailable, and its description.
fn below(row: &Row, output: &Output) -> String {
    let mut text = String::new();
    if let Some(why) = &row.trouble {
        let why = printable(why);
        text.push_str(&format!("{INDENT}{WARNING}unavailable{WARNING:#}{why}\n"));
    }
    let width = output.columns().map_or(usize::MAX, |columns| columns - INDENT.len());
    let about = row.about.as_deref().map(escaped_lines).unwrap_or_default();
    for line in wrap::plain(&about, width) {
        text.push_str(&format!("{INDENT}{DIM}{line}{DIM:#}\n"));
    }
    text
}
