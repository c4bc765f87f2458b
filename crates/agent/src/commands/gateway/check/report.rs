//! The findings of `agent gateway check` as text and JSON.

use serde_json::{Value, json};
use task_loop::untrusted::{escaped, printable};

use crate::diagnostic::Diagnostic;
use crate::finding::{Finding, Findings, Severity};
use crate::output::DIM;
use crate::session::Session;

/// Prints the findings; fails if there is an error.
pub(super) fn print(findings: &Findings, session: &Session) -> Result<(), Diagnostic> {
    let wrong = findings.count(Severity::Error);
    if session.output.is_json() {
        let odd = findings.count(Severity::Warning);
        let list = findings.all.iter().map(json).collect::<Vec<Value>>();
        session.output.json(&json!({ "findings": list, "wrong": wrong, "odd": odd }))?;
    } else {
        session.output.text(text(findings))?;
    }
    if wrong == 0 { Ok(()) } else { Err(Diagnostic::already_told()) }
}

fn json(finding: &Finding) -> Value {
    let verdict = match finding.severity {
        Severity::Good | Severity::Advice => "good",
        Severity::Warning => "odd",
        Severity::Error => "wrong",
    };
    let hint = finding.hints.first();
    json!({ "what": finding.subject, "verdict": verdict, "text": finding.what, "hint": hint })
}

fn text(findings: &Findings) -> String {
    let subjects = findings.all.iter().map(Finding::subject);
    let width = subjects.map(|subject| subject.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in &findings.all {
        let mark = match finding.severity {
            Severity::Good | Severity::Advice => "ok   ",
            Severity::Warning => "warn ",
            Severity::Error => "error",
        };
        let style = finding.severity.style();
        let subject = printable(finding.subject());
        // A path is not cut.
        let what = escaped(&finding.what);
        text += &format!("{style}{mark}{style:#}  {subject:<width$}  {what}\n");
        for hint in &finding.hints {
            text += &format!("       {:<width$}  {DIM}{hint}{DIM:#}\n", "");
        }
    }
    text
}
