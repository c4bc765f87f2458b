//! `agent media`: images and speech.

mod artifact;
mod download;
mod run;

use clap::Subcommand;
use task_loop::member::credits;
use task_loop::untrusted::printable;
use wire::capability::{Capability, CapabilityList};

use crate::diagnostic::Result;
use crate::member::retry::{RetryOptions, RetryingMember};
use crate::output::WARNING;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::{Table, counted};

/// Create images and speech
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent media list
  agent media run openai/gpt-image-1 \"A lighthouse at dusk\" --output lighthouse.png
  agent media download run_0123456789abcdef0123456789abcdef")]
pub(crate) enum Command {
    /// List image and speech models with prices
    #[command(after_help = "Examples:\n  agent media list\n  agent media list --json")]
    List(RetryOptions),
    Run(run::Args),
    Download(download::Args),
}

pub(crate) fn run(command: Command, session: &Session) -> Result {
    match command {
        Command::List(args) => list(args, session),
        Command::Run(args) => run::run(&args, session),
        Command::Download(args) => download::run(&args, session),
    }
}

fn list(waiting: RetryOptions, session: &Session) -> Result {
    let service = RetryingMember::find(session, waiting)?;
    let answer = block_on(service.get("/capabilities"))?;
    let mut able: CapabilityList = service.read(&answer)?;
    able.data.retain(|capability| matches!(capability.id.as_str(), "image" | "speech"));
    session.output.print(&able, able.data.iter().map(text).collect::<Vec<_>>().join("\n"))
}

fn text(capability: &Capability) -> String {
    let name = printable(&capability.id);
    let head = match &capability.reason {
        Some(reason) if !capability.usable => {
            format!("{name}: {WARNING}unavailable{WARNING:#}, {}\n", printable(reason))
        }
        _ => format!("{name}: {}\n", counted(capability.models.len(), "model")),
    };
    if capability.models.is_empty() {
        return head;
    }
    let mut table = Table::new(["model", "credits", "state"]).align_right(&["credits"]);
    for model in &capability.models {
        let is_usable = model.usable && capability.usable;
        let state = if is_usable { "ready" } else { "unavailable" };
        let price = credits(model.price_micros);
        table.row([model.id.clone(), price, state.to_owned()]);
    }
    let lines: Vec<String> = table.text().lines().map(|line| format!("  {line}\n")).collect();
    head + &lines.concat()
}
