//! Money of requests: the store, and the holds that this process owns in it.

mod charge;
mod progress;

use std::sync::Arc;

use gateway_store::{KeyRecord, Store};
use ledger::{LimitStatus, Micros, Receipt, Windows};

pub(crate) use charge::{Charge, Opened, Order, Replay, Results};
pub(crate) use progress::Progress;
pub use progress::attempts;

use crate::alerts::ChargedAccounts;
use crate::clock;
use crate::config::{Config, Operation};
use crate::failure::ApiError;
use crate::lifecycle::Lifecycle;
use crate::metrics::Metrics;

/// Opens and ends holds.
pub(crate) struct Billing {
    config: Arc<Config>,
    pub(crate) store: Arc<Store>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) lifecycle: Lifecycle,
    /// The owner of the holds of this process.
    pub(crate) owner: i64,
    /// Accounts to look at for alerts.
    pub(crate) charged: Arc<ChargedAccounts>,
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

    /// The same books, with another configuration.
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

    /// The lifetime of a hold that is not renewed.
    pub(crate) fn lease_micros(&self) -> i64 {
        i64::try_from(self.config.hold_lease.as_micros()).unwrap_or(i64::MAX)
    }

    /// The current windows of budgets.
    pub(crate) fn windows(&self) -> Windows {
        self.config.calendar.windows(clock::now())
    }

    /// The listed price of an operation that needs no model.
    pub(crate) fn price(&self, operation: Operation) -> Micros {
        Micros::new(self.config.prices.default_of(operation))
    }

    /// Counts a free request against the rate of its key.
    pub(crate) async fn admit(&self, caller: &KeyRecord) -> Result<LimitStatus, ApiError> {
        let rate = self.store.admit(caller.key.member, caller.key.lineage).await??;
        Ok(LimitStatus { rate, budget: None })
    }
}

impl std::fmt::Debug for Billing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Billing").field("owner", &self.owner).finish_non_exhaustive()
    }
}
