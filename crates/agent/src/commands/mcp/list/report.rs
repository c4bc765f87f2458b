//! Servers as rows and as JSON.

use std::time::Duration;

use mcp_client::supervisor::{ServerState, ServerStatus};
use serde_json::{Value, json};
use settings::Node;
use task_loop::Sanitizer;
use task_loop::untrusted::printable;

use crate::diagnostic::Result;
use crate::mcp::advice::{command_line, operand, test};
use crate::mcp::{McpServers, Servers, error_lines, oauth, predicate, state_word, transport};
use crate::output::DIM;
use crate::session::Session;
use crate::table::{Table, grouped};

pub(crate) fn table(all: &[ServerStatus]) -> String {
    let mut table = Table::new(["server", "transport", "era", "state", "tools", "tokens", "since"])
        .align_right(&["tools", "tokens", "since"]);
    for status in all {
        let known = |text: String| if status.era.is_some() { text } else { "-".to_owned() };
        table.row([
            status.server.clone(),
            status.transport.to_owned(),
            status.era.map_or_else(|| "-".to_owned(), |era| era.to_string()),
            state_word(&status.state).to_owned(),
            known(status.tools.to_string()),
            known(grouped(status.tokens)),
            match status.state {
                ServerState::Disabled => "-".to_owned(),
                _ => ago(status.since.elapsed()),
            },
        ]);
    }
    table.text()
}

/// The causes of bad states, and the fixes.
pub(crate) fn reasons(all: &[ServerStatus], fleet: &McpServers) -> String {
    let mut text = String::new();
    for status in all {
        let name = &printable(&status.server);
        let (why, said) = match (&status.failure, status.state.reason()) {
            (Some(failure), _) => error_lines(&fleet.shown, failure),
            (None, Some(reason)) => (fleet.shown.lines(reason, "  "), Vec::new()),
            (None, None) => (String::new(), Vec::new()),
        };
        if !why.is_empty() {
            let how = match status.state {
                ServerState::Connecting => "is connecting; the last attempt failed",
                _ => &predicate(&status.state),
            };
            text.push_str(&format!("\n{name} {how}: {why}\n"));
            text.extend(said.iter().map(|line| format!("  {line}\n")));
            text.extend(hints(status, fleet).iter().map(|hint| format!("  hint: {hint}\n")));
        }
        let left_out = status.quarantined.len() + status.skipped.len();
        if left_out > 0 {
            text.push_str(&format!(
                "\n{name}: {left_out} of its tools cannot be used; see `agent mcp tools {}`\n",
                operand(&status.server)
            ));
        }
    }
    text
}

fn hints(status: &ServerStatus, fleet: &McpServers) -> Vec<String> {
    let name = &status.server;
    let entry = fleet.servers.entries().find(|entry| entry.name == *name);
    let mut hints = match (&status.failure, entry) {
        (Some(failure), Some(entry)) => fleet.advice(failure, entry),
        _ => Vec::new(),
    };
    hints.push(format!("test it step by step with `{}`", test(name)));
    hints
}

/// All known facts of a server, for programs.
pub(crate) fn server_json(status: &ServerStatus, fleet: &McpServers) -> Value {
    let failure = status.failure.as_ref().map(|failure| error_lines(&fleet.shown, failure));
    let reason = match (&failure, status.state.reason()) {
        (Some((summary, _)), _) => Some(summary.clone()),
        (None, reason) => reason.map(str::to_owned),
    };
    let hints = if reason.is_some() { hints(status, fleet) } else { Vec::new() };
    json!({
        "name": status.server,
        "transport": status.transport,
        "era": status.era.map(|era| era.to_string()),
        "version": status.version,
        "server_info": status.server_info,
        "state": status.state.into_str(),
        "reason": reason,
        "said": failure.map(|(_, said)| said).unwrap_or_default(),
        "hints": hints,
        "next_try_seconds": status.state.next_attempt_seconds(),
        "since_seconds": status.since.elapsed().as_secs(),
        "latency_ms": status.latency.map(|time| time.as_millis()),
        "tools": status.tools,
        "tokens": status.tokens,
        "quarantined": status.quarantined.iter()
            .map(|tool| json!({ "name": tool.name, "reason": tool.reason })).collect::<Vec<_>>(),
        "skipped": status.skipped.iter()
            .map(|tool| json!({ "name": tool.native_name, "reason": tool.reason })).collect::<Vec<_>>(),
        "notes": status.notes,
    })
}

pub(super) fn configured_text(servers: &Servers, shown: &Sanitizer) -> String {
    let mut table =
        Table::new(["server", "transport", "enabled", "line", "endpoint"]).align_right(&["line"]);
    for configured in &servers.parsed.servers {
        let entry = &configured.entry;
        table.row([
            entry.name.clone(),
            transport(entry).to_owned(),
            if entry.enabled { "yes" } else { "no" }.to_owned(),
            configured.line.to_string(),
            shown.line(&command_line(entry)),
        ]);
    }
    format!("{}{DIM}{}{DIM:#}\n", table.text(), servers.path.display())
}

pub(super) fn configured_json(servers: &Servers, session: &Session) -> Result<Value> {
    // With unresolved references.
    let written = session.config()?.root.as_ref().map(Node::to_json).unwrap_or_default();
    let entries = servers.parsed.servers.iter().map(|configured| {
        let entry = &configured.entry;
        json!({
            "name": entry.name,
            "transport": transport(entry),
            "enabled": entry.enabled,
            "line": configured.line,
            "reached_by": command_line(entry),
            "entry": written["mcp_servers"].get(&entry.name),
            "signs_in": oauth(entry).is_some(),
            "is_of_project": servers.projects.contains_key(&entry.name),
        })
    });
    Ok(json!({
        "config": servers.path.to_string_lossy(),
        "servers": entries.collect::<Vec<_>>(),
        "problems": servers.problems_json(),
    }))
}

/// The age, in the largest unit that fits.
pub(super) fn ago(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
