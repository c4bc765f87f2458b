//! Commands with live output: the steps of a test, a download, a sign-in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::program::{CommandError, Program};

/// Maximum number of jobs; the oldest are dropped.
const MAX_JOBS: usize = 50;
/// Maximum lines of a job; the oldest are dropped.
const MAX_LINES: usize = 2000;
const MAX_LINE_BYTES: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Jobs {
    next: AtomicU64,
    jobs: Mutex<VecDeque<(u64, Arc<Job>)>>,
}

/// A running or finished command.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) title: String,
    /// The page behind the back link.
    pub(crate) back: &'static str,
    state: Mutex<JobState>,
}

#[derive(Debug, Default)]
pub(crate) struct JobState {
    pub(crate) lines: VecDeque<String>,
    /// The page of an authorization server that the person must visit.
    pub(crate) sign_in: Option<SignInPage>,
    pub(crate) has_succeeded: Option<bool>,
}

#[derive(Debug, Clone)]
pub(crate) struct SignInPage {
    pub(crate) address: String,
    pub(crate) issuer: String,
}

impl Jobs {
    /// Starts a command, and `then` when it ends; returns the path of its page.
    pub(crate) fn start(
        &self,
        program: &Program,
        (title, back): (String, &'static str),
        words: &[&str],
        then: impl Future<Output = ()> + Send + 'static,
    ) -> Result<String, CommandError> {
        let mut child = program.start(words)?;
        drop(child.stdin.take());
        let job = Arc::new(Job { title, back, state: Mutex::default() });
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.truncate(MAX_JOBS - 1);
        jobs.push_front((id, Arc::clone(&job)));
        drop(jobs);
        let (out, notes) = (child.stdout.take(), child.stderr.take());
        tokio::spawn(async move {
            let read = async {
                tokio::join!(job.read(out), job.read(notes));
            };
            let ((), status) = tokio::join!(read, child.wait());
            then.await;
            job.state().has_succeeded = Some(status.is_ok_and(|status| status.success()));
        });
        Ok(format!("/jobs/{id}"))
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Job>> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().find(|(known, _)| *known == id).map(|(_, job)| Arc::clone(job))
    }

    /// Whether a job still runs.
    pub(crate) fn is_busy(&self) -> bool {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().any(|(_, job)| job.state().has_succeeded.is_none())
    }
}

impl Job {
    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(&self, from: Option<impl AsyncRead + Unpin>) {
        let Some(from) = from else { return };
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(mut line)) = lines.next_line().await {
            let mut state = self.state();
            if let Some(page) = sign_in_page(&line) {
                state.sign_in = Some(page);
                continue;
            }
            line.truncate(line.floor_char_boundary(MAX_LINE_BYTES));
            if state.lines.len() == MAX_LINES {
                state.lines.pop_front();
            }
            state.lines.push_back(line);
        }
    }
}

/// The page in the JSON line of `agent mcp login --json`.
fn sign_in_page(line: &str) -> Option<SignInPage> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| value["sign_in"][name].as_str().map(str::to_owned);
    let address = text("address")?;
    // The address is a link of the page.
    let is_web = address.starts_with("https://") || address.starts_with("http://");
    is_web.then_some(SignInPage { address, issuer: text("issuer").unwrap_or_default() })
}
