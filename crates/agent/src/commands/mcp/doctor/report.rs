//! The findings of `agent mcp doctor` as text and JSON.

use serde_json::{Value, json};
use task_loop::Sanitizer;

use crate::finding::{Finding, Findings, Severity};
use crate::table::counted;

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Good => "good",
        Severity::Advice => "advice",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

pub(super) fn is_bad(findings: &Findings) -> bool {
    findings.worst() > Some(Severity::Advice)
}

/// The worst comes last, nearest to the prompt.
pub(super) fn text(findings: &Findings, shown: &Sanitizer) -> String {
    let mut sorted: Vec<&Finding> = findings.all.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    let mut text = String::new();
    for finding in sorted {
        let style = finding.severity.style();
        let of = finding.subject.as_ref().map(|server| format!("{server}: ")).unwrap_or_default();
        let what = shown.lines(&finding.what, "         ");
        text += &format!("{style}{:<8}{style:#} {of}{what}\n", word(finding.severity));
        if let Some(place) = &finding.place {
            text += &format!("         where: {place}\n");
        }
        for hint in &finding.hints {
            text += &format!("         fix: {}\n", shown.lines(hint, "         "));
        }
    }
    text + &summary(findings)
}

fn summary(findings: &Findings) -> String {
    let (errors, warnings) = (findings.count(Severity::Error), findings.count(Severity::Warning));
    if errors + warnings == 0 {
        return "No problems found.\n".to_owned();
    }
    format!("Found {} and {}.\n", counted(errors, "error"), counted(warnings, "warning"))
}

pub(super) fn json(findings: &Findings) -> Value {
    let all = findings.all.iter().map(|finding| {
        json!({
            "severity": word(finding.severity),
            "what": finding.what,
            "server": finding.subject,
            "where": finding.place,
            "fixes": finding.hints,
        })
    });
    json!({ "healthy": !is_bad(findings), "findings": all.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests;
