//! `agent mcp status`: who is signed in where, from what is kept; nothing is connected.

use std::collections::BTreeSet;

use mcp_client::config::ServerEntry;
use mcp_client::oauth::{SignInStatus, token_files};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use super::sign_in_state::{State, expiry, known_by, now, standing_json};
use crate::diagnostic::Diagnostic;
use crate::duration::length;
use crate::mcp::advice::sign_in::{login, logout};
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, is_alone};
use crate::output::{DIM, GOOD, WARNING};
use crate::session::Session;
use crate::table::{Alignment, Table};

/// Show the sign-in state of servers with `auth: oauth`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows stored state without connecting.

Exit codes: 0 success, 3 unknown server, 4 the named server is not signed in or its sign-in has \
expired.

Examples:
  agent mcp status
  agent mcp status docs
  agent mcp status --json")]
pub(crate) struct Args {
    /// Show the details of this server
    server: Option<String>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let fleet = McpServers::load(session, MessageSink::Kept)?;
    fleet.servers.whole()?;
    match &args.server {
        Some(name) => one(&fleet.servers.find(name)?.entry, &fleet, session),
        None => all(&fleet, session),
    }
}

fn one(entry: &ServerEntry, fleet: &McpServers, session: &Session) -> Result<(), Diagnostic> {
    let name = printable(&entry.name);
    let Some(standing) = fleet.standing(entry) else {
        if session.output.is_json() {
            return session.output.json(&json!({ "server": entry.name, "oauth": false }));
        }
        session.output.text(format!("{name} does not sign in: `auth: oauth` is not set.\n"))?;
        return Ok(());
    };
    let state = State::of(entry, &standing, now(session));
    if session.output.is_json() {
        session.output.json(&standing_json(entry, &standing, session))?;
    } else {
        session.output.text(detail(entry, &standing, session))?;
    }
    if state.is_good() {
        return Ok(());
    }
    let (what, hint) = match state {
        State::Expired => (format!("the sign-in to `{name}` has expired"), "sign in again with"),
        _ if is_alone(entry) => {
            (format!("cannot read the token of `{name}`"), "get a new one with")
        }
        _ => (format!("server `{name}` is not signed in"), "sign in with"),
    };
    Err(Diagnostic::sign_in(what).hint(format!("{hint} {}", login(&entry.name))))
}

fn detail(entry: &ServerEntry, standing: &SignInStatus, session: &Session) -> String {
    let state = State::of(entry, standing, now(session));
    let style = if state.is_good() { GOOD } else { WARNING };
    let name = printable(&entry.name);
    let mut text = format!("{name}: {style}{}{style:#}\n", state.word());
    let mut line = |label: &str, value: &str| {
        text.push_str(&format!("  {label:<9} {}\n", printable(value)));
    };
    if let Some(granted) = &standing.granted {
        line("issuer", &granted.issuer);
        line("scope", granted.scope.as_deref().unwrap_or("-"));
        line("expires", &expiry(granted, session));
        let age = now(session).saturating_sub(granted.obtained_at);
        line("granted", &format!("{} ago", length(age)));
        if granted.bound {
            line("bound", "to a key on this machine (DPoP)");
        }
    }
    if let Some(reason) = &standing.unreadable {
        line("problem", &format!("the file {reason}"));
    }
    let (kind, id) = known_by(&standing.client);
    line("client", &id.map_or_else(|| "none yet".to_owned(), |id| format!("{kind} {id}")));
    if standing.document_refused {
        line("document", "rejected by the authorization server; the next login tries it again");
    }
    // A path is not cut.
    text.push_str(&format!("  {:<9} {}\n", "file", standing.file.display()));
    text
}

fn all(fleet: &McpServers, session: &Session) -> Result<(), Diagnostic> {
    let mut known = BTreeSet::new();
    let accounts = fleet.servers.entries().filter_map(|entry| {
        known.insert(fleet.account(entry)?.stem().to_owned());
        Some((entry, fleet.standing(entry)?))
    });
    let accounts: Vec<(&ServerEntry, SignInStatus)> = accounts.collect();
    let folder = session.home()?.mcp_tokens();
    let orphans: Vec<String> =
        token_files::stems(&folder).into_iter().filter(|stem| !known.contains(stem)).collect();
    if session.output.is_json() {
        let servers =
            accounts.iter().map(|(entry, standing)| standing_json(entry, standing, session));
        return session.output.json(&json!({
            "folder": folder,
            "servers": servers.collect::<Vec<Value>>(),
            "without_server": orphans,
        }));
    }
    if accounts.is_empty() {
        session.output.text("No server has `auth: oauth`.\n")?;
    } else {
        session.output.text(table(&accounts, session))?;
        session.output.text(format!("{DIM}{}{DIM:#}\n", folder.display()))?;
    }
    for (entry, standing) in &accounts {
        let name = &entry.name;
        if !State::of(entry, standing, now(session)).is_good() {
            session.output.note(format!("Run {} to sign in to {}.", login(name), printable(name)));
        }
    }
    for orphan in &orphans {
        let what = printable(orphan);
        session.output.note(format!(
            "Token files exist for `{what}`, which no longer signs in; remove them with {}.",
            if orphan.contains('~') {
                "`agent mcp logout --all`".to_owned()
            } else {
                logout(orphan)
            }
        ));
    }
    Ok(())
}

fn table(accounts: &[(&ServerEntry, SignInStatus)], session: &Session) -> String {
    let mut table = Table::new([
        ("server", Alignment::Left),
        ("state", Alignment::Left),
        ("expires", Alignment::Left),
        ("client", Alignment::Left),
        ("issuer", Alignment::Left),
        ("scope", Alignment::Left),
    ]);
    for (entry, standing) in accounts {
        let granted = standing.granted.as_ref();
        let nothing = || "-".to_owned();
        let (kind, _) = known_by(&standing.client);
        let refused = if standing.document_refused { ", document rejected" } else { "" };
        table.row([
            entry.name.clone(),
            State::of(entry, standing, now(session)).word().to_owned(),
            granted.map_or_else(nothing, |granted| expiry(granted, session)),
            format!("{kind}{refused}"),
            granted.map_or_else(nothing, |granted| granted.issuer.clone()),
            granted.and_then(|granted| granted.scope.clone()).unwrap_or_else(nothing),
        ]);
    }
    table.text()
}
