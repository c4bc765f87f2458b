//! Calls that a server runs as tasks: polled until they end.
//!
//! A legacy server starts a task if the call asks for it, sends its questions while it holds
//! back the response to `tasks/result`, and returns the result there. A stateless server
//! decides by itself to start a task, and returns questions and the result with its state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{ActiveCall, CallOptions, CancelOnDrop, Request, Session, Timeouts, redacting};
use crate::content::{self, ToolOutcome};
use crate::error::Error;
use crate::message::{Params, RawJson, RpcError, truncated};
use crate::protocol::Era;
use crate::router::{RequestKind, ResponseWaiter};
use crate::tool::RawObject;
use crate::transport::spawn_detached;

pub(crate) const MAX_ID_BYTES: usize = 512;
pub(crate) const MIN_POLL_INTERVAL: Duration = Duration::from_millis(250);
pub(crate) const MAX_POLL_INTERVAL: Duration = Duration::from_secs(30);
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(2);
const MAX_MESSAGE_BYTES: usize = 1000;
/// Requested time to live of a task at a legacy server: a later process may get its result.
const TIME_TO_LIVE: Duration = Duration::from_hours(24);
pub(crate) const MAX_QUESTIONS: u32 = 64;

/// A started task. Its progress is reported until this is dropped.
#[derive(Debug)]
pub struct StartedTask {
    pub(crate) id: String,
    pub(crate) session: Session,
    _progress: Option<KeptProgress>,
}

/// The state of a task, as reported by its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    pub status: TaskStatus,
    pub message: Option<String>,
    interval: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum TaskStatus {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// One poll of a task. Its session is not recycled until this is dropped.
#[derive(Debug)]
pub(crate) struct PolledTask {
    pub(crate) state: TaskState,
    pub(crate) session: Session,
    id: String,
    answer: RawJson,
    _busy: ActiveCall,
}

/// Receives the progress of a call after its response.
#[derive(Debug)]
pub(super) struct KeptProgress {
    _registration: CancelOnDrop,
    _waiter: ResponseWaiter,
}

impl Session {
    /// Adds to a call the request to run it as a task.
    pub(super) fn ask_for_task(
        &self,
        request: &mut Request<'_>,
        options: &CallOptions,
    ) -> KeptProgress {
        let ttl = u64::try_from(TIME_TO_LIVE.as_millis()).unwrap_or(u64::MAX);
        request.params = std::mem::take(&mut request.params).with("task", &json!({ "ttl": ttl }));
        let inner = Arc::clone(&self.inner);
        let token = inner.next_id.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        request.progress_token = Some(token);
        let sink = redacting(options.progress.as_ref(), &inner.host.redactor);
        let waiter = inner.router.register(token, sink, RequestKind::Subscription);
        let registration = CancelOnDrop { inner, id: token, notify: false };
        KeptProgress { _registration: registration, _waiter: waiter }
    }

    pub(crate) async fn poll_task(&self, id: &str) -> Result<PolledTask, Error> {
        let busy = ActiveCall::new(&self.inner);
        let answer = self.request(self.about_task("tasks/get", id)).await?;
        let mut state = TaskState::decode(&RawObject::open(answer.text())?);
        if let Some(message) = &mut state.message {
            *message = self.inner.host.redactor.redact(message).into_owned();
        }
        Ok(PolledTask { state, session: self.clone(), id: id.to_owned(), answer, _busy: busy })
    }

    pub(crate) async fn cancel_task(&self, id: &str) -> Result<(), Error> {
        self.request(self.about_task("tasks/cancel", id)).await.map(drop)
    }

    /// Cancels a task whose caller is gone. `confirmed` runs if the server confirms it.
    pub(crate) fn abandon_task(&self, id: &str, confirmed: impl FnOnce() + Send + 'static) {
        let (session, id) = (self.clone(), id.to_owned());
        spawn_detached(&self.inner.cancellations, async move {
            let cancelled = session.cancel_task(&id);
            if let Ok(Ok(())) = tokio::time::timeout(super::CANCEL_TIMEOUT, cancelled).await {
                confirmed();
            }
        });
    }

    fn about_task<'a>(&self, method: &'a str, id: &str) -> Request<'a> {
        self.named(method, id, Params::default().with("taskId", id))
    }
}

