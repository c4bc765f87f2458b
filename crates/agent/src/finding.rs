//! Findings of the commands that check a setup: `doctor`, `mcp doctor` and `gateway check`.
//!
//! Each command has its own texts and layout; scripts depend on them.

use crate::diagnostic::Diagnostic;
use crate::output::{DIM, ERROR, GOOD, WARNING};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Good,
    Advice,
    Warning,
    Error,
}

impl Severity {
    pub(crate) const fn style(self) -> anstyle::Style {
        match self {
            Self::Good => GOOD,
            Self::Advice => DIM,
            Self::Warning => WARNING,
            Self::Error => ERROR,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) what: String,
    /// The affected area, server or component.
    pub(crate) subject: Option<String>,
    pub(crate) place: Option<String>,
    pub(crate) hints: Vec<String>,
}

impl Finding {
    pub(crate) fn new(severity: Severity, what: impl Into<String>) -> Self {
        Self { severity, what: what.into(), subject: None, place: None, hints: Vec::new() }
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

    pub(crate) fn of(self, subject: impl Into<String>) -> Self {
        Self { subject: Some(subject.into()), ..self }
    }

    pub(crate) fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn subject(&self) -> &str {
        self.subject.as_deref().unwrap_or_default()
    }
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { hints: diagnostic.hints.clone(), ..Self::error(diagnostic.line()) }
    }
}

/// In the order they were found, without duplicates.
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

    pub(crate) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }

    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.all.iter().filter(|finding| finding.severity == severity).count()
    }

    pub(crate) fn worst(&self) -> Option<Severity> {
        self.all.iter().map(|finding| finding.severity).max()
    }

    pub(crate) fn has_error(&self, subject: &str) -> bool {
        let mut errors = self.all.iter().filter(|finding| finding.severity == Severity::Error);
        errors.any(|finding| finding.subject() == subject)
    }
}
