//! `agent mcp logout`: revokes and deletes a sign-in.

use std::path::Path;

use mcp_client::config::{Auth, Endpoint, HttpEndpoint, ServerEntry};
use mcp_client::oauth::{Account, token_files};
use serde::Serialize;
use serde_json::json;
use task_loop::untrusted::printable;

use crate::config::remove_file;
use crate::diagnostic::Result;
use crate::mcp::McpServers;
use crate::mcp::reporter::MessageSink;
use crate::output::GOOD;
use crate::prompt::Prompt;
use crate::session::Session;
use crate::table::counted;

/// Placeholder address of unconfigured servers; nothing is sent to it.
const NOWHERE: &str = "https://server.invalid/";

/// Sign out of a server and revoke its tokens
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Deletes the tokens and the client registration of a server, even if it is no longer configured. \
Tokens are revoked if the authorization server supports it.

Examples:
  agent mcp logout docs
  agent mcp logout --all --yes")]
pub(crate) struct Args {
    /// Server name
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    server: Option<String>,
    /// Sign out of all servers
    #[arg(long)]
    all: bool,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct SignedOut {
    #[serde(rename = "server")]
    pub(super) name: String,
    issuer: Option<String>,
    pub(super) had: bool,
    #[serde(rename = "given_back")]
    revoked: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let fleet = McpServers::load(session, MessageSink::Notes)?;
    let folder = session.home()?.mcp_tokens();
    let entries = match &args.server {
        Some(name) => {
            fleet.servers.check_file()?;
            vec![named(name, &fleet)?]
        }
        None => every(&fleet, &folder),
    };
    if args.all && !args.yes && !confirmed(session, &folder)? {
        session.output.note("No sign-ins were removed.");
        return Ok(());
    }
    let mut done = sign_out(&fleet, &entries)?;
    if args.all {
        done.retain(|signed_out| signed_out.had);
        // Files that belong to no known server.
        for stem in token_files::stems(&folder) {
            for file in token_files::files(&folder, &stem) {
                remove_file(&file)?;
            }
            done.push(SignedOut { name: stem, issuer: None, had: true, revoked: false });
        }
    }
    if session.output.is_json() {
        return session.output.json(&json!({ "signed_out": done }));
    }
    for signed_out in &done {
        session.output.text(signed_out.line())?;
    }
    if done.is_empty() {
        session.output.text("No server was signed in.\n")?;
    }
    Ok(())
}

/// The server with this name, or a placeholder if it is no longer configured.
fn named(name: &str, fleet: &McpServers) -> Result<ServerEntry> {
    let configured = fleet.servers.entries().find(|entry| entry.name == name);
    if let Some(entry) = configured {
        return Ok(as_signing_in(entry));
    }
    let gone = removed_entry(name);
    if has_stored_tokens(&gone, fleet) {
        return Ok(gone);
    }
    fleet.servers.find(name).map(|found| found.entry.clone())
}

fn every(fleet: &McpServers, folder: &Path) -> Vec<ServerEntry> {
    let mut entries: Vec<ServerEntry> = fleet.servers.entries().map(as_signing_in).collect();
    for stem in token_files::stems(folder) {
        let entry = removed_entry(&stem);
        let stands_for_itself = fleet.account(&entry).is_some_and(|account| account.stem() == stem);
        if stands_for_itself && !entries.iter().any(|known| known.name == stem) {
            entries.push(entry);
        }
    }
    entries.retain(|entry| has_stored_tokens(entry, fleet));
    entries
}

fn removed_entry(name: &str) -> ServerEntry {
    let auth = Auth::OAuth(Box::default());
    ServerEntry::new(
        name,
        Endpoint::Http(Box::new(HttpEndpoint { auth, ..HttpEndpoint::new(NOWHERE) })),
    )
}

/// The entry with sign-in enabled: files of an earlier sign-in may exist.
pub(super) fn as_signing_in(entry: &ServerEntry) -> ServerEntry {
    let mut entry = entry.clone();
    match &mut entry.endpoint {
        Endpoint::Http(http) => {
            if http.auth == Auth::Static {
                http.auth = Auth::OAuth(Box::default());
            }
            entry
        }
        Endpoint::Stdio(_) => removed_entry(&entry.name),
    }
}

pub(super) fn has_stored_tokens(entry: &ServerEntry, fleet: &McpServers) -> bool {
    fleet.account(entry).is_some_and(|account| account.has_files())
}

pub(super) fn sign_out(fleet: &McpServers, entries: &[ServerEntry]) -> Result<Vec<SignedOut>> {
    let accounts: Vec<(&ServerEntry, Account)> =
        entries.iter().filter_map(|entry| Some((entry, fleet.account(entry)?))).collect();
    fleet.run(Vec::new(), async |_| {
        let mut done = Vec::new();
        for (entry, account) in &accounts {
            fleet.reporter.waiting_for(format!("signing out of {}", printable(&entry.name)));
            let before = account.status();
            let ended = account.logout().await.map_err(|error| fleet.problem(entry, &error))?;
            done.push(SignedOut {
                name: entry.name.clone(),
                issuer: before.granted.map(|granted| granted.issuer),
                had: ended.had_tokens,
                revoked: ended.revoked,
            });
        }
        Ok(done)
    })
}

fn confirmed(session: &Session, folder: &Path) -> Result<bool> {
    let count = token_files::stems(folder).len();
    if count == 0 {
        return Ok(true);
    }
    let question = format!("Remove {} from {}?", counted(count, "sign-in"), folder.display());
    Prompt::confirmed(&session.output, &question, "removing every sign-in")
}

impl SignedOut {
    fn line(&self) -> String {
        let name = printable(&self.name);
        if !self.had {
            return format!("{name} was not signed in; nothing was removed.\n");
        }
        let back = match (&self.issuer, self.revoked) {
            (Some(issuer), true) => format!("; {} revoked the tokens", printable(issuer)),
            (Some(issuer), false) => format!(
                "; {} did not revoke the tokens, which stay valid until they expire",
                printable(issuer)
            ),
            (None, _) => String::new(),
        };
        format!("{GOOD}Signed out{GOOD:#} of {name}{back}\n")
    }
}
