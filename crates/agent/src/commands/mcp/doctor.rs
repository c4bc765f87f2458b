//! `agent mcp doctor`: everything that could be wrong, each with what to do about it.

mod document;
mod offline;
mod online;
mod report;

use std::time::Duration;

use mcp_client::config::{Configured, ServerEntry};
use task_loop::Sanitizer;

use crate::diagnostic::{Diagnostic, Exit};
use crate::finding::{Finding, Findings};
use crate::mcp::reporter::MessageSink;
use crate::mcp::{McpServers, already_told};
use crate::session::Session;

/// Find problems with MCP servers and suggest fixes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 no problem found, 1 problems found.

Examples:
  agent mcp doctor
  agent mcp doctor files
  agent mcp doctor --offline --json")]
pub(crate) struct Args {
    /// Check only this server
    server: Option<String>,
    /// Skip checks that connect to servers
    #[arg(long)]
    offline: bool,
}

/// Whether servers are connected, and how long they are waited for at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connectivity {
    Offline,
    Online { at_most: Duration },
}

/// What was found, and what makes it fit to be shown.
#[derive(Debug)]
pub(crate) struct DoctorResult {
    pub(crate) findings: Findings,
    pub(crate) shown: Sanitizer,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let reach = if args.offline {
        Connectivity::Offline
    } else {
        Connectivity::Online { at_most: Duration::MAX }
    };
    let DoctorResult { findings, shown } = look(args.server.as_deref(), reach, session)?;
    if session.output.is_json() {
        session.output.json(&shown.json(report::json(&findings)))?;
    } else {
        session.output.text(report::text(&findings, &shown))?;
    }
    if report::is_bad(&findings) { Err(already_told(Exit::Failed)) } else { Ok(()) }
}

/// Looks at the servers, or at one, and at the files around them.
pub(crate) fn look(
    server: Option<&str>,
    reach: Connectivity,
    session: &Session,
) -> Result<DoctorResult, Diagnostic> {
    let fleet = McpServers::load(session, MessageSink::Kept)?;
    let chosen: Vec<&Configured> = match server {
        // One that has errors is not among the servers; its problems are findings.
        Some(name) if has_errors(&fleet, name) => Vec::new(),
        Some(name) => vec![fleet.servers.find(name)?],
        None => fleet.servers.parsed.servers.iter().collect(),
    };
    let mut findings = Findings::default();
    offline::configuration(&fleet.servers, server, &mut findings);
    offline::files(session, &mut findings)?;
    for configured in &chosen {
        offline::server(configured, &fleet, session, &mut findings);
    }
    let entries: Vec<_> =
        chosen.iter().map(|found| &found.entry).filter(|entry| entry.enabled).collect();
    document::unused(&entries, &mut findings);
    // What is known to fail is not tried.
    let worth_trying = |entry: &&ServerEntry| entry.enabled && !findings.has_error(&entry.name);
    let enabled: Vec<_> = chosen.iter().map(|found| &found.entry).filter(worth_trying).collect();
    if let Connectivity::Online { at_most } = reach {
        if !enabled.is_empty() {
            online::servers(&fleet, &enabled, at_most, session, &mut findings)?;
        }
        document::check(&fleet, &entries, session, &mut findings)?;
    }
    if chosen.is_empty() && server.is_none() && findings.worst().is_none() {
        findings
            .add(Finding::advice("no servers are configured").hint("add one with `agent mcp add`"));
    }
    Ok(DoctorResult { findings, shown: fleet.shown })
}

fn has_errors(fleet: &McpServers, name: &str) -> bool {
    let problems = fleet.servers.parsed.problems.iter();
    problems
        .filter(|problem| problem.is_error())
        .any(|problem| problem.section.as_deref() == Some(name))
}
