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
    called_off: CancellationToken,
    all: Arc<Running>,
}

impl Running {
    pub(super) fn begin(self: &Arc<Self>, call: Call) -> Begun {
        let called_off = CancellationToken::new();
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(call.clone(), called_off.clone());
        Begun(Arc::new(Entry { call, called_off, all: self.clone() }))
    }

    /// Cancels a call, if it runs here.
    pub(super) fn cancel(&self, call: &Call) {
        if let Some(called_off) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(call) {
            called_off.cancel();
        }
    }
}

impl Begun {
    pub(super) async fn called_off(&self) {
        self.0.called_off.cancelled().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

#[cfg(test)]
mod tests;
