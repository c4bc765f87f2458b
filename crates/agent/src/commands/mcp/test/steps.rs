//! The steps of a test, printed as they complete.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_client::session::ConnectStep;
use serde_json::{Value, json};
use task_loop::Sanitizer;

use crate::diagnostic::{Diagnostic, Result};
use crate::finding::Severity;
use crate::output::{DIM, GOOD, Output};

#[derive(Debug)]
pub(super) struct Steps {
    output: Output,
    shown: Sanitizer,
    report: Mutex<StepReport>,
}

#[derive(Debug, Default)]
struct StepReport {
    steps: Vec<Value>,
    hints: Vec<String>,
    /// Writing the output failed; nothing more is written.
    broken: Option<Diagnostic>,
}

impl Steps {
    pub(super) fn new(output: Output, shown: Sanitizer) -> Self {
        Self { output, shown, report: Mutex::default() }
    }

    pub(super) fn stage(&self, stage: &ConnectStep) {
        match &stage.outcome {
            Ok(detail) => self.add(Severity::Good, stage.name, detail, Some(stage.took)),
            Err(reason) => self.add(Severity::Error, stage.name, reason, Some(stage.took)),
        }
    }

    pub(super) fn ok(&self, name: &str, detail: &str) {
        self.add(Severity::Good, name, detail, None);
    }

    pub(super) fn ok_since(&self, began: Instant, name: &str, detail: &str) {
        self.add(Severity::Good, name, detail, Some(began.elapsed()));
    }

    pub(super) fn note(&self, name: &str, detail: &str) {
        self.add(Severity::Advice, name, detail, None);
    }

    pub(super) fn warning(&self, name: &str, detail: &str) {
        self.add(Severity::Warning, name, detail, None);
    }

    pub(super) fn failed(&self, name: &str, reason: &str) {
        self.add(Severity::Error, name, reason, None);
    }

    /// Prints one step. The output of the process is part of the error that follows.
    pub(super) fn add(&self, severity: Severity, name: &str, detail: &str, took: Option<Duration>) {
        let detail = detail.split("; its standard error ends with:").next().unwrap_or(detail);
        let (detail, word) = (self.shown.first_line(detail), as_str(severity));
        let mut report = self.report();
        if !self.output.is_json() && report.broken.is_none() {
            let style = severity.style();
            let time = took.map(|took| format!(" {DIM}({} ms){DIM:#}", took.as_millis()));
            let time = time.unwrap_or_default();
            let line = format!("{style}{word:<7}{style:#} {name:<15} {detail}{time}\n");
            report.broken = self.output.text(line).err();
        }
        report.steps.push(json!({
            "step": name,
            "status": word,
            "detail": detail,
            "seconds": took.map(|took| took.as_secs_f64()),
        }));
    }

    pub(super) fn ended_in_failure(&self) -> bool {
        self.report().steps.last().is_some_and(|step| step["status"] == as_str(Severity::Error))
    }

    /// Adds a fix for a warning; printed at the end.
    pub(super) fn hint(&self, hint: String) {
        let mut report = self.report();
        if !report.hints.contains(&hint) {
            report.hints.push(hint);
        }
    }

    /// The result of the test, after printing the hints; an output error takes precedence.
    pub(super) fn outcome(&self, done: Result) -> Result {
        let mut report = self.report();
        if let Some(broken) = report.broken.take() {
            return Err(broken);
        }
        let hints = report.hints.clone();
        drop(report);
        done.map_err(|diagnostic| diagnostic.hints(hints.clone()))?;
        for hint in hints {
            self.output.note(format!("{GOOD}hint:{GOOD:#} {hint}"));
        }
        Ok(())
    }

    pub(super) fn json(&self, server: &str, failure: Option<&Diagnostic>) -> Value {
        self.shown.json(json!({
            "server": server,
            "works": failure.is_none(),
            "steps": self.report().steps,
            "error": failure.map(|failure| failure.to_json()["error"].take()),
        }))
    }

    fn report(&self) -> MutexGuard<'_, StepReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn as_str(severity: Severity) -> &'static str {
    match severity {
        Severity::Good => "ok",
        Severity::Advice => "note",
        Severity::Warning => "warning",
        Severity::Error => "failed",
    }
}
