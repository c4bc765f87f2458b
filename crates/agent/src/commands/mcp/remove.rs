//! `agent mcp remove`: removes servers from the configuration.

use mcp_client::config::ServerEntry;
use serde_json::json;
use task_loop::untrusted::printable;

use super::logout::{as_signing_in, has_stored_tokens, sign_out};
use crate::config::lock;
use crate::config::secrets::SecretsFile;
use crate::config::servers::ServersFile;
use crate::diagnostic::Result;
use crate::mcp::McpServers;
use crate::mcp::reporter::MessageSink;
use crate::output::GOOD;
use crate::prompt::Prompt;
use crate::session::Session;

/// Remove servers from the configuration
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "rm",
    after_help = "\
Also removes comments directly above the server.

Examples:
  agent mcp remove files
  agent mcp remove files docs --yes"
)]
pub(crate) struct Args {
    /// Server names
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let home = session.home()?;
    let path = home.config();
    let names = ServersFile::load(&path)?.existing(&args.names)?;
    if !args.yes && !confirmed(session, &names)? {
        session.output.note("Nothing was removed.");
        return Ok(());
    }
    let fleet = McpServers::load(session, MessageSink::Notes)?;
    let removed = fleet.servers.entries().filter(|entry| names.contains(&entry.name));
    let removed = removed.map(as_signing_in).filter(|entry| has_stored_tokens(entry, &fleet));
    let signed_in: Vec<ServerEntry> = removed.collect();
    let lock = lock::take(&path)?;
    let mut file = ServersFile::load(&path)?;
    let mut had_secrets = false;
    for name in file.existing(&names)? {
        let entry = file.entry(&name).unwrap_or_default();
        had_secrets |= entry.to_string().contains("${MCP_");
        file.remove(&name)
            .map_err(|diagnostic| diagnostic.hint(format!("remove `{name}:` yourself")))?;
    }
    file.write()?;
    drop(lock);
    let ended = if signed_in.is_empty() { Ok(Vec::new()) } else { sign_out(&fleet, &signed_in) };
    let mut ended = ended.unwrap_or_else(|diagnostic| {
        // The servers are removed anyway.
        let why = diagnostic.message.unwrap_or_default();
        session.output.warn(format!("cannot remove their sign-in: {why}"));
        Vec::new()
    });
    ended.retain(|one| one.had);
    let signed_out: Vec<String> = ended.into_iter().map(|one| one.name).collect();
    if session.output.is_json() {
        return session.output.json(&json!({
            "removed": names,
            "file": path.to_string_lossy(),
            "secrets_kept": had_secrets,
            "signed_out": signed_out,
        }));
    }
    for name in &names {
        session.output.text(format!("{GOOD}Removed{GOOD:#} {}.\n", printable(name)))?;
    }
    for name in &signed_out {
        session.output.note(format!("Its sign-in was removed: {}.", printable(name)));
    }
    if had_secrets {
        let secrets = SecretsFile::load(session)?;
        session.output.note(format!("Its secrets remain in {}.", secrets.location()));
    }
    Ok(())
}

fn confirmed(session: &Session, names: &[String]) -> Result<bool> {
    let list = names.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", ");
    Prompt::confirmed(&session.output, &format!("Remove {list}?"), &format!("removing {list}"))
}
