//! Responses and jobs that this process runs in the background, and running calls of tools: how each
//! is cancelled, how followers learn of new events, and how many followers a key may have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ledger::LineageId;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wire::error::Code;

use crate::billing::Progress;
use crate::failure::{ApiError, ApiResult};

/// Maximum responses that one key follows at once, in one process.
const MAX_FOLLOWED: u32 = 64;

#[derive(Debug, Default)]
pub(crate) struct BackgroundTasks {
    running: papaya::HashMap<String, Entry>,
    followers: Mutex<HashMap<LineageId, u32>>,
}

#[derive(Debug)]
struct Entry {
    cancelled: CancellationToken,
    updates: Updates,
}

/// Changes when there are new events; closes after the last one.
pub(crate) type Updates = watch::Receiver<()>;

/// A task that is registered until this is dropped.
pub(crate) struct BackgroundTask {
    tasks: Arc<BackgroundTasks>,
    id: String,
    pub(crate) cancelled: CancellationToken,
    written: watch::Sender<()>,
}

/// Counts one follower of a key until it is dropped.
pub(crate) struct Follower {
    tasks: Arc<BackgroundTasks>,
    key: LineageId,
}

impl BackgroundTasks {
    pub(crate) fn cancel(&self, id: &str) {
        if let Some(entry) = self.running.pin().get(id) {
            entry.cancelled.cancel();
        }
    }

    /// The updates of a task; `None` if it does not run here.
    pub(crate) fn updates(&self, id: &str) -> Option<Updates> {
        self.running.pin().get(id).map(|entry| entry.updates.clone())
    }

    pub(crate) fn start(self: &Arc<Self>, id: &str) -> BackgroundTask {
        let (written, updates) = watch::channel(());
        let cancelled = CancellationToken::new();
        let entry = Entry { cancelled: cancelled.clone(), updates };
        self.running.pin().insert(id.to_owned(), entry);
        BackgroundTask { tasks: self.clone(), id: id.to_owned(), cancelled, written }
    }

    pub(crate) fn follow(self: &Arc<Self>, key: LineageId) -> ApiResult<Follower> {
        let mut followers = self.followers();
        let count = followers.entry(key).or_default();
        if *count >= MAX_FOLLOWED {
            let message = format!("this key can follow at most {MAX_FOLLOWED} responses at once");
            return Err(ApiError::new(Code::RateLimited, message));
        }
        *count += 1;
        Ok(Follower { tasks: self.clone(), key })
    }

    fn followers(&self) -> MutexGuard<'_, HashMap<LineageId, u32>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BackgroundTask {
    pub(crate) fn notify(&self) {
        self.written.send_replace(());
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        self.tasks.running.pin().remove(&self.id);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut followers = self.tasks.followers();
        if let Some(count) = followers.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                followers.remove(&self.key);
            }
        }
    }
}

/// A task that is aborted on drop, unless the answer has begun.
pub(crate) struct AbortEarly<T> {
    handle: Option<JoinHandle<ApiResult<T>>>,
    progress: Progress,
}

impl<T> AbortEarly<T> {
    pub(crate) fn new(handle: JoinHandle<ApiResult<T>>, progress: Progress) -> Self {
        Self { handle: Some(handle), progress }
    }

    pub(crate) async fn wait(mut self) -> ApiResult<T> {
        let Some(handle) = &mut self.handle else { return Err(ApiError::internal()) };
        let result = handle.await;
        self.handle = None;
        result.unwrap_or_else(|_| Err(ApiError::internal()))
    }
}

impl<T> Drop for AbortEarly<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && !self.progress.has_begun()
        {
            handle.abort();
        }
    }
}
