//! `agent mcp search`: searches the registry of servers.

use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::server_registry::ServerRegistry;
use crate::diagnostic::Result;
use crate::runtime::block_on;
use crate::session::Session;
use crate::table::Table;
use crate::task_printer::shortened;

const MAX_DESCRIPTION_CHARS: usize = 80;

/// Search the registry of MCP servers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Anybody can publish servers in the registry. Add one with `agent mcp add NAME@registry`, which \
shows what would run.

Examples:
  agent mcp search github
  agent mcp search weather --limit 5 --json")]
pub(crate) struct Args {
    /// Words in the names of the servers
    #[arg(required = true)]
    words: Vec<String>,
    /// Show at most this many servers
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let registry = ServerRegistry::find(session)?;
    let words = args.words.join(" ");
    let found = block_on(registry.search(&words, args.limit.into()))?;
    let json = found.iter().map(|listed| {
        json!({
            "name": listed.server.name, "version": listed.server.version,
            "description": listed.server.description, "kinds": listed.kinds(),
            "deprecated": listed.is_deprecated(),
        })
    });
    let json = json!({ "servers": json.collect::<Value>() });
    let rows = found.iter().map(|listed| {
        let about = shortened(&printable(&listed.server.description), MAX_DESCRIPTION_CHARS);
        let mark = if listed.is_deprecated() { "(deprecated) " } else { "" };
        let (name, version) = (listed.server.name.clone(), listed.server.version.clone());
        [name, version, listed.kinds().join(", "), format!("{mark}{about}")]
    });
    let none = format!("No server matches `{}`.", printable(&words));
    let table = Table::new(["name", "version", "kinds", "description"]).rows(rows);
    table.print(&session.output, &json, &none)
}
