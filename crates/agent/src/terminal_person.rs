//! The person at the terminal, who is asked what a program must not decide alone.

mod form;

use std::sync::Arc;

use mcp_client::host::BoxFuture;
use similar::{ChangeTag, TextDiff};
use task_loop::Sanitizer;
use task_loop::person::{
    ApprovalAnswer, ApprovalQuestion, ApprovalReason, CallContext, FormAnswer, FormRequest, Person,
    SamplingRequest,
};
use tokio::sync::Mutex;

use crate::mcp::McpServers;
use crate::mcp::approval::{self, ApprovalDialog, DECISIVE_ROWS, UNTRUSTED};
use crate::mcp::reporter::Reporter;
use crate::output::{Output, WARNING};
use crate::prompt::{Prompt, ask_meanwhile};

/// Why a call of a tool that changed is asked about.
const CHANGED: &str = "the tool has changed since it was last used";
/// Why a call is asked about that the configuration names.
const CONFIGURED: &str = "`tools.approval` of the server requires it";
/// How often a question is put again when the answer is none.
const MAX_ASKED: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) struct TerminalPerson {
    shown: Sanitizer,
    reporter: Arc<Reporter>,
    one: Arc<Mutex<()>>,
}

impl TerminalPerson {
    pub(crate) fn find(output: &Output, fleet: &McpServers) -> Option<Arc<dyn Person>> {
        Prompt::find(output)?;
        let (shown, reporter) = (fleet.shown.clone(), Arc::clone(&fleet.reporter));
        Some(Arc::new(Self { shown, reporter, one: Arc::default() }))
    }

    pub(crate) async fn choose(
        self,
        dialog: ApprovalDialog,
        question: &str,
        choices: &[(&str, ApprovalAnswer)],
    ) -> ApprovalAnswer {
        let _one = self.one.lock().await;
        if self.reporter.is_held() {
            // The person types something else: what is typed now is no answer to this.
            return ApprovalAnswer::Absent;
        }
        self.reporter.done_waiting();
        let text = format!("{}\n", dialog.text);
        let view = if dialog.whole.is_some() { ", [v]iew everything" } else { "" };
        let (mut before, mut asked) = (text.clone(), 0);
        while asked < MAX_ASKED {
            let Some(answer) = ask_meanwhile(format!("{before}{question}{view}:")).await else {
                return ApprovalAnswer::Absent;
            };
            let answer = answer.to_lowercase();
            let is_meant = |word: &str| !answer.is_empty() && word.starts_with(&answer);
            if let Some((_, said)) = choices.iter().find(|(word, _)| is_meant(word)) {
                return *said;
            }
            before.clear();
            match &dialog.whole {
                // Whatever was shown in between, the decisive part is above the question again.
                Some(whole) if is_meant("view") => before = format!("{whole}\n\n{text}"),
                _ => asked += 1,
            }
        }
        ApprovalAnswer::No
    }

    fn question(&self, ApprovalQuestion { call, why, .. }: &ApprovalQuestion) -> ApprovalDialog {
        let (before, after) = match why {
            ApprovalReason::Changed { before, after } => (before, after),
            ApprovalReason::Untrusted => {
                return approval::question(call, UNTRUSTED, None, &self.shown);
            }
            ApprovalReason::EveryCall | ApprovalReason::FirstCall => {
                return approval::question(call, CONFIGURED, None, &self.shown);
            }
        };
        let mut lines = difference(&self.shown.whole(before), &self.shown.whole(after));
        if before.is_empty() {
            lines = format!("(the earlier definition was not saved; it is now)\n{lines}");
        } else if lines.is_empty() {
            "(the change is beyond the compared part)".clone_into(&mut lines);
        }
        approval::question(call, CHANGED, Some(lines), &self.shown)
    }
}

impl Person for TerminalPerson {
    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<ApprovalAnswer> {
        let (this, dialog) = (self.clone(), self.question(&question));
        Box::pin(async move {
            let is_each = question.why == ApprovalReason::EveryCall;
            let (ask, choices): (_, &[_]) = match question.within {
                CallContext::Task if is_each => (
                    "Run it this once? [y]es, [n]o, [s]top the task",
                    &[
                        ("yes", ApprovalAnswer::Once),
                        ("no", ApprovalAnswer::No),
                        ("stop", ApprovalAnswer::Stop),
                    ],
                ),
                CallContext::Task => (
                    "Run it? [y]es once, [a]lways for this tool, [n]o, [s]top the task",
                    &[
                        ("yes", ApprovalAnswer::Once),
                        ("always", ApprovalAnswer::Always),
                        ("no", ApprovalAnswer::No),
                        ("stop", ApprovalAnswer::Stop),
                    ],
                ),
                CallContext::OneCall => (
                    "Run it this once? [y]es, [n]o",
                    &[("yes", ApprovalAnswer::Once), ("no", ApprovalAnswer::No)],
                ),
            };
            this.choose(dialog, ask, choices).await
        })
    }

    fn fill(&self, form: FormRequest) -> BoxFuture<FormAnswer> {
        let this = self.clone();
        Box::pin(async move {
            let _one = this.one.lock().await;
            if this.reporter.is_held() {
                return FormAnswer::Cancelled;
            }
            this.reporter.done_waiting();
            form::fill(&form, &this.shown).await
        })
    }

    fn allow_sampling(&self, wish: SamplingRequest) -> BoxFuture<ApprovalAnswer> {
        let dialog = ApprovalDialog::new(
            &format!("{WARNING}A server requests an answer from a model:{WARNING:#}"),
            &[
                ("server", self.shown.line(&wish.server), DECISIVE_ROWS),
                ("model", self.shown.line(&wish.model), DECISIVE_ROWS),
                ("at most", format!("{} tokens", wish.max_tokens), DECISIVE_ROWS),
                ("prompt", self.shown.whole(wish.prompt.trim_end()), DECISIVE_ROWS),
            ],
        );
        let this = self.clone();
        Box::pin(async move {
            let choices = [("yes", ApprovalAnswer::Once), ("no", ApprovalAnswer::No)];
            this.choose(dialog, "Allow this request, on your account? [y]es, [n]o", &choices).await
        })
    }
}

/// The most lines of either text that are compared.
const MAX_LINES: usize = 500;

/// The lines that went and came, each with its sign; lines that stay are left out.
fn difference(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.lines().take(MAX_LINES).collect();
    let after: Vec<&str> = after.lines().take(MAX_LINES).collect();
    let changes = TextDiff::from_slices(&before, &after);
    let lines = changes.iter_all_changes().filter_map(|change| match change.tag() {
        ChangeTag::Equal => None,
        ChangeTag::Delete => Some(format!("- {}", change.value())),
        ChangeTag::Insert => Some(format!("+ {}", change.value())),
    });
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
