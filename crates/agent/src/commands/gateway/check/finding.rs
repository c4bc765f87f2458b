//! One thing that was looked at, and how it is told.

use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::output::{DIM, ERROR, GOOD, WARNING, printable};
use crate::session::Session;
use crate::untrusted::escaped;

/// How it stands with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Odd,
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Finding {
    what: String,
    verdict: Verdict,
    text: String,
    hint: Option<String>,
}

impl Finding {
    fn new(what: impl Into<String>, verdict: Verdict, text: impl Into<String>) -> Self {
        Self { what: what.into(), verdict, text: text.into(), hint: None }
    }

    /// As it should be.
    pub(super) fn good(what: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(what, Verdict::Good, text)
    }

    /// Perhaps not as it was meant.
    pub(super) fn odd(what: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(what, Verdict::Odd, text)
    }

    /// The service cannot do its work so.
    pub(super) fn wrong(what: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(what, Verdict::Wrong, text)
    }

    /// Wrong, by what the service itself says.
    pub(super) fn problem(what: impl Into<String>, problem: gateway::Problem) -> Self {
        Self { hint: problem.hint, ..Self::wrong(what, problem.message) }
    }

    /// Wrong, because of an error.
    pub(super) fn because(what: &str, of: &str, error: &dyn std::error::Error) -> Self {
        let mut text = format!("{of}: {error}");
        let mut next = error.source();
        while let Some(error) = next {
            text.push_str(&format!(": {error}"));
            next = error.source();
        }
        Self::wrong(what, text)
    }

    /// With what to do about it.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn json(&self) -> Value {
        let verdict = match self.verdict {
            Verdict::Good => "good",
            Verdict::Odd => "odd",
            Verdict::Wrong => "wrong",
        };
        json!({ "what": self.what, "verdict": verdict, "text": self.text, "hint": self.hint })
    }
}

/// Tells all of it; fails if anything is wrong.
pub(super) fn tell(findings: &[Finding], session: &Session) -> Result<(), Diagnostic> {
    let of = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let wrong = of(Verdict::Wrong);
    if session.output.is_json() {
        let list = findings.iter().map(Finding::json).collect::<Vec<Value>>();
        session
            .output
            .json(&json!({ "findings": list, "wrong": wrong, "odd": of(Verdict::Odd) }))?;
    } else {
        session.output.text(text(findings))?;
    }
    if wrong == 0 { Ok(()) } else { Err(Diagnostic::already_told()) }
}

fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.what.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (style, mark) = match finding.verdict {
            Verdict::Good => (GOOD, "ok   "),
            Verdict::Odd => (WARNING, "odd  "),
            Verdict::Wrong => (ERROR, "wrong"),
        };
        let what = printable(&finding.what);
        // A path is not cut.
        let said = escaped(&finding.text);
        text.push_str(&format!("{style}{mark}{style:#}  {what:<width$}  {said}\n"));
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("       {:<width$}  {DIM}{hint}{DIM:#}\n", ""));
        }
    }
    text
}