/// The task that a reply to a call announces, if it announces one.
pub(super) fn started(
    session: &Session,
    reply: &str,
    progress: Option<KeptProgress>,
) -> Result<Option<StartedTask>, Error> {
    // Results can be long.
    if memmem::find(reply.as_bytes(), b"\"taskId\"").is_none() {
        return Ok(None);
    }
    let reply = RawObject::open(reply)?;
    let task = match session.handshake().era {
        Era::Legacy => reply.text("task").map(RawObject::open).transpose()?,
        Era::Stateless => (reply.value("resultType") == Some(json!("task"))).then_some(reply),
    };
    let Some(task) = task else { return Ok(None) };
    let id = match task.value("taskId") {
        Some(Value::String(id))
            if (1..=MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(char::is_control) =>
        {
            id
        }
        _ => return Err(Error::malformed("the task has no usable `taskId`")),
    };
    Ok(Some(StartedTask { id, session: session.clone(), _progress: progress }))
}

impl TaskState {
    fn decode(task: &RawObject<'_>) -> Self {
        let status = task.value("status");
        let status = status.and_then(|status| TaskStatus::deserialize(status).ok());
        // The time limit ends a task that never changes its state.
        let status = status.unwrap_or(TaskStatus::Working);
        let message = task.value("statusMessage");
        let message = message.as_ref().and_then(Value::as_str).map(str::trim);
        let named = |key| task.value(key).as_ref().and_then(Value::as_f64);
        let millis = named("pollInterval").or_else(|| named("pollIntervalMs"));
        let interval = millis.map_or(DEFAULT_POLL_INTERVAL, |millis| {
            let [least, most] = [MIN_POLL_INTERVAL, MAX_POLL_INTERVAL].map(|it| it.as_secs_f64());
            Duration::from_secs_f64((millis / 1000.0).clamp(least, most))
        });
        let message = message.filter(|text| !text.is_empty());
        let message = message.map(|text| truncated(text, MAX_MESSAGE_BYTES));
        Self { status, message, interval }
    }
}

impl std::fmt::Display for TaskState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.status.into_str())?;
        self.message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}

impl PolledTask {
    /// The result of a finished task. Answers the questions of a waiting task; `answered` has
    /// those that earlier polls answered.
    pub(crate) async fn outcome(
        &self,
        answered: &mut BTreeSet<String>,
    ) -> Result<Option<ToolOutcome>, Error> {
        match (self.state.status, self.session.handshake().era) {
            (TaskStatus::Working, _) => Ok(None),
            (TaskStatus::Cancelled, _) => {
                Err(Error::TaskCancelled { message: self.state.message.clone() })
            }
            (_, Era::Legacy) => {
                let mut request = self.session.about_task("tasks/result", &self.id);
                // The caller bounds the time: the server answers when the task has ended.
                request.timeouts = Timeouts::total(Duration::MAX);
                let answer = self.session.request(request).await?;
                Ok(Some(content::tool_outcome(answer.text())?))
            }
            (TaskStatus::InputRequired, Era::Stateless) => {
                self.answer_questions(answered).await.map(|()| None)
            }
            (status, Era::Stateless) => {
                let task = RawObject::open(self.answer.text())?;
                if status == TaskStatus::Failed {
                    let error = task.text("error").unwrap_or("null");
                    return Err(Error::Rpc(RpcError::lenient(error)));
                }
                Ok(Some(content::tool_outcome(task.text("result").unwrap_or("{}"))?))
            }
        }
    }

    async fn answer_questions(&self, answered: &mut BTreeSet<String>) -> Result<(), Error> {
        let task = RawObject::open(self.answer.text())?;
        let asked = serde_json::from_str(task.text("inputRequests").unwrap_or("{}"));
        let mut asked: BTreeMap<String, &RawValue> =
            asked.map_err(|error| Error::malformed(format!("invalid questions: {error}")))?;
        asked.retain(|key, _| !answered.contains(key));
        if asked.is_empty() {
            return Ok(());
        }
        answered.extend(asked.keys().cloned());
        if answered.len() > MAX_QUESTIONS as usize {
            return Err(Error::TooManyRounds { rounds: MAX_QUESTIONS });
        }
        let responses = self.session.responses(asked).await?;
        let mut request = self.session.about_task("tasks/update", &self.id);
        request.params = request.params.with("inputResponses", &responses);
        self.session.request(request).await.map(drop)
    }

    /// Waits until the next poll: at the interval that the server requests, within bounds, or
    /// earlier if it reports a change.
    pub(crate) async fn wait(&self) {
        tokio::time::sleep(MIN_POLL_INTERVAL).await;
        tokio::select! {
            () = tokio::time::sleep(self.state.interval.saturating_sub(MIN_POLL_INTERVAL)) => {}
            () = self.session.inner.router.task_changed.notified() => {}
        }
    }
}

#[cfg(test)]
mod tests;
