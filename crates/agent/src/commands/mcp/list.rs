//! `agent mcp list`: the status of all configured servers.

pub(crate) mod report;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use mcp_client::supervisor::{ServerState, ServerStatus};
use mcp_client::{Client, ReloadReport};
use serde_json::{Value, json};
use task_loop::untrusted::printable;

use self::report::{configured_json, configured_text, reasons, server_json, table};
use crate::diagnostic::{Diagnostic, Exit, Result};
use crate::mcp::reporter::{MessageSink, changes};
use crate::mcp::{McpServers, Servers, already_reported, error_lines, problem_line, state_word};
use crate::session::Session;
use crate::table::{counted, grouped};

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

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let drawn = args.watch && !session.output.is_json() && io::stdout().is_terminal();
    let fleet =
        McpServers::load(session, if drawn { MessageSink::Kept } else { MessageSink::Notes })?;
    if drawn {
        let path = &fleet.servers.path;
        for problem in &fleet.servers.parsed.problems {
            fleet.reporter.show(problem_line(path, problem));
        }
    } else {
        fleet.servers.report_problems(session);
    }
    if args.watch {
        return run_watch(fleet, session, drawn);
    }
    if args.no_connect {
        if fleet.servers.parsed.servers.is_empty() && !session.output.is_json() {
            nothing(&fleet, session)?;
        } else {
            let value = fleet.shown.json(configured_json(&fleet.servers, session)?);
            session.output.print(&value, configured_text(&fleet.servers, &fleet.shown))?;
        }
    } else {
        let most = args.wait.map(Duration::from_secs);
        let most = most.unwrap_or_else(|| fleet.patience(fleet.servers.enabled()));
        let entries = fleet.servers.entries().cloned().collect();
        let missing = fleet.run(entries, async |client| {
            fleet.settle(client, most).await;
            show(client, &fleet, session)?;
            let required = fleet.servers.enabled().filter(|entry| entry.required);
            let missing = fleet.failures(client, required).into_iter();
            Ok(missing.map(|(entry, _)| printable(&entry.name)).collect::<Vec<_>>())
        })?;
        if !missing.is_empty() && !fleet.servers.has_errors() {
            let message = format!("required but not ready: {}", missing.join(", "));
            return Err(Diagnostic::peer(message));
        }
    }
    if fleet.servers.has_errors() {
        return Err(already_reported(Exit::Configuration));
    }
    Ok(())
}

fn show(client: &Client, fleet: &McpServers, session: &Session) -> Result {
    let all = client.status();
    if session.output.is_json() {
        let servers: Vec<_> = all.iter().map(|status| server_json(status, fleet)).collect();
        return session.output.json(&fleet.shown.json(json!({
            "config": fleet.servers.path.to_string_lossy(),
            "servers": servers,
            "problems": fleet.servers.problems_json(),
        })));
    }
    if all.is_empty() {
        return nothing(fleet, session);
    }
    session.output.text(table(&all) + &reasons(&all, fleet))
}

fn nothing(fleet: &McpServers, session: &Session) -> Result {
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

const POLL: Duration = Duration::from_secs(1);

/// Shows changes until it is interrupted, which is the normal exit.
fn run_watch(mut fleet: McpServers, session: &Session, drawn: bool) -> Result {
    let entries: Vec<_> = fleet.servers.entries().cloned().collect();
    let files = [fleet.servers.path.clone(), session.home()?.env_file()];
    let host = fleet.host.clone();
    let start = || Client::start(entries, host);
    let done = crate::mcp::block_on(start, async |client| {
        let mut watch = Watch { fleet: &mut fleet, session, drawn, seen: BTreeMap::new() };
        watch.follow(client, &files).await
    });
    match done {
        Err(end) if end.exit == Exit::Interrupted => Ok(()),
        other => other,
    }
}

struct Watch<'a> {
    fleet: &'a mut McpServers,
    session: &'a Session,
    /// Whether the screen is redrawn, or changes are printed line by line.
    drawn: bool,
    /// What was printed of each server: its state, failure, tools and tokens. A change prints a
    /// new line.
    seen: BTreeMap<String, (ServerState, Option<String>, usize, u32)>,
}

