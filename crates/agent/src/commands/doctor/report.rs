//! The findings of `agent doctor` as text and JSON.

use serde_json::{Value, json};
use task_loop::untrusted::printable;

use crate::finding::{Finding, Findings, Severity};
use crate::table::counted;

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Good | Severity::Advice => "ok",
        Severity::Warning => "warning",
        Severity::Error => "problem",
    }
}

pub(super) fn is_healthy(findings: &Findings) -> bool {
    findings.count(Severity::Error) == 0
}

pub(super) fn text(findings: &Findings) -> String {
    let width = findings.all.iter().map(|finding| finding.subject().len()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in &findings.all {
        let Finding { severity, what, hints, .. } = finding;
        let (style, word) = (severity.style(), word(*severity));
        let (area, what) = (finding.subject(), line(what));
        text += &format!("{style}{word:<7}{style:#}  {area:<width$}  {what}\n");
        for hint in hints {
            text += &format!("{:width$}hint: {}\n", "", line(hint), width = width + 11);
        }
    }
    let (problems, warnings) = (findings.count(Severity::Error), findings.count(Severity::Warning));
    text + &match (problems, warnings) {
        (0, 0) => "No problems found.\n".to_owned(),
        (0, _) => format!("No problems found; {}.\n", counted(warnings, "warning")),
        _ => format!("{}, {}.\n", counted(problems, "problem"), counted(warnings, "warning")),
    }
}

pub(super) fn json(findings: &Findings) -> Value {
    let checks = findings.all.iter().map(|Finding { subject, severity, what, hints, .. }| {
        json!({ "area": subject, "state": word(*severity), "what": what, "hints": hints })
    });
    json!({
        "healthy": is_healthy(findings),
        "problems": findings.count(Severity::Error),
        "warnings": findings.count(Severity::Warning),
        "checks": checks.collect::<Vec<_>>(),
    })
}

/// On one line, however long; what cannot be shown is not.
fn line(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join(" ")
}

fn shown(text: &str) -> String {
    if text.chars().any(char::is_control) { printable(text) } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
