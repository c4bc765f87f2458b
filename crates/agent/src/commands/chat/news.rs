//! News since the last message that belong to the next one: results of tasks that an earlier
//! process started, and attached resources that changed.

use std::time::Duration;

use mcp_client::session::CallOptions;
use mcp_client::{Error, ErrorKind};
use task_loop::UserInput;
use task_loop::untrusted::printable;

use super::library::{append, rendered};
use super::session::ChatSession;
use crate::mcp::task_file::KeptTask;
use crate::output::DIM;

/// Maximum number of tasks polled per message.
const MAX_TASKS: usize = 8;
const TASK_TIMEOUT: Duration = Duration::from_secs(10);

impl ChatSession<'_> {
    /// Adds the news to a message, and informs the person.
    pub(super) async fn add_news(&self, said: &mut UserInput) {
        for kept in self.setup.fleet.tasks.of_conversation().into_iter().take(MAX_TASKS) {
            // An unavailable server is asked again with the next message.
            let _ = tokio::time::timeout(TASK_TIMEOUT, self.add_result(&kept, said)).await;
        }
        for name in self.library.with_changes(said, &self.toolbox).await {
            let name = printable(&name);
            self.output().note(format!("{DIM}attached {name} again: it changed{DIM:#}"));
        }
    }

    async fn add_result(&self, kept: &KeptTask, said: &mut UserInput) {
        let (task, tool) = (&kept.task, printable(&kept.task.tool));
        let shown = &self.setup.fleet.shown;
        let note = |how: &str| {
            let id = shown.line(&task.id);
            self.output().note(format!("{DIM}{tool} (task {id}): {how}{DIM:#}"));
        };
        match self.client.task_state(task).await {
            Ok(state) if state.status.is_final() => {}
            Ok(state) => return note(&shown.line(&state.to_string())),
            Err(Error::Rpc(_)) => return note("its server no longer knows it"),
            Err(_) => return,
        }
        let what = format!("result of an earlier call of {tool}");
        match self.client.task_result(task, &CallOptions::default()).await {
            Ok(outcome) => append(said, &what, rendered(&outcome, &self.toolbox).await),
            Err(Error::TaskCancelled { .. }) => return note("cancelled"),
            Err(error) if error.kind() == ErrorKind::Call => {
                append(said, &what, format!("error: {error}").as_str().into());
            }
            Err(_) => return,
        }
        note("its result is attached");
    }
}