impl Watch<'_> {
    async fn follow(&mut self, client: &Client, files: &[PathBuf]) -> Result {
        let mut stamps = stamps(files);
        let mut registry = client.registry_changes();
        loop {
            self.show(client)?;
            tokio::select! {
                () = self.fleet.reporter.happened() => {}
                _ = registry.changed() => {}
                () = tokio::time::sleep(POLL) => {}
            }
            let now = self::stamps(files);
            if now != stamps {
                stamps = now;
                self.reload(client)?;
            }
        }
    }

    fn show(&mut self, client: &Client) -> Result {
        let all = client.status();
        if self.drawn {
            return self.draw(&all);
        }
        self.seen.retain(|name, _| all.iter().any(|status| status.server == *name));
        for status in &all {
            let failure = status.failure.as_ref().map(ToString::to_string);
            let now = (status.state.clone(), failure, status.tools, status.tokens);
            if self.seen.insert(status.server.clone(), now.clone()) == Some(now) {
                continue;
            }
            if self.session.output.is_json() {
                let mut line = server_json(status, self.fleet);
                line["event"] = json!("server");
                self.session.output.json_line(&self.fleet.shown.json(line))?;
            } else {
                self.session.output.text(format!("{}\n", self.line(status)))?;
            }
        }
        Ok(())
    }

    fn line(&self, status: &ServerStatus) -> String {
        let (name, word) = (&status.server, state_word(&status.state));
        let why = match (&status.failure, status.state.reason()) {
            (Some(failure), _) => Some(error_lines(&self.fleet.shown, failure).0),
            (None, reason) => reason.map(|reason| self.fleet.shown.first_line(reason)),
        };
        match why {
            Some(why) => format!("{name}: {word}: {why}"),
            None if status.state == ServerState::Ready => format!(
                "{name}: ready, {}, about {} tokens",
                counted(status.tools, "tool"),
                grouped(status.tokens)
            ),
            None => format!("{name}: {word}"),
        }
    }

    fn draw(&self, all: &[ServerStatus]) -> Result {
        let mut screen = String::from("\x1b[2J\x1b[H");
        screen.push_str(&table(all));
        screen.push_str(&reasons(all, self.fleet));
        let kept = self.fleet.reporter.messages();
        if !kept.is_empty() {
            screen.push_str(&format!("\n{}\n", kept.join("\n")));
        }
        screen.push_str("\nPress Ctrl-C to quit.\n");
        self.session.output.text(screen)
    }

    /// Applies the changed configuration, unless the file as a whole is invalid.
    fn reload(&mut self, client: &Client) -> Result {
        let servers = match Servers::load(self.session) {
            Ok(servers) => servers,
            Err(error) => return self.refused(&error.message.unwrap_or_default()),
        };
        let broken = |problem: &&mcp_client::config::Problem| {
            problem.is_error() && problem.section.is_none()
        };
        if let Some(problem) = servers.parsed.problems.iter().find(broken) {
            return self.refused(&problem_line(&servers.path, problem));
        }
        self.fleet.adopt(servers);
        let entries = self.fleet.servers.entries().cloned().collect();
        let done = client.reload(entries);
        if self.session.output.is_json() {
            let mut line = reload_json(&done);
            line["event"] = "reloaded".into();
            line["problems"] = self.fleet.servers.problems_json();
            return self.session.output.json_line(&line);
        }
        for problem in &self.fleet.servers.parsed.problems {
            self.fleet.reporter.show(problem_line(&self.fleet.servers.path, problem));
        }
        self.print_line(&reloaded_line(&done))
    }

    fn refused(&self, why: &str) -> Result {
        if self.session.output.is_json() {
            let line = json!({ "event": "not-reloaded", "reason": why });
            return self.session.output.json_line(&line);
        }
        self.print_line(&format!("the configuration was not reloaded: {why}"))
    }

    fn print_line(&self, line: &str) -> Result {
        if self.drawn {
            self.fleet.reporter.show(line.to_owned());
            return Ok(());
        }
        self.session.output.text(format!("{line}\n"))
    }
}

pub(crate) fn reload_json(done: &ReloadReport) -> Value {
    json!({
        "added": done.added,
        "removed": done.removed,
        "restarted": done.restarted,
        "adopted": done.updated,
        "kept": done.unchanged,
    })
}

pub(crate) fn reloaded_line(done: &ReloadReport) -> String {
    let changes = changes(&[
        ("added", &done.added),
        ("removed", &done.removed),
        ("restarted", &done.restarted),
        ("updated without a restart", &done.updated),
        ("unchanged", &done.unchanged),
    ]);
    format!("configuration reloaded; {changes}")
}

/// Modification time and length of each file; `None` for a missing one.
fn stamps(files: &[PathBuf]) -> Vec<Option<(Option<SystemTime>, u64)>> {
    let files = files.iter().map(|path| fs::metadata(path).ok());
    files.map(|file| file.map(|file| (file.modified().ok(), file.len()))).collect()
}

#[cfg(test)]
mod tests;
