//! What upstreams have done for a request: whether one answers, and which ones were asked.
//!
//! A receipt stores the attempts as a JSON array, in order: `["model", "outcome", milliseconds]` for
//! an upstream that failed, and only `milliseconds` for the one that answered, whose model the receipt
//! names. A request with one attempt, which is nearly every one, takes a few bytes.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    attempts: Attempts,
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
        match result {
            Ok(_) => self.0.attempts.answered(took),
            Err(failure) => self.0.attempts.failed(model, failure.word(), took),
        }
    }

    /// The attempts for the receipt.
    pub(super) fn attempts(&self) -> Option<Arc<str>> {
        self.0.attempts.stored()
    }

    pub(super) fn reached(&self) -> AnswerProgress {
        if self.has_begun() { AnswerProgress::Begun } else { AnswerProgress::Nothing }
    }
}

#[derive(Debug, Default)]
struct Attempts(Mutex<String>);

impl Attempts {
    fn answered(&self, took: Duration) {
        let mut text = self.next();
        // Writing into memory cannot fail.
        let _ = write!(text, "{}", took.as_millis());
    }

    fn failed(&self, model: &str, outcome: &str, took: Duration) {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let attempt = serde_json::to_string(&(model, outcome, took)).unwrap_or_default();
        self.next().push_str(&attempt);
    }

    /// The text, ready for another attempt.
    fn next(&self) -> MutexGuard<'_, String> {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let separator = if text.is_empty() { '[' } else { ',' };
        text.push(separator);
        text
    }

    /// The text for the receipt; `None` without attempts.
    fn stored(&self) -> Option<Arc<str>> {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (!text.is_empty()).then(|| format!("{text}]").into())
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
