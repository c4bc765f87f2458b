//! A task: words of a person go to a model, the model calls tools, and what it says last is the
//! answer. No terminal is known here; whoever watches is told by [`Event`]s, and whoever decides is
//! asked through [`person::Person`].
//!
//! [`run`] is the loop. It is bounded in rounds, time and money; it retries what may pass; it keeps
//! the conversation within the model's window; and it ends in exactly one of the ways in [`end`].

pub(crate) mod approval_gate;
mod context_window;
pub(crate) mod conversation;
pub(crate) mod end;
pub(crate) mod event;
pub(crate) mod limits;
pub(crate) mod metrics;
pub(crate) mod model;
pub(crate) mod person;
mod retry;
mod round;
pub(crate) mod server_requests;
pub(crate) mod toolbox;

use std::time::Instant;

use tokio_util::sync::CancellationToken;

use self::context_window::ContextWindow;
use self::conversation::{Call, Conversation, Message};
use self::end::{EndCause, TaskEnd};
use self::event::{Event, Listener};
use self::limits::Bounds;
use self::metrics::TaskMetrics;
use self::model::{Finish, Limits, Model, Question, Reply};
use self::retry::RetryBudget;
use self::toolbox::Toolbox;
use crate::member::error::MemberError;

/// How many rounds in a row may end with nothing but refusals of a person before the task ends.
const MAX_DENIED_ROUNDS: u32 = 3;

/// What a task is run with.
#[derive(Debug)]
pub(crate) struct TaskContext<'a> {
    pub(crate) model: &'a Model,
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) bounds: Bounds,
    pub(crate) counting: TaskMetrics,
    /// Ends the task where it stands.
    pub(crate) stop: CancellationToken,
    /// Says that it is the program that ends.
    pub(crate) is_ending: CancellationToken,
}

impl TaskContext<'_> {
    /// Why the task was stopped.
    fn stopped(&self) -> EndCause {
        if self.is_ending.is_cancelled() { EndCause::Ended } else { EndCause::Cancelled }
    }
}

/// What became of a task.
#[derive(Debug)]
pub(crate) struct TaskResult {
    pub(crate) end: TaskEnd,
    /// What the model said last.
    pub(crate) answer: String,
    pub(crate) spent: TaskUsage,
}

/// What a task used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct TaskUsage {
    pub(crate) model_calls: u32,
    pub(crate) tool_calls: u32,
    pub(crate) retries: u32,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// As far as the service said so.
    pub(crate) charge_micros: i64,
}

impl TaskUsage {
    /// What this and the other used together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            model_calls: self.model_calls.saturating_add(other.model_calls),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            retries: self.retries.saturating_add(other.retries),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            charge_micros: self.charge_micros.saturating_add(other.charge_micros),
        }
    }
}

/// Does what a person asks, in a conversation that goes on.
pub(crate) async fn run(
    words: &str,
    conversation: &mut Conversation,
    means: &TaskContext<'_>,
    listener: &mut dyn Listener,
) -> TaskResult {
    let begun = Instant::now();
    means.counting.task_started();
    conversation.push(Message::User { text: words.to_owned() });
    let mut course = RunningTask::new(means, conversation, listener);
    let limit = means.bounds.time;
    let end = tokio::select! {
        biased;
        () = means.stop.cancelled() => TaskEnd::of(means.stopped()),
        () = tokio::time::sleep(limit) => TaskEnd::of(EndCause::TimedOut { limit }),
        end = course.go() => end,
    };
    let spent = course.leave(&end);
    let answer = conversation.answer();
    means.counting.task_finished(&end, begun.elapsed(), &spent);
    listener.event(Event::Finished { end: &end, answer: &answer, spent: &spent });
    TaskResult { end, answer, spent }
}

/// A task on its way.
struct RunningTask<'a, 'b> {
    means: &'a TaskContext<'a>,
    conversation: &'b mut Conversation,
    listener: &'b mut dyn Listener,
    spent: TaskUsage,
    /// What the model has said of an answer that is still coming.
    coming: Option<String>,
    /// The calls that are running.
    running: Vec<Call>,
}

impl<'a, 'b> RunningTask<'a, 'b> {
    fn new(
        means: &'a TaskContext<'a>,
        conversation: &'b mut Conversation,
        listener: &'b mut dyn Listener,
    ) -> Self {
        let (spent, coming, running) = (TaskUsage::default(), None, Vec::new());
        Self { means, conversation, listener, spent, coming, running }
    }

