//! Alerts of operators, and the outbox from which they are delivered.

use ledger::{Micros, Time};

use crate::WebhookOutcome;

/// Alerts older than this are deleted when a new one is written.
pub(crate) const ALERT_RETENTION_MICROS: i64 = 90 * 86_400 * 1_000_000;
/// A condition that recurs within this time after its end is not reported again.
pub(crate) const REPEAT_MICROS: i64 = 10 * 60 * 1_000_000;
const MAX_ERROR_CHARS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAlert {
    /// `balance`, `key_limit`, `provider`, `ledger`, `test` …
    pub kind: String,
    /// The member, key or provider.
    pub subject: String,
    pub message: String,
    /// Names the condition, which is reported once until it has ended. `None` is always reported.
    pub key: Option<String>,
    pub channels: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    pub id: i64,
    pub at: Time,
    pub kind: String,
    pub subject: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertDelivery {
    pub alert: Alert,
    /// `None` for an alert that no channel delivers.
    pub channel: Option<String>,
    /// The number of tries so far: the fencing token of a claim.
    pub tries: u32,
    /// `delivered`, `given_up`, or `None` while it is pending.
    pub outcome: Option<String>,
    /// Why the last try failed; else empty.
    pub error: String,
}

/// The newest top-up or positive adjustment of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    pub posting: i64,
    /// The balance after it.
    pub balance: Micros,
}

pub(crate) struct StoredOutcome {
    pub(crate) outcome: Option<&'static str>,
    pub(crate) after_micros: i64,
    pub(crate) error: String,
}

impl StoredOutcome {
    pub(crate) fn new(outcome: WebhookOutcome, error: &str) -> Self {
        let (outcome, after_micros) = outcome.stored();
        let error = error.chars().take(MAX_ERROR_CHARS).collect();
        Self { outcome, after_micros, error }
    }
}
