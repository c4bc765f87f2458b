//! A person who answers through another program, such as the dashboard: questions are lines of
//! JSON on standard output, and answers refer to them by number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_client::host::BoxFuture;
use serde_json::{Value, json};
use task_loop::Sanitizer;
use task_loop::person::{
    ApprovalAnswer, ApprovalQuestion, FormAnswer, FormRequest, Person, SamplingRequest,
};
use tokio::sync::oneshot;

use crate::mcp::approval;
use crate::output::Output;

#[derive(Debug, Default)]
pub(crate) struct OpenQuestions {
    asked: Mutex<(u64, HashMap<u64, oneshot::Sender<Value>>)>,
}

#[derive(Debug, Clone)]
pub(crate) struct AttendedPerson {
    questions: Arc<OpenQuestions>,
    output: Output,
    shown: Sanitizer,
}

/// An open question. Dropping it closes it in every program that shows it.
struct Question {
    number: u64,
    person: AttendedPerson,
}

impl OpenQuestions {
    fn pending(&self) -> MutexGuard<'_, (u64, HashMap<u64, oneshot::Sender<Value>>)> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers an answer. A late or repeated one is ignored.
    pub(crate) fn answer(&self, number: u64, answer: Value) {
        if let Some(question) = self.pending().1.remove(&number) {
            let _ = question.send(answer);
        }
    }

    /// No more answers will come.
    pub(crate) fn close(&self) {
        self.pending().1.clear();
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let (number, person) = (self.number, &self.person);
        person.questions.pending().1.remove(&number);
        // The reader may be gone.
        let _ = person.output.json_line(&json!({"type": "question_closed", "question": number}));
    }
}

impl AttendedPerson {
    pub(crate) fn new(questions: &Arc<OpenQuestions>, output: &Output, shown: &Sanitizer) -> Self {
        let (questions, output, shown) = (Arc::clone(questions), output.clone(), shown.clone());
        Self { questions, output, shown }
    }

    /// The answer; `None` if there is none.
    async fn ask(self, mut question: Value) -> Option<Value> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut asked = self.questions.pending();
            asked.0 += 1;
            let number = asked.0;
            asked.1.insert(number, sender);
            number
        };
        let open = Question { number, person: self };
        question["type"] = json!("question");
        question["question"] = json!(number);
        let person = &open.person;
        person.output.json_line(&person.shown.json(question)).ok()?;
        answer.await.ok()
    }

    async fn choose(
        self,
        title: String,
        sections: Vec<(&'static str, String, usize)>,
        choices: &[ApprovalAnswer],
    ) -> ApprovalAnswer {
        let sections: Vec<_> = sections.into_iter().map(|(name, text, _)| (name, text)).collect();
        let words: Vec<&str> = choices.iter().map(|choice| word(*choice)).collect();
        let question = json!({
            "kind": "choice", "title": title, "sections": sections, "choices": words,
        });
        let Some(answer) = self.ask(question).await else { return ApprovalAnswer::Absent };
        let chosen = choices.iter().find(|choice| answer == word(**choice));
        chosen.copied().unwrap_or(ApprovalAnswer::No)
    }
}

/// The word of an answer in questions and answers.
fn word(answer: ApprovalAnswer) -> &'static str {
    match answer {
        ApprovalAnswer::Once => "once",
        ApprovalAnswer::Always => "always",
        ApprovalAnswer::No | ApprovalAnswer::Absent => "no",
        ApprovalAnswer::Stop => "stop",
    }
}

impl Person for AttendedPerson {
    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<ApprovalAnswer> {
        let (why, sections) = approval::sections(&question, &self.shown);
        let title = format!("This call needs your approval: {why}");
        Box::pin(self.clone().choose(title, sections, question.answers()))
    }

    fn fill(&self, form: FormRequest) -> BoxFuture<FormAnswer> {
        let this = self.clone();
        Box::pin(async move {
            let question = json!({
                "kind": "form", "title": format!("The server {} asks", form.server),
                "sections": [("message", form.message)], "schema": form.schema,
            });
            match this.ask(question).await {
                Some(Value::Object(values)) => FormAnswer::Accepted(values),
                Some(_) => FormAnswer::Declined,
                None => FormAnswer::Cancelled,
            }
        })
    }

    fn allow_sampling(&self, wish: SamplingRequest) -> BoxFuture<ApprovalAnswer> {
        let sections = vec![
            ("server", wish.server, 0),
            ("model", wish.model, 0),
            ("at most", format!("{} tokens", wish.max_tokens), 0),
            ("prompt", wish.prompt, 0),
        ];
        let title = "A server requests an answer from a model, on your account".to_owned();
        Box::pin(self.clone().choose(title, sections, &[ApprovalAnswer::Once, ApprovalAnswer::No]))
    }
}
