//! Money of requests: the store, and the holds that this process owns in it.

mod charge;
mod progress;

use std::sync::Arc;

use gateway_store::{KeyRecord, SavedAnswer, Store};
use ledger::{LimitStatus, Micros, Receipt, Windows};

pub(crate) use charge::{Charge, Opened, Order, Replay, Results};
pub(crate) use progress::Progress;
pub use progress::attempts;

use crate::alerts::ChargedAccounts;
use crate::clock;
use crate::config::{Config, Operation};
use crate::failure::ApiResult;
use crate::lifecycle::Lifecycle;
use crate::metrics::Metrics;

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
