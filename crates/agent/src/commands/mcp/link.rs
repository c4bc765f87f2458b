//! `agent mcp link`: an install link for a configured server, without its secrets.

mod shareable;

use mcp_client::install_link;
use serde_json::json;
use task_loop::untrusted::printable;

use self::shareable::Shareable;
use super::named::known;
use crate::config::servers::ServersFile;
use crate::diagnostic::{Diagnostic, Exit};
use crate::output::WARNING;
use crate::session::Session;

/// Print an install link for a server without its secrets
#[derive(Debug, clap::Args)]
#[command(after_help = "\
References such as `${TOKEN}` are kept; literal secrets are replaced by references, which the \
recipient sets.

Examples:
  agent mcp link docs
  agent mcp link docs --json")]
pub(crate) struct Args {
    /// Server name
    name: String,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let file = ServersFile::load(&session.home()?.config())?;
    let name = &args.name;
    known(&file, std::slice::from_ref(name))
        .map_err(|diagnostic| Diagnostic { exit: Exit::Configuration, ..diagnostic })?;
    let Shareable { entry, replaced, notes } =
        Shareable::of(name, file.entry(name).unwrap_or_default())?;
    let link = install_link::make(name, &entry).map_err(|error| {
        let message = format!("cannot create an install link for `{}`", printable(name));
        Diagnostic::configuration(message).because(&error)
    })?;
    if session.output.is_json() {
        return session.output.json(&json!({
            "name": name,
            "link": link,
            "replaced_secrets": replaced,
            "notes": notes,
        }));
    }
    for moved in &replaced {
        session.output.note(format!(
            "The secret of {} is replaced by `${{{}}}`.",
            printable(&moved.key),
            moved.variable
        ));
    }
    for note in &notes {
        session.output.note(format!("{WARNING}note:{WARNING:#} {}", printable(note)));
    }
    session.output.text(format!("{link}\n"))
}
