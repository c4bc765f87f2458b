//! A person's yes to a call, asked for on the terminal.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_client::host::{Answer, Approval, Approver, Decision};

use super::observe::Reporter;
use super::shown::Shown;
use crate::output::WARNING;
use crate::prompt::forget_typed;

/// Asks on the terminal. Where there is none, nothing is approved.
#[derive(Debug)]
pub(crate) struct OnTerminal {
    shown: Shown,
    reporter: Arc<Reporter>,
    asked: AtomicBool,
}

impl OnTerminal {
    pub(crate) fn new(shown: Shown, reporter: Arc<Reporter>) -> Arc<Self> {
        Arc::new(Self { shown, reporter, asked: AtomicBool::new(false) })
    }

    /// Whether a person was there to be asked.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// Why a call of an untrusted server is asked about.
pub(crate) const UNTRUSTED: &str =
    "the server is untrusted and the tool does not say that it only reads";

/// A call as a person judges it, with why it is asked about.
pub(crate) fn question(approval: &Approval, why: &str, shown: &Shown) -> String {
    let arguments = serde_json::to_string_pretty(&approval.arguments).unwrap_or_default();
    format!(
        "{WARNING}This call needs your yes:{WARNING:#} {why}.\n  server       {}\n  tool         {} \
         ({})\n  description  {}\n  arguments    {}",
        shown.line(&approval.server),
        shown.line(&approval.native_name),
        shown.line(&approval.tool),
        indented(&approval.description, shown),
        // All of them: what is cut is what somebody would hide.
        indented(&arguments, shown),
    )
}

/// A text under the words that stand before it.
pub(crate) fn indented(text: &str, shown: &Shown) -> String {
    shown.whole(text.trim_end()).replace('\n', "\n               ")
}

impl Approver for OnTerminal {
    fn decide(&self, approval: Approval) -> Answer<Decision> {
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Box::pin(std::future::ready(Decision::Deny));
        }
        self.asked.store(true, Ordering::Release);
        self.reporter.done_waiting();
        let question = question(&approval, UNTRUSTED, &self.shown);
        Box::pin(async move {
            let answer = tokio::task::spawn_blocking(move || ask(&question)).await;
            if answer.is_ok_and(|yes| yes) { Decision::Allow } else { Decision::Deny }
        })
    }
}

/// Approves: a person said so on the command line.
#[derive(Debug)]
pub(crate) struct OnCommandLine;

impl Approver for OnCommandLine {
    fn decide(&self, _: Approval) -> Answer<Decision> {
        Box::pin(std::future::ready(Decision::Allow))
    }
}

/// Asks a question; anything but a plain yes is a no.
fn ask(question: &str) -> bool {
    anstream::eprintln!("{question}");
    forget_typed();
    anstream::eprint!("Run it this once? [y/N] ");
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && is_yes(&line)
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_yes_is_no() {
        for yes in ["y\n", "Yes\n", " YES \r\n"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yes please\n", "ja\n", "yy\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
