//! MCP servers and the files around them, as `agent mcp doctor` sees them.

use std::time::Duration;

use task_loop::Sanitizer;

use super::Connectivity;
use crate::commands::mcp::doctor::{self, DoctorResult};
use crate::diagnostic::{Diagnostic, Exit};
use crate::finding::{Finding, Severity};
use crate::session::Session;

/// How long servers are waited for.
const AT_MOST: Duration = Duration::from_secs(30);

pub(super) fn look(reach: Connectivity, session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    let reach = match reach {
        Connectivity::Offline => doctor::Connectivity::Offline,
        Connectivity::Online => doctor::Connectivity::Online { at_most: AT_MOST },
    };
    let DoctorResult { findings, shown } = match doctor::look(None, reach, session) {
        Ok(looked) => looked,
        Err(stopped) if is_signal(stopped.exit) => return Err(stopped),
        Err(diagnostic) => return Ok(vec![Finding::from(diagnostic).of("servers")]),
    };
    let mut checks = Vec::new();
    for finding in &findings.all {
        let is_shown = match finding.severity {
            Severity::Error | Severity::Warning => true,
            // The last good finding of a server is enough.
            Severity::Good => is_last(finding, &findings.all),
            Severity::Advice => false,
        };
        if is_shown {
            checks.push(check(finding, &shown));
        }
    }
    if !findings.all.iter().any(|finding| finding.subject.is_some()) {
        checks.push(Finding::good("no MCP servers are configured").of("servers"));
    }
    Ok(checks)
}

fn is_signal(exit: Exit) -> bool {
    matches!(exit, Exit::Interrupted | Exit::HungUp | Exit::Quit | Exit::Terminated)
}

fn is_last(finding: &Finding, all: &[Finding]) -> bool {
    let mut of_server = all.iter().rev().filter(|other| other.subject == finding.subject);
    let is_bad = all
        .iter()
        .any(|other| other.subject == finding.subject && other.severity > Severity::Advice);
    !is_bad && of_server.find(|other| other.severity == Severity::Good) == Some(finding)
}

fn check(finding: &Finding, shown: &Sanitizer) -> Finding {
    let what = shown.lines(&finding.what, "");
    let (area, what) = match (&finding.subject, &finding.place) {
        (Some(server), _) => ("servers", format!("{server}: {what}")),
        (None, Some(place)) => ("files", format!("{place}: {what}")),
        (None, None) => ("files", what),
    };
    let of = Finding::new(finding.severity, what).of(area);
    let of = finding.hints.iter().fold(of, |of, hint| of.hint(shown.lines(hint, "")));
    if finding.subject.is_some() && finding.severity == Severity::Error {
        of.hint("run `agent mcp doctor` for details")
    } else {
        of
    }
}
