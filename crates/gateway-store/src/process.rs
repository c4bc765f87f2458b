//! The processes that serve from one database, and what they follow together.

use ledger::Time;
use serde_json::json;

use crate::audit::AuditChange;

/// A process that has not reported for this long is gone.
pub(crate) const PROCESS_TIMEOUT_MICROS: i64 = 90 * 1_000_000;

/// The setting that counts reloads of the configuration.
pub(crate) const GENERATION: &str = "config_generation";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessReport {
    /// The owner of its holds.
    pub owner: i64,
    /// Host and process id.
    pub name: String,
    /// The newest reload that it has followed.
    pub generation: i64,
    /// Why it could not use the configuration of that reload, one problem on a line; else empty.
    pub problems: String,
}

/// State that operators change, and that all processes follow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedState {
    pub generation: i64,
    pub drained: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainedProvider {
    pub name: String,
    pub since: Time,
    pub actor: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderAction {
    Drain,
    Enable,
}

pub(crate) fn reload_audit(generation: i64) -> AuditChange {
    AuditChange {
        action: "configuration.reload",
        subject: "configuration".to_owned(),
        detail: json!({ "generation": generation }),
    }
}

pub(crate) fn provider_audit(name: &str, action: ProviderAction) -> AuditChange {
    let action = match action {
        ProviderAction::Drain => "provider.drain",
        ProviderAction::Enable => "provider.enable",
    };
    AuditChange { action, subject: name.to_owned(), detail: json!({}) }
}
