//! Calls that run as server-side tasks: polling, and recovery by a later process.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::sleep;

use super::Client;
use crate::content::ToolOutcome;
use crate::error::{Error, ErrorKind};
use crate::host::{Host, ServerTask};
use crate::registry::ToolAction;
use crate::router::Progress;
use crate::session::{CallOptions, PolledTask, Session, StartedTask, TaskState, Timeouts};
use crate::supervisor::{CallEffect, ServerHandle, backoff};

/// Maximum consecutive poll failures before the client gives up; the task may continue.
const MAX_FAILED_POLLS: u32 = 5;

impl Client {
    pub async fn task_state(&self, task: &ServerTask) -> Result<TaskState, Error> {
        let poll = |session: Session| async move { session.poll_task(&task.id).await };
        let polled = self.read(&task.server, &task.tool, poll).await;
        if let Err(Error::Rpc(_)) = &polled {
            self.inner.host.task_ended(task);
        }
        Ok(polled?.state)
    }

    /// Waits for the end of a task and returns its result. If dropped, the task continues.
    pub async fn task_result(
        &self,
        task: &ServerTask,
        options: &CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let handle = self.handle(&task.server)?;
        let task = task.clone();
        let waiting = WaitingTask { handle: &handle, host: &self.inner.host, task, owned: None };
        self.finished(waiting, options).await
    }

    pub async fn cancel_task(&self, task: &ServerTask) -> Result<(), Error> {
        let cancel = |session: Session| async move { session.cancel_task(&task.id).await };
        let cancelled = self.read(&task.server, &task.tool, cancel).await;
        // A server rejects this for a task that has ended or that it does not know.
        if let Ok(()) | Err(Error::Rpc(_)) = &cancelled {
            self.inner.host.task_ended(task);
        }
        cancelled
    }

    /// Waits for a task of this process; dropping the future cancels the task.
    pub(super) async fn own_task(
        &self,
        handle: &ServerHandle,
        tool: &str,
        started: StartedTask,
        options: &CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let (server, tool) = (handle.name.to_string(), tool.to_owned());
        let task = ServerTask { server, tool, id: started.id.clone() };
        if let Some(store) = &self.inner.host.tasks {
            store.started(&task);
        }
        let owned = Some(started.session.clone());
        let waiting = WaitingTask { handle, host: &self.inner.host, task, owned };
        let outcome = self.finished(waiting, options).await;
        // Progress is reported until here.
        drop(started);
        outcome
    }

    async fn finished(
        &self,
        waiting: WaitingTask<'_>,
        options: &CallOptions,
    ) -> Result<ToolOutcome, Error> {
        let registry = self.registry();
        let tool = registry.lookup(&waiting.task.tool);
        let schema = tool.and_then(|tool| match &tool.action {
            ToolAction::Tool(tool) => tool.output_schema.as_ref(),
            _ => None,
        });
        let mut outcome = waiting.finish(options).await?;
        outcome.check(schema);
        Ok(outcome.redacted(&self.inner.host.redactor))
    }
}

impl Host {
    fn task_ended(&self, task: &ServerTask) {
        if let Some(store) = &self.tasks {
            store.ended(task);
        }
    }
}

struct WaitingTask<'a> {
    handle: &'a ServerHandle,
    host: &'a Arc<Host>,
    task: ServerTask,
    /// The session that cancels the task if this is dropped before the task ends.
    owned: Option<Session>,
}

impl Drop for WaitingTask<'_> {
    fn drop(&mut self) {
        let Some(session) = self.owned.take() else { return };
        let (host, task) = (Arc::clone(self.host), self.task.clone());
        session.abandon_task(&self.task.id, move || host.task_ended(&task));
    }
}

impl WaitingTask<'_> {
    /// Waits for the end, at most the total call timeout.
    async fn finish(mut self, options: &CallOptions) -> Result<ToolOutcome, Error> {
        let timeout = options.timeout.unwrap_or_else(|| self.handle.timeout());
        let cap = Timeouts::call(timeout).total;
        let Ok(outcome) = tokio::time::timeout(cap, self.poll(options)).await else {
            // An own task is cancelled now.
            return Err(Error::CallTooLong { method: "tools/call".to_owned(), cap });
        };
        match outcome {
            Err(error) if error.kind() == ErrorKind::Call && !has_ended(&error) => Err(error),
            Err(cause) if !has_ended(&cause) => {
                self.owned = None;
                Err(Error::TaskLost { id: self.task.id.clone(), cause: Box::new(cause) })
            }
            ended => {
                self.owned = None;
                self.host.task_ended(&self.task);
                ended
            }
        }
    }

    async fn poll(&mut self, options: &CallOptions) -> Result<ToolOutcome, Error> {
        let (mut failures, mut answered, mut shown) = (0, BTreeSet::new(), None);
        loop {
            let polled = self.poll_once(&mut answered, &mut shown, options).await;
            match polled.map_err(|error| error.redacted(&self.host.redactor)) {
                Ok((_, Some(outcome))) => return Ok(outcome),
                Ok((polled, None)) => {
                    failures = 0;
                    polled.wait().await;
                }
                Err(error)
                    if error.kind() == ErrorKind::Transient && failures < MAX_FAILED_POLLS =>
                {
                    failures += 1;
                    sleep(backoff(failures)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn poll_once(
        &mut self,
        answered: &mut BTreeSet<String>,
        shown: &mut Option<TaskState>,
        options: &CallOptions,
    ) -> Result<(PolledTask, Option<ToolOutcome>), Error> {
        let id = &self.task.id;
        let poll = |session: Session| async move { session.poll_task(id).await };
        let polled = self.handle.run(&self.task.tool, CallEffect::ReadOnly, poll).await?;
        if self.owned.is_some() {
            self.owned = Some(polled.session.clone());
        }
        if let Some(progress) = &options.progress
            && shown.as_ref() != Some(&polled.state)
        {
            let message = Some(polled.state.to_string());
            progress(Progress { done: None, total: None, message });
            *shown = Some(polled.state.clone());
        }
        let outcome = polled.outcome(answered).await?;
        Ok((polled, outcome))
    }
}

/// Whether the server reports that the task has ended or is unknown.
fn has_ended(error: &Error) -> bool {
    matches!(error, Error::Rpc(_) | Error::TaskCancelled { .. } | Error::TooLarge { .. })
}
