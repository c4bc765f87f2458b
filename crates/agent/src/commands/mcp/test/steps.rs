//! The steps of a test, printed as they complete.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_client::session::ConnectStep;
use serde_json::{Value, json};
use task_loop::Sanitizer;

use crate::diagnostic::Diagnostic;
use crate::output::{DIM, ERROR, GOOD, Output, WARNING};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepStatus {
    Ok,
    Note,
    Warning,
    Failed,
}

impl StepStatus {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }

    const fn style(self) -> anstyle::Style {
        match self {
            Self::Ok => GOOD,
            Self::Note => DIM,
            Self::Warning => WARNING,
            Self::Failed => ERROR,
        }
    }
}

#[derive(Debug)]
pub(super) struct Steps {
    output: Output,
    shown: Sanitizer,
    told: Mutex<StepReport>,
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
        Self { output, shown, told: Mutex::default() }
    }

    pub(super) fn stage(&self, stage: &ConnectStep) {
        match &stage.outcome {
            Ok(detail) => self.tell(StepStatus::Ok, stage.name, detail, Some(stage.took)),
            Err(reason) => self.tell(StepStatus::Failed, stage.name, reason, Some(stage.took)),
        }
    }

    /// Prints one step. The output of the process is part of the error that follows.
    pub(super) fn tell(&self, mark: StepStatus, name: &str, detail: &str, took: Option<Duration>) {
        let detail = detail.split("; its standard error ends with:").next().unwrap_or(detail);
        let detail = self.shown.first_line(detail);
        let mut told = self.told();
        if !self.output.is_json() && told.broken.is_none() {
            let style = mark.style();
            let time = match took {
                Some(took) => format!(" {DIM}({} ms){DIM:#}", took.as_millis()),
                None => String::new(),
            };
            let line = format!("{style}{:<7}{style:#} {name:<15} {detail}{time}\n", mark.word());
            told.broken = self.output.text(line).err();
        }
        told.steps.push(json!({
            "step": name,
            "status": mark.word(),
            "detail": detail,
            "seconds": took.map(|took| took.as_secs_f64()),
        }));
    }

    pub(super) fn ended_in_failure(&self) -> bool {
        self.told().steps.last().is_some_and(|step| step["status"] == StepStatus::Failed.word())
    }

    /// Adds a fix for a warning; printed at the end.
    pub(super) fn hint(&self, hint: String) {
        let mut told = self.told();
        if !told.hints.contains(&hint) {
            told.hints.push(hint);
        }
    }

    /// The result of the test, after printing the hints; an output error takes precedence.
    pub(super) fn outcome(&self, done: Result<(), Diagnostic>) -> Result<(), Diagnostic> {
        let mut told = self.told();
        if let Some(broken) = told.broken.take() {
            return Err(broken);
        }
        let hints = told.hints.clone();
        drop(told);
        if let Err(mut diagnostic) = done {
            diagnostic.hints.extend(hints);
            return Err(diagnostic);
        }
        for hint in hints {
            self.output.note(format!("{GOOD}hint:{GOOD:#} {hint}"));
        }
        Ok(())
    }

    pub(super) fn json(&self, server: &str, failure: Option<&Diagnostic>) -> Value {
        let mut document = json!({
            "server": server,
            "works": failure.is_none(),
            "steps": self.told().steps,
            "error": null,
        });
        if let Some(failure) = failure {
            document["error"] = failure.to_json()["error"].take();
        }
        self.shown.json(document)
    }

    fn told(&self) -> MutexGuard<'_, StepReport> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
