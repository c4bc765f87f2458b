//! Money of requests: the store, and the holds that this process owns in it.

mod charge;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gateway_store::{KeyRecord, SavedAnswer, Store};
use ledger::{AnswerProgress, LimitStatus, Micros, Receipt, Windows};
use serde::Deserialize;
use wire::account::AttemptView;

use crate::alerts::ChargedAccounts;
use crate::clock;
use crate::config::{Config, Operation};
use crate::failure::ApiResult;
use crate::lifecycle::Lifecycle;
use crate::metrics::Metrics;
use crate::provider::Failure;

pub(crate) use charge::{Charge, Opened, Order, Replay, Results};

pub(crate) struct Billing {
    config: Arc<Config>,
    pub(crate) store: Arc<Store>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) lifecycle: Lifecycle,
    /// The owner of the holds of this process.
    pub(crate) owner: i64,
    pub(crate) charged: Arc<ChargedAccounts>,
}

/// A successful answer in JSON, to be stored for an idempotency key.
pub(crate) fn saved_json(body: Vec<u8>) -> SavedAnswer {
    SavedAnswer { status: 200, content_type: "application/json".to_owned(), body }
}

impl Billing {
    pub(crate) fn new(
        config: Arc<Config>,
        store: Arc<Store>,
        metrics: Arc<Metrics>,
        lifecycle: Lifecycle,
    ) -> Self {
        let (owner, charged) = (fastrand::i64(1..), Arc::default());
        Self { config, store, metrics, lifecycle, owner, charged }
    }

    pub(crate) fn reconfigured(&self, config: Arc<Config>, lifecycle: Lifecycle) -> Self {
        let (store, metrics, owner) = (self.store.clone(), self.metrics.clone(), self.owner);
        Self { config, store, metrics, lifecycle, owner, charged: self.charged.clone() }
    }

    /// Counts the end of a hold, and notes its account if operators want alerts.
    pub(crate) fn ended(&self, receipt: &Receipt) {
        self.metrics.ended(receipt);
        if self.config.alerts.as_ref().is_some_and(|alerts| !alerts.shares.is_empty()) {
            self.charged.note(receipt);
        }
    }

    pub(crate) fn lease_micros(&self) -> i64 {
        clock::micros(self.config.hold_lease)
    }

    pub(crate) fn windows(&self) -> Windows {
        self.config.calendar.windows(clock::now())
    }

    /// The listed price of an operation that needs no model.
    pub(crate) fn price(&self, operation: Operation) -> Micros {
        Micros::new(self.config.prices.default_of(operation))
    }

    /// Counts a free request against the rate of its key.
    pub(crate) async fn admit(&self, caller: &KeyRecord) -> ApiResult<LimitStatus> {
        let rate = self.store.admit(caller.key.member, caller.key.lineage).await??;
        Ok(LimitStatus { rate, budget: None })
    }
}

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
