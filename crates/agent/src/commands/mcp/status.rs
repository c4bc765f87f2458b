//! `agent mcp status`: the stored sign-ins, as text and as JSON, without connecting.

use std::collections::BTreeSet;

use mcp_client::config::ServerEntry;
use mcp_client::oauth::{ClientKind, Grant, SignInStatus, token_files};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use crate::diagnostic::{Diagnostic, Result};
use crate::duration::length;
use crate::mcp::advice::sign_in::{login, logout};
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, is_alone};
use crate::output::{DIM, GOOD, WARNING};
use crate::session::Session;
use crate::table::Table;

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

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let fleet = McpServers::load(session, MessageSink::Kept)?;
    fleet.servers.check_file()?;
    match &args.server {
        Some(name) => one(&fleet.servers.find(name)?.entry, &fleet, session),
        None => all(&fleet, session),
    }
}

fn one(entry: &ServerEntry, fleet: &McpServers, session: &Session) -> Result {
    let name = printable(&entry.name);
    let Some(standing) = fleet.standing(entry) else {
        let text = format!("{name} does not sign in: `auth: oauth` is not set.\n");
        return session.output.print(&json!({ "server": entry.name, "oauth": false }), text);
    };
    let now = now(session);
    let state = State::of(entry, &standing, now);
    session.output.print(&standing_json(entry, &standing, now), detail(entry, &standing, now))?;
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

fn detail(entry: &ServerEntry, standing: &SignInStatus, now: u64) -> String {
    let state = State::of(entry, standing, now);
    let style = if state.is_good() { GOOD } else { WARNING };
    let name = printable(&entry.name);
    let mut text = format!("{name}: {style}{}{style:#}\n", state.as_str());
    let mut line = |label: &str, value: &str| {
        text.push_str(&format!("  {label:<9} {}\n", printable(value)));
    };
    if let Some(granted) = &standing.granted {
        line("issuer", &granted.issuer);
        line("scope", granted.scope.as_deref().unwrap_or("-"));
        line("expires", &expiry(granted, now));
        let age = now.saturating_sub(granted.obtained_at);
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
    if standing.in_keychain {
        line("stored", "in the keychain");
    }
    // A path is not truncated.
    text.push_str(&format!("  {:<9} {}\n", "file", standing.file.display()));
    text
}

fn all(fleet: &McpServers, session: &Session) -> Result {
    let mut known = BTreeSet::new();
    let accounts = fleet.servers.entries().filter_map(|entry| {
        known.insert(fleet.account(entry)?.stem().to_owned());
        Some((entry, fleet.standing(entry)?))
    });
    let accounts: Vec<(&ServerEntry, SignInStatus)> = accounts.collect();
    let (folder, now) = (session.home()?.mcp_tokens(), now(session));
    let orphans: Vec<String> =
        token_files::stems(&folder).into_iter().filter(|stem| !known.contains(stem)).collect();
    if session.output.is_json() {
        let servers = accounts.iter().map(|(entry, standing)| standing_json(entry, standing, now));
        return session.output.json(&json!({
            "folder": folder.to_string_lossy(),
            "servers": servers.collect::<Vec<Value>>(),
            "without_server": orphans,
        }));
    }
    if accounts.is_empty() {
        session.output.text("No server has `auth: oauth`.\n")?;
    } else {
        session.output.text(table(&accounts, now))?;
        session.output.text(format!("{DIM}{}{DIM:#}\n", folder.display()))?;
    }
    for (entry, standing) in &accounts {
        let name = &entry.name;
        if !State::of(entry, standing, now).is_good() {
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

fn table(accounts: &[(&ServerEntry, SignInStatus)], now: u64) -> String {
    let mut table = Table::new(["server", "state", "expires", "client", "issuer", "scope"]);
    for (entry, standing) in accounts {
        let granted = standing.granted.as_ref();
        let nothing = || "-".to_owned();
        let (kind, _) = known_by(&standing.client);
        let refused = if standing.document_refused { ", document rejected" } else { "" };
        table.row([
            entry.name.clone(),
            State::of(entry, standing, now).as_str().to_owned(),
            granted.map_or_else(nothing, |granted| expiry(granted, now)),
            format!("{kind}{refused}"),
            granted.map_or_else(nothing, |granted| granted.issuer.clone()),
            granted.and_then(|granted| granted.scope.clone()).unwrap_or_else(nothing),
        ]);
    }
    table.text()
}

/// Now, in Unix seconds.
pub(super) fn now(session: &Session) -> u64 {
    u64::try_from(session.clock.now().as_ms() / 1000).unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A valid or renewable grant exists.
    SignedIn,
    /// The grant has expired; a person has to sign in again.
    Expired,
    /// The program gets a grant without a person.
    Alone,
    /// The file is unusable.
    Unreadable,
    SignedOut,
}

impl State {
    pub(super) fn of(entry: &ServerEntry, standing: &SignInStatus, now: u64) -> Self {
        match (&standing.granted, &standing.unreadable) {
            (Some(granted), _) if has_ended(granted, now) => Self::Expired,
            (Some(_), _) => Self::SignedIn,
            (None, Some(_)) => Self::Unreadable,
            (None, None) if is_alone(entry) => Self::Alone,
            (None, None) => Self::SignedOut,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::SignedIn => "signed in",
            Self::Expired => "expired",
            Self::Alone => "signs in by itself",
            Self::Unreadable => "unreadable",
            Self::SignedOut => "not signed in",
        }
    }

    pub(super) fn is_good(self) -> bool {
        matches!(self, Self::SignedIn | Self::Alone)
    }
}

fn has_ended(granted: &Grant, now: u64) -> bool {
    !granted.renewable && granted.expires_at.is_some_and(|end| end <= now)
}

pub(super) fn expiry(granted: &Grant, now: u64) -> String {
    match (granted.expires_at, granted.renewable) {
        (None, _) => "unknown".to_owned(),
        (Some(end), true) if end > now => {
            format!("in {}, renewed automatically", length(end - now))
        }
        (Some(end), false) if end > now => format!("in {}", length(end - now)),
        (Some(end), true) => format!("expired {} ago, renewed automatically", length(now - end)),
        (Some(end), false) => format!("expired {} ago; sign in again", length(now - end)),
    }
}

/// Our identity at the authorization server.
pub(super) fn known_by(client: &ClientKind) -> (&'static str, Option<&str>) {
    match client {
        ClientKind::Configured(id) => ("configured client", Some(id)),
        ClientKind::Document(url) => ("document", Some(url)),
        ClientKind::Registered(id) => ("registration", Some(id)),
        ClientKind::Unknown => ("-", None),
    }
}

pub(super) fn standing_json(entry: &ServerEntry, standing: &SignInStatus, now: u64) -> Value {
    let (kind, id) = known_by(&standing.client);
    let kind = id.map(|_| kind.replace(' ', "_"));
    let granted = standing.granted.as_ref();
    json!({
        "server": entry.name,
        "state": State::of(entry, standing, now).as_str(),
        "signed_in": granted.is_some_and(|granted| !has_ended(granted, now)),
        "needs_person": !is_alone(entry),
        "unreadable": standing.unreadable,
        "issuer": granted.map(|granted| &granted.issuer),
        "scope": granted.and_then(|granted| granted.scope.as_ref()),
        "expires_at": granted.and_then(|granted| granted.expires_at),
        "expired": granted.and_then(|granted| granted.expires_at).map(|end| end <= now),
        "obtained_at": granted.map(|granted| granted.obtained_at),
        "renewable": granted.map(|granted| granted.renewable),
        "bound_to_key": granted.map(|granted| granted.bound),
        "client": { "kind": kind, "id": id },
        "document_refused": standing.document_refused,
        "file": standing.file.to_string_lossy(),
    })
}

#[cfg(test)]
mod tests;
