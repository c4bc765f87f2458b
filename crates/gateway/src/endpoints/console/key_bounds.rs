//! Bounds of key management by a member: a key never gains permissions through another key.

use gateway_store::{KeyRecord, Scope};
use ledger::{Budget, Limits};

use super::page::Refusal;
use crate::config::NewKeys;

/// Whether a key may manage another one of its member: it has every permission of the other
/// key.
pub(super) fn covers(own: &KeyRecord, other: &KeyRecord) -> bool {
    let has_scopes = other.key.scopes.iter().all(|scope| own.key.scopes.contains(scope));
    let has_models = match (&own.key.models, &other.key.models) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(own), Some(other)) => other.iter().all(|model| own.contains(model)),
    };
    let is_same_lineage = own.key.lineage == other.key.lineage;
    own.key.member == other.key.member
        && has_scopes
        && has_models
        && (is_same_lineage || (!is_capped(own) && within(other.limits, own.limits)))
}

/// Why a key may not create keys; `None` if it may.
pub(super) fn no_new_keys(own: &KeyRecord) -> Option<&'static str> {
    // The spend of a new key would not count against the limit of this one.
    is_capped(own).then_some(
        "The key you signed in with has a spend limit or a budget, so it cannot create keys. Sign in \
         with a key without one, or ask the operator.",
    )
}

fn is_capped(own: &KeyRecord) -> bool {
    own.limits.spend.is_some() || own.limits.budget.is_some()
}

/// Maximum limits of a new key: those of the signed-in key and of the configuration.
pub(super) fn most(own: &KeyRecord, configured: &NewKeys) -> Limits {
    let configured = configured.limits();
    Limits {
        spend: least(own.limits.spend, configured.spend),
        requests_per_minute: least(own.limits.requests_per_minute, configured.requests_per_minute),
        concurrency: least(own.limits.concurrency, configured.concurrency),
        budget: own.limits.budget.or(configured.budget),
    }
}

/// The requested limits; missing ones are set to the maximum.
pub(super) fn filled(wanted: Limits, most: Limits) -> Limits {
    Limits {
        spend: wanted.spend.or(most.spend),
        requests_per_minute: wanted.requests_per_minute.or(most.requests_per_minute),
        concurrency: wanted.concurrency.or(most.concurrency),
        budget: wanted.budget.or(most.budget),
    }
}

/// Refuses limits if one exceeds both the maximum and the present one.
pub(super) fn check(wanted: Limits, most: Limits, present: Limits) -> Result<(), Refusal> {
    let message = "This limit is higher than your own key or the operator allows.";
    exceeded(wanted, most, present).map_or(Ok(()), |field| Err(Refusal::new(field, message)))
}

/// The field of the first limit that exceeds both the maximum and the present one.
fn exceeded(wanted: Limits, most: Limits, present: Limits) -> Option<&'static str> {
    let spend = is_within(wanted.spend, most.spend) || is_within(wanted.spend, present.spend);
    let rate = is_within(wanted.requests_per_minute, most.requests_per_minute)
        || is_within(wanted.requests_per_minute, present.requests_per_minute);
    let concurrency = is_within(wanted.concurrency, most.concurrency)
        || is_within(wanted.concurrency, present.concurrency);
    let budget = is_within_budget(wanted.budget, most.budget)
        || is_within_budget(wanted.budget, present.budget);
    let fields =
        [("spend", spend), ("rate", rate), ("concurrency", concurrency), ("budget", budget)];
    fields.into_iter().find(|(_, is_within)| !is_within).map(|(field, _)| field)
}

pub(super) fn scopes<'a>(own: &KeyRecord, chosen: impl Iterator<Item = &'a str>) -> Vec<Scope> {
    chosen.filter_map(Scope::parse).filter(|scope| own.key.scopes.contains(scope)).collect()
}

fn within(limits: Limits, most: Limits) -> bool {
    exceeded(limits, most, most).is_none()
}

fn is_within<T: PartialOrd>(limit: Option<T>, most: Option<T>) -> bool {
    match (limit, most) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(limit), Some(most)) => limit <= most,
    }
}

fn is_within_budget(budget: Option<Budget>, most: Option<Budget>) -> bool {
    most.is_none_or(|most| budget.is_some_and(|budget| budget.is_within(most)))
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests;
