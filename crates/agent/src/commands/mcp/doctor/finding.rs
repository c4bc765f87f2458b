//! What a doctor finds, and how it is told.

use serde_json::{Value, json};

use crate::mcp::sanitizer::Sanitizer;
use crate::mcp::table::counted;
use crate::output::{DIM, ERROR, GOOD, WARNING};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// It is as it should be.
    Good,
    /// It could be better.
    Advice,
    /// It may hurt.
    Warning,
    /// It does not work.
    Error,
}

impl Severity {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Advice => "advice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    const fn style(self) -> anstyle::Style {
        match self {
            Self::Good => GOOD,
            Self::Advice => DIM,
            Self::Warning => WARNING,
            Self::Error => ERROR,
        }
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) what: String,
    pub(crate) server: Option<String>,
    pub(crate) place: Option<String>,
    pub(crate) fixes: Vec<String>,
}

impl Finding {
    fn new(severity: Severity, what: impl Into<String>) -> Self {
        Self { severity, what: what.into(), server: None, place: None, fixes: Vec::new() }
    }

    pub(crate) fn good(what: impl Into<String>) -> Self {
        Self::new(Severity::Good, what)
    }

    pub(crate) fn advice(what: impl Into<String>) -> Self {
        Self::new(Severity::Advice, what)
    }

    pub(crate) fn warning(what: impl Into<String>) -> Self {
        Self::new(Severity::Warning, what)
    }

    pub(crate) fn error(what: impl Into<String>) -> Self {
        Self::new(Severity::Error, what)
    }

    pub(crate) fn of(self, server: &str) -> Self {
        Self { server: Some(server.to_owned()), ..self }
    }

    pub(crate) fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fixes.push(fix.into());
        self
    }
}

/// All of them, in the order they were found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) all: Vec<Finding>,
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Finding) {
        if !self.all.contains(&finding) {
            self.all.push(finding);
        }
    }

    /// Whether a server certainly does not work.
    pub(crate) fn has_error(&self, server: &str) -> bool {
        let mut errors = self.all.iter().filter(|finding| finding.severity == Severity::Error);
        errors.any(|finding| finding.server.as_deref() == Some(server))
    }

    /// The worst there is.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.all.iter().map(|finding| finding.severity).max()
    }

    /// Whether something is worse than advice.
    pub(crate) fn is_bad(&self) -> bool {
        self.worst() > Some(Severity::Advice)
    }

    /// For a person: the worst last, where it is seen.
    pub(crate) fn text(&self, shown: &Sanitizer) -> String {
        let mut sorted: Vec<&Finding> = self.all.iter().collect();
        sorted.sort_by_key(|finding| finding.severity);
        let mut text = String::new();
        for finding in sorted {
            let style = finding.severity.style();
            let of = finding.server.as_ref().map(|server| format!("{server}: "));
            let what = shown.lines(&finding.what, "         ");
            text.push_str(&format!(
                "{style}{:<8}{style:#} {}{what}\n",
                finding.severity.word(),
                of.unwrap_or_default()
            ));
            if let Some(place) = &finding.place {
                text.push_str(&format!("         where: {place}\n"));
            }
            for fix in &finding.fixes {
                text.push_str(&format!("         fix: {}\n", shown.lines(fix, "         ")));
            }
        }
        text + &self.summary()
    }

    fn summary(&self) -> String {
        let count =
            |severity| self.all.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        if errors + warnings == 0 {
            return "Nothing wrong was found.\n".to_owned();
        }
        format!("Found {} and {}.\n", counted(errors, "error"), counted(warnings, "warning"))
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let findings = self.all.iter().map(|finding| {
            json!({
                "severity": finding.severity.word(),
                "what": finding.what,
                "server": finding.server,
                "where": finding.place,
                "fixes": finding.fixes,
            })
        });
        json!({ "healthy": !self.is_bad(), "findings": findings.collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_worse_than_advice_is_bad() {
        let mut findings = Findings::default();
        findings.add(Finding::good("x"));
        findings.add(Finding::advice("y"));
        assert!(!findings.is_bad());
        findings.add(Finding::warning("z"));
        assert!(findings.is_bad());
    }

    #[test]
    fn the_same_is_found_once() {
        let mut findings = Findings::default();
        findings.add(Finding::error("x").of("a"));
        findings.add(Finding::error("x").of("a"));
        findings.add(Finding::error("x").of("b"));
        assert_eq!(findings.summary(), "Found 2 errors and 0 warnings.\n");
    }
}
