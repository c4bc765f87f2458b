//! The person at the terminal, who decides on approvals and requests.

mod form;

use std::sync::Arc;

use mcp_client::host::BoxFuture;
use task_loop::Sanitizer;
use task_loop::person::{
    ApprovalAnswer, ApprovalQuestion, FormAnswer, FormRequest, Person, SamplingRequest,
};
use tokio::sync::Mutex;

use crate::mcp::McpServers;
use crate::mcp::approval::{self, ApprovalDialog, DECISIVE_ROWS};
use crate::mcp::reporter::Reporter;
use crate::output::{Output, WARNING};
use crate::prompt::{Prompt, ask_meanwhile};

/// Maximum number of times that a question is repeated after an invalid answer.
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

    async fn choose(
        self,
        dialog: ApprovalDialog,
        question: &str,
        choices: &[ApprovalAnswer],
    ) -> ApprovalAnswer {
        let _one = self.one.lock().await;
        if self.reporter.is_held() {
            // The person is typing other input, which is no answer to this.
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
            if let Some(choice) = choices.iter().find(|choice| is_meant(word(**choice))) {
                return *choice;
            }
            before.clear();
            match &dialog.whole {
                // The decisive part is above the question again, whatever was shown in between.
                Some(whole) if is_meant("view") => before = format!("{whole}\n\n{text}"),
                _ => asked += 1,
            }
        }
        ApprovalAnswer::No
    }
}

/// The typed word of an answer, of which the beginning is enough.
fn word(answer: ApprovalAnswer) -> &'static str {
    match answer {
        ApprovalAnswer::Once => "yes",
        ApprovalAnswer::Always => "always",
        ApprovalAnswer::No | ApprovalAnswer::Absent => "no",
        ApprovalAnswer::Stop => "stop",
    }
}

impl Person for TerminalPerson {
    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<ApprovalAnswer> {
        let (this, dialog) = (self.clone(), approval::question(&question, &self.shown));
        Box::pin(async move {
            let answers = question.answers();
            let ask = if answers.contains(&ApprovalAnswer::Always) {
                "Run it? [y]es once, [a]lways for this tool, [n]o, [s]top the task"
            } else if answers.contains(&ApprovalAnswer::Stop) {
                "Run it this once? [y]es, [n]o, [s]top the task"
            } else {
                "Run it this once? [y]es, [n]o"
            };
            this.choose(dialog, ask, answers).await
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
            let choices = [ApprovalAnswer::Once, ApprovalAnswer::No];
            this.choose(dialog, "Allow this request, on your account? [y]es, [n]o", &choices).await
        })
    }
}
