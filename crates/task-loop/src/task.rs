//! One task: asks the model and runs its tool calls until an end is reached.

mod round;
mod summary;

use std::sync::Arc;
use std::time::{Duration, Instant};

pub use self::summary::compact;
use mcp_client::schema::violation;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::attachment::Attachment;
use crate::context_window::{self, ContextWindow};
use crate::conversation::{Call, Conversation, Message};
use crate::end::TaskEnd;
use crate::event::{Event, Listener};
use crate::member::MemberError;
use crate::metrics::TaskMetrics;
use crate::model::{Finish, Limits, Model, Question, Reply};
use crate::retry::RetryBudget;
use crate::toolbox::Toolbox;
use crate::usage::TaskUsage;

/// Maximum number of answers that may violate the output schema before the task fails.
const MAX_MISMATCHES: u32 = 3;
/// Maximum consecutive rounds with nothing but denials before the task ends.
const MAX_DENIED_ROUNDS: u32 = 3;

pub const DEFAULT_ROUNDS: u32 = 50;
pub const MAX_ROUNDS: u32 = 1000;
pub const MAX_TIME: Duration = Duration::from_hours(24);

/// The limits of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub rounds: u32,
    pub time: Duration,
    /// Maximum cost, in micro-credits.
    pub micros: Option<i64>,
}

/// Handling of old turns that do not fit the window of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTurns {
    /// The model summarises them.
    Summarise,
    Cut,
}

#[derive(Debug)]
pub struct TaskContext<'a> {
    pub model: &'a Model,
    pub toolbox: &'a Toolbox,
    pub bounds: Bounds,
    pub old_turns: OldTurns,
    /// The answer must be JSON of this schema.
    pub output_schema: Option<Arc<Value>>,
    pub counting: TaskMetrics,
    pub stop: CancellationToken,
    /// Whether the program itself is ending.
    pub is_ending: CancellationToken,
}

impl TaskContext<'_> {
    fn stopped(&self) -> TaskEnd {
        if self.is_ending.is_cancelled() { TaskEnd::Ended } else { TaskEnd::Cancelled }
    }
}

#[derive(Debug)]
pub struct TaskResult {
    pub end: TaskEnd,
    pub answer: String,
    pub spent: TaskUsage,
}

#[derive(Debug, Clone, Default)]
pub struct UserInput {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

impl From<&str> for UserInput {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), attachments: Vec::new() }
    }
}

/// Runs a task, or continues the one that the conversation ends with.
pub async fn run(
    input: Option<UserInput>,
    conversation: &mut Conversation,
    context: &TaskContext<'_>,
    listener: &mut dyn Listener,
) -> TaskResult {
    let begun = Instant::now();
    context.counting.task_started();
    if let Some(UserInput { text, attachments }) = input {
        conversation.push(Message::User { text, attachments });
    }
    let mut course = RunningTask::new(context, conversation, listener);
    let limit = context.bounds.time;
    let end = tokio::select! {
        biased;
        () = context.stop.cancelled() => context.stopped(),
        () = tokio::time::sleep(limit) => TaskEnd::TimedOut { limit },
        end = course.go() => end,
    };
    let spent = course.leave(&end);
    let mut answer = conversation.answer();
    if context.output_schema.is_some()
        && let Some(value) = json_answer(&answer)
    {
        answer = value.to_string();
    }
    context.counting.task_finished(&end, begun.elapsed(), &spent);
    listener.event(Event::Finished { end: &end, answer: &answer, spent: &spent });
    TaskResult { end, answer, spent }
}

struct RunningTask<'a, 'b> {
    context: &'a TaskContext<'a>,
    conversation: &'b mut Conversation,
    listener: &'b mut dyn Listener,
    spent: TaskUsage,
    /// The received part of an unfinished answer.
    coming: Option<String>,
    running: Vec<Call>,
}

impl<'a, 'b> RunningTask<'a, 'b> {
    fn new(
        context: &'a TaskContext<'a>,
        conversation: &'b mut Conversation,
        listener: &'b mut dyn Listener,
    ) -> Self {
        let (spent, coming, running) = (TaskUsage::default(), None, Vec::new());
        Self { context, conversation, listener, spent, coming, running }
    }

    async fn go(&mut self) -> TaskEnd {
        let (mut denied, mut mismatches) = (0, 0);
        for _ in 0..self.context.bounds.rounds {
            if let Some(end) = self.over_budget() {
                return end;
            }
            let reply = match self.ask().await {
                Ok(reply) => reply,
                Err(end) => return end,
            };
            let finish = reply.finish;
            let calls = reply.calls;
            let stored = calls.iter().map(Call::stored).collect();
            self.conversation.push(Message::Assistant { text: reply.text, calls: stored });
            if calls.is_empty() {
                let end = self.last(finish);
                let Some(why) = self.mismatch().filter(|_| end == TaskEnd::Completed) else {
                    return end;
                };
                mismatches += 1;
                if mismatches == MAX_MISMATCHES {
                    let what = format!("an answer that does not match the output schema: {why}");
                    return TaskEnd::Trouble(MemberError::Nonsense { what });
                }
                self.conversation.push(Message::user(format!(
                    "Your answer does not match the required schema: {why}. Answer again, with \
                     JSON of the schema and nothing else."
                )));
                continue;
            }
            let round = self.run_calls(&calls).await;
            if round.is_stopped {
                return TaskEnd::Denied;
            }
            denied = if round.is_all_denied { denied + 1 } else { 0 };
            if denied == MAX_DENIED_ROUNDS {
                return TaskEnd::Denied;
            }
        }
        TaskEnd::Rounds { limit: self.context.bounds.rounds }
    }

