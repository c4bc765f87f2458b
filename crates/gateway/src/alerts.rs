//! Alerts to operators: conditions are noticed, stored once, and delivered at least once.
//!
//! [`watch`] notices crossed shares and failing providers; [`deliver`] sends from the outbox in the
//! store, so that a restart loses nothing and processes that share a database send an alert once.

pub(crate) mod channel;
pub(crate) mod deliver;
pub(crate) mod watch;

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use gateway_store::{NewAlert, Store};
use ledger::{LineageId, MemberId, Micros, Receipt};

use crate::config;
use crate::failure::chain;

const WEBHOOK: &str = "webhook";
const EMAIL: &str = "email";

/// Maximum number of accounts queued for a check; others are checked after their next charge.
const MAX_CHARGED: usize = 100_000;

/// Accounts charged since their last check.
#[derive(Debug, Default)]
pub(crate) struct ChargedAccounts(Mutex<HashSet<(MemberId, LineageId)>>);

impl ChargedAccounts {
    pub(crate) fn note(&self, receipt: &Receipt) {
        if receipt.charged == Micros::ZERO {
            return;
        }
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() < MAX_CHARGED {
            accounts.extend(receipt.owners().map(|owner| (owner, receipt.lineage)));
        }
    }

    fn take(&self) -> HashSet<(MemberId, LineageId)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Alerts<'a> {
    pub(crate) config: &'a config::Alerts,
    pub(crate) store: &'a Store,
}

impl Alerts<'_> {
    /// Alerts if the used percentage of an amount, before and after, crosses a configured share: once
    /// for a period, whatever the number of processes, and only about the highest share that it
    /// crosses. The period names what the amount was given for, such as a top-up.
    async fn share_changed(
        self,
        kind: &str,
        account: &str,
        period: &str,
        (before, after): (u32, u32),
    ) {
        let crossed =
            self.config.shares.iter().filter(|share| (before + 1..=after).contains(*share));
        let Some(share) = crossed.max() else { return };
        let what = match kind {
            "balance" => "balance since the last top-up",
            "budget" => "budget of this period",
            "key_limit" => "spend limit of the key",
            kind => kind,
        };
        let message = format!("{account} has used {after} % of its {what}");
        let key = format!("{kind}:{account}:{period}:{share}");
        self.open(kind, account, message, Some(key)).await;
    }

    pub(crate) async fn ledger_checked(self, wrong: u64) {
        const KEY: &str = "ledger";
        if wrong == 0 {
            self.end(KEY).await;
        } else if self.config.ledger {
            let message = format!("the check of the ledger found {wrong} wrong figures");
            self.open("ledger", "ledger", message, Some(KEY.to_owned())).await;
        }
    }

    /// Stores an alert, unless its condition is reported already.
    async fn open(self, kind: &str, subject: &str, message: String, key: Option<String>) {
        let alert = new_alert(self.config, kind, subject, message, key);
        match self.store.open_alert(&alert).await {
            Ok(None) => {}
            Ok(Some(id)) => tracing::warn!(id, kind, what = alert.message, "alert"),
            Err(error) => tracing::error!(error = %chain(&error), kind, "alert not stored"),
        }
    }

    async fn end(self, key: &str) {
        if let Err(error) = self.store.end_alert(key).await {
            tracing::warn!(error = %chain(&error), "end of an alert not stored");
        }
    }
}

pub(crate) fn new_alert(
    config: &config::Alerts,
    kind: &str,
    subject: &str,
    message: String,
    key: Option<String>,
) -> NewAlert {
    let channels = [(WEBHOOK, config.webhook.is_some()), (EMAIL, config.email.is_some())];
    NewAlert {
        kind: kind.to_owned(),
        subject: subject.to_owned(),
        message,
        key,
        channels: channels.iter().filter(|it| it.1).map(|it| it.0.to_owned()).collect(),
    }
}
