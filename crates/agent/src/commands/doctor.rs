//! `agent doctor`: everything the program needs, each with what to do where it is not well.

mod files;
#[cfg(feature = "local-model")]
mod models;
mod report;
mod servers;
mod service;
mod standing;

use std::thread;

use crate::diagnostic::Diagnostic;
use crate::finding::{Finding, Findings, Severity};
use crate::session::Session;

/// Check your setup and suggest fixes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Checks the home folder, the configuration, the key, the member service, MCP servers, metrics, \
updates, model files, the disk and the clock.

Exit codes: 0 no problem found, 1 problems found.

Examples:
  agent doctor
  agent doctor --offline
  agent doctor --json")]
pub(crate) struct Args {
    /// Skip checks that use the network
    #[arg(long)]
    offline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connectivity {
    Offline,
    Online,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Diagnostic> {
    let reach = if args.offline { Connectivity::Offline } else { Connectivity::Online };
    let mut findings = Findings::default();
    findings.extend(files::home(session)?);
    let configuration = files::configuration(session)?;
    let is_readable = configuration.severity != Severity::Error;
    findings.add(configuration);
    findings.extend(if is_readable { everything(reach, session)? } else { Vec::new() });
    #[cfg(feature = "local-model")]
    findings.extend(models::look(session)?);
    findings.extend(files::disk(session)?);
    if session.output.is_json() {
        session.output.json(&report::json(&findings))?;
    } else {
        session.output.text(report::text(&findings))?;
    }
    if report::is_healthy(&findings) { Ok(()) } else { Err(Diagnostic::already_told()) }
}

/// What needs a configuration that can be read, all at the same time.
fn everything(reach: Connectivity, session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    thread::scope(|scope| {
        let service = scope.spawn(|| service::look(reach, session));
        let servers = scope.spawn(|| servers::look(reach, session));
        let mut checks = Vec::new();
        let standing = [standing::metrics(session), standing::updates(session)];
        for looked in [service, servers] {
            // A panic is a bug of ours wherever it happens.
            let looked = looked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            checks.extend(looked?);
        }
        checks.extend(standing);
        Ok(checks)
    })
}
