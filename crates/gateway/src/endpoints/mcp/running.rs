//! Running calls of this process, which their clients can cancel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) key: String,
    pub(super) session: String,
    /// The id of the request, as JSON.
    pub(super) request: String,
}

#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashMap<Call, CancellationToken>>);

/// A call that is registered until its last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Begun(Arc<Entry>);

#[derive(Debug)]
struct Entry {
    call: Call,
    cancelled: CancellationToken,
    all: Arc<Running>,
}

impl Running {
    pub(super) fn begin(self: &Arc<Self>, call: Call) -> Begun {
        let cancelled = CancellationToken::new();
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(call.clone(), cancelled.clone());
        Begun(Arc::new(Entry { call, cancelled, all: self.clone() }))
    }

    /// Cancels a call, if it runs here.
    pub(super) fn cancel(&self, call: &Call) {
        if let Some(cancelled) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(call) {
            cancelled.cancel();
        }
    }
}

impl Begun {
    pub(super) async fn cancelled(&self) {
        self.0.cancelled.cancelled().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

#[cfg(test)]
mod tests;
