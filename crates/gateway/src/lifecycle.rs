//! The stop signals of the service, and the tasks that it waits for before it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[derive(Debug, Clone)]
pub(crate) struct Lifecycle {
    /// Work that outlives its request; awaited before the process ends.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the drain begins.
    pub(crate) stopping: CancellationToken,
    /// Cancelled when the drain begins, or when a reload replaces the configuration that the holder
    /// was made for: ends periodic work, not requests.
    pub(crate) replaced: CancellationToken,
    /// The state of `stopping`, for hot paths: reading the token takes a lock.
    is_stopping: Arc<AtomicBool>,
    /// Cancelled when the drain has ended.
    pub(crate) finished: CancellationToken,
}

impl Default for Lifecycle {
    fn default() -> Self {
        let stopping = CancellationToken::new();
        Self {
            tasks: TaskTracker::new(),
            replaced: stopping.child_token(),
            stopping,
            is_stopping: Arc::default(),
            finished: CancellationToken::new(),
        }
    }
}

impl Lifecycle {
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    pub(crate) fn stop(&self) {
        // Before the token: the tasks that it wakes read the flag.
        self.is_stopping.store(true, Ordering::Release);
        self.stopping.cancel();
    }

    pub(crate) fn of_replacement(&self) -> Self {
        Self { replaced: self.stopping.child_token(), ..self.clone() }
    }
}