    /// Sends the request, with retries if they may help.
    async fn ask(&mut self) -> Result<Reply, TaskEnd> {
        let tools = self.context.toolbox.offered();
        let instructions = self.context.toolbox.instructions();
        let window = ContextWindow::of(self.context.model, &tools, instructions.as_deref());
        let instructions = instructions.map(|text| Message::System { text });
        let instructions = instructions.as_ref();
        let mut patience = RetryBudget::default();
        let mut is_summarising = self.context.old_turns == OldTurns::Summarise;
        loop {
            if is_summarising {
                is_summarising = self.summarise_old_turns(&window).await;
            }
            let sent = self.context.model.sent(self.conversation);
            let trimmed = window.fit(self.conversation, &sent);
            if let Some(trimmed) = &trimmed {
                self.listener.event(Event::Trimmed { cut: trimmed });
            }
            self.listener.event(Event::Asking { model: &self.context.model.id });
            let mut told = patience.repeated_text();
            let Self { listener, coming, conversation, .. } = self;
            let coming = coming.insert(String::new());
            let schema = self.context.output_schema.clone();
            let limits = Limits { schema, ..Limits::default() };
            let question = Question { conversation, tools: &tools, instructions, limits: &limits };
            let mut hear = |text: &str| {
                coming.push_str(text);
                if let Some(new) = told.push_text(text) {
                    listener.event(Event::Text { text: &new });
                }
            };
            let asked = self.context.model.ask(&question, &mut hear).await;
            self.coming = None;
            match asked {
                Ok(reply) => {
                    self.count_reply(Ok(&reply));
                    return Ok(reply);
                }
                Err(trouble) if context_window::is_too_long(&trouble) && window.shrink() => {}
                // Few services list what their models accept, so a model may reject attachments.
                Err(trouble)
                    if matches!(trouble.status(), Some(400 | 413 | 415 | 422))
                        && self.drop_rejected_attachments() => {}
                Err(trouble) => {
                    let Some(wait) = patience.wait_for(&trouble, told) else {
                        self.count_reply(Err(&trouble));
                        return Err(TaskEnd::Trouble(trouble));
                    };
                    self.spent.retries += 1;
                    self.listener.event(Event::Waiting { trouble: &trouble, wait });
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    fn drop_rejected_attachments(&mut self) -> bool {
        let model = self.context.model;
        let sent = model.sent(self.conversation);
        let Some((kind, count)) = self.conversation.reject_kind(&model.id, &sent) else {
            return false;
        };
        self.listener.event(Event::Rejected { kind, count });
        true
    }

    fn count_reply(&mut self, reply: Result<&Reply, &MemberError>) {
        self.spent.model_calls += 1;
        self.context.counting.model_called(self.context.model, reply);
        if let Ok(reply) = reply {
            self.spent.input_tokens += reply.input_tokens;
            self.spent.output_tokens += reply.output_tokens;
            self.spent.charge_micros += reply.charge_micros;
        }
    }

    fn leave(&mut self, end: &TaskEnd) -> TaskUsage {
        if let Some(text) = self.coming.take() {
            self.spent.model_calls += 1;
            self.context.counting.model_cancelled(self.context.model);
            if !text.is_empty() {
                let text = format!("{text}\n[{end}]");
                self.conversation.push(Message::Assistant { text, calls: Vec::new() });
            }
        }
        let running = std::mem::take(&mut self.running);
        for _ in &running {
            self.spent.tool_calls += 1;
            self.context.counting.tool_cancelled();
        }
        self.conversation.close_open_calls(&format!("the task ended ({end})"));
        if !running.is_empty() {
            self.listener.event(Event::Unfinished { calls: &running });
        }
        self.spent
    }

    fn last(&mut self, finish: Finish) -> TaskEnd {
        match finish {
            Finish::Filtered => TaskEnd::Filtered,
            Finish::Length => {
                self.listener.event(Event::CutShort);
                TaskEnd::Completed
            }
            Finish::Stop if self.conversation.answer().trim().is_empty() => TaskEnd::Empty,
            Finish::Stop => TaskEnd::Completed,
        }
    }

    fn mismatch(&self) -> Option<String> {
        let schema = self.context.output_schema.as_ref()?;
        match json_answer(&self.conversation.answer()) {
            Some(value) => violation(schema, &value),
            None => Some("it is not JSON".to_owned()),
        }
    }

    fn over_budget(&self) -> Option<TaskEnd> {
        let limit = self.context.bounds.micros?;
        let next = self.spent.charge_micros.saturating_add(self.context.model.price_micros);
        (next > limit).then_some(TaskEnd::Budget { limit })
    }
}

/// The JSON of an answer. Some models put it into a code block.
fn json_answer(answer: &str) -> Option<Value> {
    let text = answer.trim();
    let fenced = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let text = fenced.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner));
    serde_json::from_str(text.trim()).ok()
}
