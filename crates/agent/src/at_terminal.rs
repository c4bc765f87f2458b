//! The person at the terminal, who is asked what a program must not decide alone.

mod difference;
mod form;

use std::sync::Arc;

use mcp_client::host::Answer;
use tokio::sync::Mutex;

use self::difference::difference;
use crate::mcp::Fleet;
use crate::mcp::approve::{self, UNTRUSTED, indented};
use crate::mcp::observe::Reporter;
use crate::mcp::shown::Shown;
use crate::output::{Output, WARNING};
use crate::prompt::{Prompt, ask_meanwhile};
use crate::task::person::{Filled, Form, Person, Question, Said, Why, Wish};

/// Why a call of a tool that changed is asked about.
const CHANGED: &str = "the tool is not what it was when it was used last";
/// How often a question is put again when the answer is none.
const MAX_ASKED: u32 = 3;

/// Somebody at the terminal.
#[derive(Debug, Clone)]
pub(crate) struct AtTerminal {
    shown: Shown,
    reporter: Arc<Reporter>,
    /// One question at a time.
    one: Arc<Mutex<()>>,
}

impl AtTerminal {
    /// The person at the terminal; nobody if there is none.
    pub(crate) fn find(output: &Output, fleet: &Fleet) -> Option<Arc<dyn Person>> {
        Prompt::find(output)?;
        let (shown, reporter) = (fleet.shown.clone(), Arc::clone(&fleet.reporter));
        Some(Arc::new(Self { shown, reporter, one: Arc::default() }))
    }

    /// Asks until one of the letters comes.
    async fn choose(self, text: String, question: &str, choices: &[(&str, Said)]) -> Said {
        let _one = self.one.lock().await;
        if self.reporter.is_held() {
            // The person types something else: what is typed now is no answer to this.
            return Said::Absent;
        }
        self.reporter.done_waiting();
        let mut before = format!("{text}\n");
        for _ in 0..MAX_ASKED {
            let Some(answer) = ask_meanwhile(format!("{before}{question}")).await else {
                return Said::Absent;
            };
            let answer = answer.to_lowercase();
            let is_meant = |word: &str| !answer.is_empty() && word.starts_with(&answer);
            if let Some((_, said)) = choices.iter().find(|(word, _)| is_meant(word)) {
                return *said;
            }
            before.clear();
        }
        Said::No
    }

    fn question(&self, Question { call, why }: &Question) -> String {
        let Why::Changed { before, after } = why else {
            return approve::question(call, UNTRUSTED, &self.shown);
        };
        let mut text = approve::question(call, CHANGED, &self.shown);
        let lines = difference(&self.shown.whole(before), &self.shown.whole(after));
        text.push_str("\n  changed      ");
        text.push_str(&lines.replace('\n', "\n               "));
        text
    }
}

impl Person for AtTerminal {
    fn approve(&self, question: Question) -> Answer<Said> {
        let (this, text) = (self.clone(), self.question(&question));
        Box::pin(async move {
            let choices = [
                ("yes", Said::Once),
                ("always", Said::Always),
                ("no", Said::No),
                ("stop", Said::Stop),
            ];
            let ask = "Run it? [y]es once, [a]lways for this tool, [n]o, [s]top the task:";
            this.choose(text, ask, &choices).await
        })
    }

    fn fill(&self, form: Form) -> Answer<Filled> {
        let this = self.clone();
        Box::pin(async move {
            let _one = this.one.lock().await;
            if this.reporter.is_held() {
                return Filled::Cancelled;
            }
            this.reporter.done_waiting();
            form::fill(&form, &this.shown).await
        })
    }

    fn allow_sampling(&self, wish: Wish) -> Answer<Said> {
        let text = format!(
            "{WARNING}A server wants a model's answer:{WARNING:#}\n  server       {}\n  model        \
             {}\n  at most      {} tokens\n  prompt       {}",
            self.shown.line(&wish.server),
            self.shown.line(&wish.model),
            wish.max_tokens,
            indented(&wish.prompt, &self.shown),
        );
        let this = self.clone();
        Box::pin(async move {
            let choices = [("yes", Said::Once), ("no", Said::No)];
            this.choose(text, "Let it be asked, on your account? [y]es, [n]o:", &choices).await
        })
    }
}