    async fn go(&mut self) -> TaskEnd {
        let mut denied = 0;
        for _ in 0..self.means.bounds.rounds {
            if let Some(end) = self.over_budget() {
                return end;
            }
            let reply = match self.ask().await {
                Ok(reply) => reply,
                Err(end) => return end,
            };
            let finish = reply.finish;
            let calls = reply.calls.clone();
            self.conversation.push(Message::Assistant { text: reply.text, calls: reply.calls });
            if calls.is_empty() {
                return self.last(finish);
            }
            let round = self.run_calls(&calls).await;
            if round.is_stopped {
                return TaskEnd::of(EndCause::Denied);
            }
            denied = if round.is_all_denied { denied + 1 } else { 0 };
            if denied == MAX_DENIED_ROUNDS {
                return TaskEnd::of(EndCause::Denied);
            }
        }
        TaskEnd::of(EndCause::Rounds { limit: self.means.bounds.rounds })
    }

    /// Asks the model, again where that may help.
    async fn ask(&mut self) -> Result<Reply, TaskEnd> {
        let tools = self.means.toolbox.offered();
        let window = ContextWindow::of(self.means.model, &tools);
        let mut patience = RetryBudget::default();
        let key = model::new_key();
        loop {
            let trimmed = window.fit(self.conversation);
            if let Some(trimmed) = &trimmed {
                self.listener.event(Event::Trimmed { cut: trimmed });
            }
            self.listener.event(Event::Asking { model: &self.means.model.id });
            let mut told = patience.told();
            let Self { listener, coming, conversation, .. } = self;
            let coming = coming.insert(String::new());
            let limits = Limits::default();
            let question = Question { conversation, tools: &tools, key: &key, limits: &limits };
            let mut hear = |text: &str| {
                coming.push_str(text);
                if let Some(new) = told.hear(text) {
                    listener.event(Event::Text { text: &new });
                }
            };
            let asked = self.means.model.ask(&question, &mut hear).await;
            self.coming = None;
            match asked {
                Ok(reply) => {
                    self.answered(&Ok(&reply));
                    self.spent.input_tokens += reply.usage.input;
                    self.spent.output_tokens += reply.usage.output;
                    self.spent.charge_micros += reply.charge_micros;
                    return Ok(reply);
                }
                Err(trouble) if context_window::is_too_long(&trouble) && window.shrink() => {}
                Err(trouble) => {
                    let Some(wait) = patience.wait_for(&trouble, told) else {
                        self.answered(&Err(&trouble));
                        return Err(TaskEnd::of(EndCause::Trouble(trouble)));
                    };
                    self.spent.retries += 1;
                    self.listener.event(Event::Waiting { trouble: &trouble, wait });
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// A question is over, however often it was asked.
    fn answered(&mut self, answer: &Result<&Reply, &MemberError>) {
        self.spent.model_calls += 1;
        self.means.counting.model_called(self.means.model, answer);
    }

    /// What is left to say when the task is over, however it ended.
    fn leave(&mut self, end: &TaskEnd) -> TaskUsage {
        if let Some(text) = self.coming.take() {
            self.spent.model_calls += 1;
            self.means.counting.model_cancelled(self.means.model);
            if !text.is_empty() {
                let text = format!("{text}\n[{end}]");
                self.conversation.push(Message::Assistant { text, calls: Vec::new() });
            }
        }
        let running = std::mem::take(&mut self.running);
        for _ in &running {
            self.spent.tool_calls += 1;
            self.means.counting.tool_cancelled();
        }
        self.conversation.close_open_calls(end);
        if !running.is_empty() {
            self.listener.event(Event::Unfinished { calls: &running });
        }
        self.spent
    }

    /// The end of a task whose model called no more tools.
    fn last(&mut self, finish: Finish) -> TaskEnd {
        match finish {
            Finish::Filtered => TaskEnd::of(EndCause::Filtered),
            Finish::Length => {
                self.listener.event(Event::CutShort);
                TaskEnd::of(EndCause::Completed)
            }
            Finish::Stop if self.conversation.answer().trim().is_empty() => {
                TaskEnd::of(EndCause::Empty)
            }
            Finish::Stop => TaskEnd::of(EndCause::Completed),
        }
    }

    /// The end, if the next call of the model could cost more than is left.
    fn over_budget(&self) -> Option<TaskEnd> {
        let limit = self.means.bounds.micros?;
        let next = self.spent.charge_micros.saturating_add(self.means.model.price_micros);
        (next > limit).then(|| TaskEnd::of(EndCause::Budget { limit }))
    }
}
