//! Options of a call, and the mark of a running one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Inner;
use crate::router::ProgressSink;

#[derive(Clone, Default)]
pub struct CallOptions {
    pub progress: Option<ProgressSink>,
    /// Overrides the idle timeout of the entry.
    pub timeout: Option<Duration>,
    /// The [digest](crate::tool::Tool::digest) of the approved definition; a tool whose definition has changed
    /// is not called. Without it the host is asked if the server is untrusted.
    pub approved: Option<String>,
}

impl std::fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallOptions").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct ActiveCall(Arc<Inner>);

impl ActiveCall {
    pub(super) fn new(inner: &Arc<Inner>) -> Self {
        inner.active_calls.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(inner))
    }
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.0.active_calls.fetch_sub(1, Ordering::AcqRel);
    }
}
