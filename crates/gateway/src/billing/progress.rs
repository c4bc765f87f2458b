//! What upstreams have done for a request: whether one answers, and which ones were asked.
//!
//! A receipt stores the attempts as a JSON array, in order: `["model", "outcome", milliseconds]` for
//! an upstream that failed, and only `milliseconds` for the one that answered, whose model the receipt
//! names. A request with one attempt, which is nearly every one, takes a few bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ledger::{AnswerProgress, Receipt};
use serde::Deserialize;
use wire::account::AttemptView;

use crate::provider::Failure;

/// The outcome of the attempt that began to answer.
const ANSWERED: &str = "answered";

/// The progress of upstreams with a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<UpstreamProgress>);

#[derive(Debug, Default)]
struct UpstreamProgress {
    /// Whether an upstream has begun: a client that disconnects later is charged.
    has_begun: AtomicBool,
    /// The attempts so far, without the closing bracket.
    attempts: Mutex<String>,
}

impl Progress {
    pub(crate) fn set(&self, answer_began: bool) {
        self.0.has_begun.store(answer_began, Ordering::Relaxed);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Relaxed)
    }

    /// Notes an attempt at an upstream, and the time until it began to answer or failed.
    pub(crate) fn tried<T>(&self, model: &str, result: &Result<T, Failure>, took: Duration) {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let attempt = match result {
            Ok(_) => took.to_string(),
            Err(failure) => {
                serde_json::to_string(&(model, failure.as_str(), took)).unwrap_or_default()
            }
        };
        let mut attempts = self.0.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let separator = if attempts.is_empty() { '[' } else { ',' };
        attempts.push(separator);
        attempts.push_str(&attempt);
    }

    /// The attempts for the receipt; `None` if there are none.
    pub(super) fn attempts(&self) -> Option<Arc<str>> {
        let attempts = self.0.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        (!attempts.is_empty()).then(|| format!("{attempts}]").into())
    }

    pub(super) fn reached(&self) -> AnswerProgress {
        if self.has_begun() { AnswerProgress::Begun } else { AnswerProgress::Nothing }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Answered(u64),
    Failed(String, String, u64),
}

/// The attempts of a request, in order.
pub fn attempts(receipt: &Receipt) -> Vec<AttemptView> {
    let stored = receipt.attempts.as_deref().map(serde_json::from_str::<Vec<Stored>>);
    let view = |attempt| match attempt {
        Stored::Answered(took_ms) => {
            let model = receipt.model.as_deref().unwrap_or_default().to_owned();
            AttemptView { model, outcome: ANSWERED.to_owned(), took_ms }
        }
        Stored::Failed(model, outcome, took_ms) => AttemptView { model, outcome, took_ms },
    };
    stored.and_then(Result::ok).unwrap_or_default().into_iter().map(view).collect()
}
