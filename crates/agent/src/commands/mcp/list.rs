//! `agent mcp list`: every configured server and how it is.

pub(crate) mod report;
pub(crate) mod watch;

use std::io::{self, IsTerminal};
use std::time::Duration;

use mcp_client::Client;
use mcp_client::config::ServerEntry;
use serde_json::json;
use task_loop::untrusted::printable;

use self::report::{configured_json, configured_text, reasons, server_json, table};
use crate::diagnostic::{Diagnostic, Exit};
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, already_told, patience, problem_line};
use crate::session::Session;

const MAX_WAIT_SECONDS: u64 = 24 * 60 * 60;

/// List servers and their state
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Connects to every enabled server; failed servers are listed with the reason.

Exit codes: 0 success, 3 invalid configuration, 5 a server with `required: true` is not ready.

Examples:
  agent mcp list
  agent mcp list --no-connect
  agent mcp list --watch")]
pub(crate) struct Args {
    /// Keep running and show every change
    #[arg(long)]
    watch: bool,
    /// Seconds to wait for connections [default: the longest `connect_timeout`]
    #[arg(long, value_name = "SECONDS", conflicts_with = "watch",
          value_parser = clap::value_parser!(u64).range(..=MAX_WAIT_SECONDS))]
    wait: Option<u64>,
    /// Show the configuration without connecting
    #[arg(long, conflicts_with_all = ["watch", "wait"])]
    no_connect: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let drawn = args.watch && !session.output.is_json() && io::stdout().is_terminal();
    let fleet =
        McpServers::load(session, if drawn { MessageSink::Kept } else { MessageSink::Notes })?;
    if drawn {
        let path = &fleet.servers.path;
        for problem in &fleet.servers.parsed.problems {
            fleet.reporter.say(problem_line(path, problem));
        }
    } else {
        fleet.servers.tell_problems(session);
    }
    if args.watch {
        return watch::run(fleet, session, drawn);
    }
    if args.no_connect {
        show_configuration(&fleet, session)?;
    } else {
        let most = args.wait.map(Duration::from_secs);
        let most = most.unwrap_or_else(|| patience(fleet.servers.enabled()));
        let entries = fleet.servers.entries().cloned().collect();
        let missing = fleet.run(entries, async |client| {
            wait(client, &fleet, most).await;
            show(client, &fleet, session)?;
            Ok(missing(client, &fleet))
        })?;
        if !missing.is_empty() && !fleet.servers.has_errors() {
            let message = format!("required but not ready: {}", missing.join(", "));
            return Err(Diagnostic::peer(message));
        }
    }
    if fleet.servers.has_errors() {
        return Err(already_told(Exit::Configuration));
    }
    Ok(())
}

fn missing(client: &Client, fleet: &McpServers) -> Vec<String> {
    let statuses = client.status();
    let is_missing = |entry: &&ServerEntry| {
        let status = statuses.iter().find(|status| status.server == entry.name);
        entry.required && status.is_some_and(|status| fleet.unusable(entry, status).is_some())
    };
    let missing = fleet.servers.enabled().filter(is_missing);
    missing.map(|entry| printable(&entry.name)).collect()
}

/// Waits until every server is settled, and says meanwhile which ones are not.
async fn wait(client: &Client, fleet: &McpServers, most: Duration) {
    let settled = client.wait_until_settled(most);
    tokio::pin!(settled);
    loop {
        let waiting: Vec<String> = client
            .status()
            .into_iter()
            .filter(|status| !status.state.is_settled())
            .map(|status| status.server)
            .collect();
        fleet.reporter.waiting_for(format!("connecting {}", waiting.join(", ")));
        tokio::select! {
            () = &mut settled => break,
            () = fleet.reporter.happened() => {}
        }
    }
    fleet.reporter.done_waiting();
}

fn show(client: &Client, fleet: &McpServers, session: &Session) -> Result<(), Diagnostic> {
    let all = client.status();
    if session.output.is_json() {
        let servers: Vec<_> = all.iter().map(|status| server_json(status, fleet)).collect();
        return session.output.json(&fleet.shown.json(json!({
            "config": fleet.servers.path,
            "servers": servers,
            "problems": fleet.servers.problems_json(),
        })));
    }
    if all.is_empty() {
        return nothing(fleet, session);
    }
    session.output.text(table(&all))?;
    session.output.text(reasons(&all, fleet))
}

fn show_configuration(fleet: &McpServers, session: &Session) -> Result<(), Diagnostic> {
    if session.output.is_json() {
        return session.output.json(&fleet.shown.json(configured_json(&fleet.servers)));
    }
    if fleet.servers.parsed.servers.is_empty() {
        return nothing(fleet, session);
    }
    session.output.text(configured_text(&fleet.servers, &fleet.shown))
}

fn nothing(fleet: &McpServers, session: &Session) -> Result<(), Diagnostic> {
    if fleet.servers.has_errors() {
        // The configuration is invalid, and its problems were printed.
        return Ok(());
    }
    let path = fleet.servers.path.display();
    session.output.text(format!("No servers are configured in {path}.\n"))?;
    session.output.note(
        "Add one with `agent mcp add`, or import servers of other clients with `agent mcp import`.",
    );
    Ok(())
}
