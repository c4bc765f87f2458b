//! MCP servers and the files around them, as `agent mcp doctor` sees them.

use std::time::Duration;

use super::Connectivity;
use super::report::{Check, State};
use crate::commands::mcp::doctor::finding::{Finding, Severity};
use crate::commands::mcp::doctor::{self, DoctorResult};
use crate::diagnostic::{Diagnostic, Exit};
use crate::mcp::sanitizer::Sanitizer;
use crate::session::Session;

/// How long servers are waited for.
const AT_MOST: Duration = Duration::from_secs(30);

/// Looks at all servers.
pub(super) fn look(reach: Connectivity, session: &Session) -> Result<Vec<Check>, Diagnostic> {
    let reach = match reach {
        Connectivity::Offline => doctor::Connectivity::Offline,
        Connectivity::Online => doctor::Connectivity::Online { at_most: AT_MOST },
    };
    let DoctorResult { findings, shown } = match doctor::look(None, reach, session) {
        Ok(looked) => looked,
        Err(stopped) if is_signal(stopped.exit) => return Err(stopped),
        Err(diagnostic) => return Ok(vec![Check::of("servers", diagnostic)]),
    };
    let mut checks = Vec::new();
    for finding in &findings.all {
        match finding.severity {
            Severity::Error => checks.push(check(finding, State::Problem, &shown)),
            Severity::Warning => checks.push(check(finding, State::Warning, &shown)),
            // The last good word on a server is enough.
            Severity::Good if is_last(finding, &findings.all) => {
                checks.push(check(finding, State::Ok, &shown));
            }
            Severity::Good | Severity::Advice => {}
        }
    }
    if !findings.all.iter().any(|finding| finding.server.is_some()) {
        checks.push(Check::ok("servers", "no MCP servers are configured"));
    }
    Ok(checks)
}

fn is_signal(exit: Exit) -> bool {
    matches!(exit, Exit::Interrupted | Exit::HungUp | Exit::Quit | Exit::Terminated)
}

fn is_last(finding: &Finding, all: &[Finding]) -> bool {
    let mut of_server = all.iter().rev().filter(|other| other.server == finding.server);
    let is_bad =
        all.iter().any(|other| other.server == finding.server && other.severity > Severity::Advice);
    !is_bad && of_server.find(|other| other.severity == Severity::Good) == Some(finding)
}

fn check(finding: &Finding, state: State, shown: &Sanitizer) -> Check {
    let what = shown.lines(&finding.what, "");
    let of = match (&finding.server, &finding.place) {
        (Some(server), _) => Check::new("servers", state, format!("{server}: {what}")),
        (None, Some(place)) => Check::new("files", state, format!("{place}: {what}")),
        (None, None) => Check::new("files", state, what),
    };
    let of = finding.fixes.iter().fold(of, |of, fix| of.hint(shown.lines(fix, "")));
    match (&finding.server, state) {
        (Some(_), State::Problem) => of.hint("`agent mcp doctor` says more"),
        _ => of,
    }
}
