//! Reports server events on standard error while a command runs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use mcp_client::host::{ClientEvent, Observer};
use task_loop::Sanitizer;
use tokio::sync::{Notify, watch};

use crate::output::{Output, WARNING};

/// Maximum number of messages waiting to be drawn; the oldest are dropped.
const MAX_KEPT: usize = 8;

const MAX_WARNINGS: usize = 256;
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageSink {
    /// To standard error at once.
    Notes,
    /// Into a list for the code that draws the screen.
    Kept,
}

/// Prints important server events; with `--verbose`, all of them.
#[derive(Debug)]
pub(crate) struct Reporter {
    output: Output,
    shown: Sanitizer,
    place: MessageSink,
    spinner: ProgressBar,
    kept: Mutex<VecDeque<String>>,
    warnings: Mutex<Vec<(String, String)>>,
    happened: Notify,
    /// A person is typing: nothing may be printed.
    is_held: watch::Sender<bool>,
}

impl Reporter {
    pub(crate) fn new(output: Output, shown: Sanitizer, place: MessageSink) -> Arc<Self> {
        let spinner = match place {
            MessageSink::Notes => output.spinner(),
            MessageSink::Kept => ProgressBar::hidden(),
        };
        let (kept, warnings) = (Mutex::default(), Mutex::default());
        let (happened, is_held) = (Notify::new(), watch::Sender::new(false));
        Arc::new(Self { output, shown, place, spinner, kept, warnings, happened, is_held })
    }

    pub(crate) fn waiting_for(&self, what: impl Into<String>) {
        if self.spinner.is_finished() {
            self.spinner.reset();
        }
        self.spinner.set_message(what.into());
        if !self.spinner.is_hidden() {
            self.spinner.enable_steady_tick(TICK);
        }
    }

    pub(crate) fn done_waiting(&self) {
        self.spinner.finish_and_clear();
    }

    /// Queues messages while a person types.
    pub(crate) fn hold(&self) {
        self.is_held.send_replace(true);
    }

    pub(crate) fn is_held(&self) -> bool {
        *self.is_held.borrow()
    }

    pub(crate) async fn held(&self) {
        // The sender lives as long as this.
        let _ = self.is_held.subscribe().wait_for(|is_held| *is_held).await;
    }

    /// Prints queued messages, and further ones at once.
    pub(crate) fn release(&self) {
        self.is_held.send_replace(false);
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        for text in kept {
            self.output.note(text);
        }
    }

    pub(crate) async fn happened(&self) {
        self.happened.notified().await;
    }

    pub(crate) fn messages(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The warnings about servers so far, with the server of each.
    pub(crate) fn warnings(&self) -> Vec<(String, String)> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn warned(&self, server: String, text: &str) {
        let text = self.shown.line(text);
        if self.output.is_json() {
            self.output.warn(format!("{server}: {text}"));
        } else {
            self.show(format!("{WARNING}warning:{WARNING:#} {server}: {text}"));
        }
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < MAX_WARNINGS {
            warnings.push((server, text));
        }
    }

    pub(crate) fn show(&self, text: String) {
        if self.place == MessageSink::Notes && !self.is_held() {
            self.spinner.suspend(|| self.output.note(text));
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back(text);
    }

    fn detail(&self, text: &str) {
        if self.is_held() {
            return;
        }
        self.spinner.suspend(|| self.output.detail(text));
    }

    fn log(&self, server: &str, level: &str, text: &str) {
        let line = format!("{server}: {}: {}", self.shown.line(level), self.shown.line(text));
        let grave = matches!(level, "warning" | "error" | "critical" | "alert" | "emergency");
        if grave { self.show(line) } else { self.detail(&line) }
    }
}

impl Observer for Reporter {
    fn event(&self, event: ClientEvent) {
        match event {
            ClientEvent::Warning { server, text } => self.warned(server, &text),
            ClientEvent::Log { server, level, text } => self.log(&server, &level, &text),
            ClientEvent::State { server, state } => {
                self.detail(&format!("{server}: {}", self.shown.first_line(&state)));
            }
            ClientEvent::Tools { server, added, removed, changed } => {
                let changes =
                    changes(&[("added", &added), ("removed", &removed), ("changed", &changed)]);
                self.show(format!("{server}: tools {}", self.shown.line(&changes)));
            }
        }
        self.happened.notify_one();
    }
}

/// The names below each word, without the words that have none.
pub(crate) fn changes(lists: &[(&str, &Vec<String>)]) -> String {
    let lists = lists.iter().filter(|(_, names)| !names.is_empty());
    let lists = lists.map(|(what, names)| format!("{what}: {}", names.join(", ")));
    lists.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
