//! What was looked at, and how it is told.

use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::mcp::table::counted;
use crate::output::{ERROR, GOOD, WARNING, printable};

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Ok,
    Warning,
    Problem,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }

    const fn style(self) -> anstyle::Style {
        match self {
            Self::Ok => GOOD,
            Self::Warning => WARNING,
            Self::Problem => ERROR,
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    area: &'static str,
    state: State,
    what: String,
    hints: Vec<String>,
}

impl Check {
    pub(super) fn new(area: &'static str, state: State, what: impl Into<String>) -> Self {
        Self { area, state, what: what.into(), hints: Vec::new() }
    }

    pub(super) fn ok(area: &'static str, what: impl Into<String>) -> Self {
        Self::new(area, State::Ok, what)
    }

    pub(super) fn warning(area: &'static str, what: impl Into<String>) -> Self {
        Self::new(area, State::Warning, what)
    }

    pub(super) fn problem(area: &'static str, what: impl Into<String>) -> Self {
        Self::new(area, State::Problem, what)
    }

    /// What a command would have said.
    pub(super) fn of(area: &'static str, diagnostic: Diagnostic) -> Self {
        let message = diagnostic.message.unwrap_or_default();
        let parts = std::iter::once(message).chain(diagnostic.causes);
        let what = parts.collect::<Vec<_>>().join(": ");
        diagnostic.hints.into_iter().fold(Self::problem(area, what), Self::hint)
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(super) fn is_fine(&self) -> bool {
        self.state != State::Problem
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Report {
    checks: Vec<Check>,
}

impl Report {
    pub(super) fn add(&mut self, check: Check) {
        self.checks.push(check);
    }

    pub(super) fn extend(&mut self, checks: Vec<Check>) {
        self.checks.extend(checks);
    }

    pub(super) fn is_healthy(&self) -> bool {
        self.checks.iter().all(Check::is_fine)
    }

    fn count(&self, state: State) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }

    /// For a person.
    pub(super) fn text(&self) -> String {
        let width = self.checks.iter().map(|check| check.area.len()).max().unwrap_or(0);
        let mut text = String::new();
        for Check { area, state, what, hints } in &self.checks {
            let style = state.style();
            let word = state.word();
            text += &format!("{style}{word:<7}{style:#}  {area:<width$}  {}\n", line(what));
            for hint in hints {
                text += &format!("{:width$}hint: {}\n", "", line(hint), width = width + 11);
            }
        }
        let (problems, warnings) = (self.count(State::Problem), self.count(State::Warning));
        text + &match (problems, warnings) {
            (0, 0) => "Everything is well.\n".to_owned(),
            (0, _) => format!("Everything works; {}.\n", counted(warnings, "warning")),
            _ => format!("{}, {}.\n", counted(problems, "problem"), counted(warnings, "warning")),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let checks = self.checks.iter().map(|Check { area, state, what, hints }| {
            json!({ "area": area, "state": state.word(), "what": what, "hints": hints })
        });
        json!({
            "healthy": self.is_healthy(),
            "problems": self.count(State::Problem),
            "warnings": self.count(State::Warning),
            "checks": checks.collect::<Vec<_>>(),
        })
    }
}

/// On one line, however long; what cannot be shown is not.
fn line(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join(" ")
}

fn shown(text: &str) -> String {
    if text.chars().any(char::is_control) { printable(text) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_problem_is_unhealthy() {
        let mut report = Report::default();
        assert!(report.is_healthy());
        report.add(Check::warning("a", "b"));
        assert!(report.is_healthy() && report.text().ends_with("Everything works; 1 warning.\n"));
        report.add(Check::problem("a", "b"));
        assert!(!report.is_healthy() && report.text().ends_with("1 problem, 1 warning.\n"));
    }

    #[test]
    fn a_line_stays_one() {
        let mut report = Report::default();
        report.add(Check::ok("a", "one\ntwo\x1b[2J").hint("three\rfour"));
        assert_eq!(report.text().lines().count(), 3);
        assert!(!report.text().contains("\x1b[2J") && !report.text().contains('\r'));
    }
}
