//! The tasks that servers run for this profile, in a file, so that a later process finds them.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_client::host::{ClientEvent, Observer, ServerTask, TaskStore};
use serde::{Deserialize, Serialize};
use task_loop::approval_memory::ApprovalStore as _;
use usage_metrics::clock::Clock;

use super::approval::ApprovalFile;
use crate::diagnostic::Result;
use crate::session::Session;

/// Maximum number of stored tasks; the oldest are dropped.
const MAX_TASKS: usize = 64;
/// Retention in days.
const MAX_DAYS: u32 = 30;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeptTask {
    #[serde(flatten)]
    pub(crate) task: ServerTask,
    /// The conversation of the task.
    pub(crate) conversation: Option<String>,
    /// RFC 3339.
    pub(crate) started: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    tasks: Vec<KeptTask>,
}

#[derive(Debug)]
pub(crate) struct TaskFile {
    file: ApprovalFile,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    /// The conversation that starts tasks now.
    conversation: Mutex<Option<String>>,
}

impl TaskFile {
    pub(crate) fn of(session: &Session, observer: Arc<dyn Observer>) -> Result<Self> {
        let (file, clock) = (ApprovalFile(session.home()?.mcp_tasks()), Arc::clone(&session.clock));
        Ok(Self { file, clock, observer, conversation: Mutex::default() })
    }

    pub(crate) fn in_conversation(&self, id: String) {
        *self.conversation.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }

    /// The stored tasks of the current conversation.
    pub(crate) fn of_conversation(&self) -> Vec<KeptTask> {
        let id = self.conversation.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut tasks = self.read().unwrap_or_default();
        tasks.retain(|kept| id.is_some() && kept.conversation == id);
        tasks
    }

    pub(crate) fn read(&self) -> io::Result<Vec<KeptTask>> {
        let Some(text) = self.file.read()? else { return Ok(Vec::new()) };
        let content: Content = serde_json::from_str(&text).map_err(|error| {
            io::Error::other(format!("invalid content in {}: {error}", self.file.name()))
        })?;
        Ok(content.tasks)
    }

    fn update(&self, server: &str, change: impl Fn(&mut Vec<KeptTask>)) {
        let oldest = self.clock.now().minus_days(MAX_DAYS).to_string();
        let done = self.file.update(&mut || {
            let mut tasks = self.read()?;
            tasks.retain(|kept| kept.started >= oldest);
            change(&mut tasks);
            let extra = tasks.len().saturating_sub(MAX_TASKS);
            tasks.drain(..extra);
            Ok(Some(serde_json::to_string_pretty(&Content { tasks })?))
        });
        if let Err(error) = done {
            let text = format!("the list of its running tasks is not saved: {error}");
            self.observer.event(ClientEvent::Warning { server: server.to_owned(), text });
        }
    }
}

impl TaskStore for TaskFile {
    fn started(&self, task: &ServerTask) {
        let conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let started = self.clock.now().to_string();
        let kept = KeptTask { task: task.clone(), conversation, started };
        self.update(&task.server, |tasks| tasks.push(kept.clone()));
    }

    fn ended(&self, task: &ServerTask) {
        self.update(&task.server, |tasks| tasks.retain(|kept| kept.task != *task));
    }
}
