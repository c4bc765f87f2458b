//! Headers of responses: ids, prices, rate limits, streams.

use std::fmt::{self, Write as _};
use std::time::{Duration, SystemTime};

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use ledger::{HoldId, LimitStatus, Micros, RateLimitStatus};

use crate::clock;

// Parsed once: every response carries them.
static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit-requests");
static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining-requests");
static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset-requests");
static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static STATE: HeaderName = HeaderName::from_static("ratelimit");
static BUDGET_LIMIT: HeaderName = HeaderName::from_static("x-budget-limit-micros");
static BUDGET_REMAINING: HeaderName = HeaderName::from_static("x-budget-remaining-micros");
static BUDGET_RESET: HeaderName = HeaderName::from_static("x-budget-resets-at");
static BUDGET_SCOPE: HeaderName = HeaderName::from_static("x-budget-scope");
pub(crate) static CHARGE: HeaderName = HeaderName::from_static("x-charge-micros");
pub(crate) static PRICE: HeaderName = HeaderName::from_static("x-price-micros");
static RECEIPT_ID: HeaderName = HeaderName::from_static("x-receipt-id");
pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Tells reverse proxies not to buffer a stream.
static UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Writes the rate limit in both forms, that of OpenAI's clients and that of the IETF, and the budget with
/// the least left. A key without these limits has neither.
pub(crate) fn write_limits(limit_status: LimitStatus, headers: &mut HeaderMap) {
    if let Some(budget) = limit_status.budget {
        headers.insert(&BUDGET_LIMIT, HeaderValue::from(budget.budget.amount.get()));
        headers.insert(&BUDGET_REMAINING, HeaderValue::from(budget.left().get()));
        headers.insert(&BUDGET_SCOPE, HeaderValue::from_static(budget.scope.as_str()));
        if let Ok(at) = HeaderValue::from_str(&clock::rfc3339(budget.resets_at)) {
            headers.insert(&BUDGET_RESET, at);
        }
    }
    let Some(rate_limit) = limit_status.rate else { return };
    let reset_seconds =
        u64::try_from(rate_limit.reset_micros).unwrap_or_default().div_ceil(1_000_000);
    headers.insert(&LIMIT, HeaderValue::from(rate_limit.limit));
    headers.insert(&REMAINING, HeaderValue::from(rate_limit.remaining));
    let RateLimitStatus { limit, remaining, .. } = rate_limit;
    // One buffer for all: every response carries them.
    let mut text = String::with_capacity(48);
    let mut put = |name: &'static HeaderName, words: fmt::Arguments<'_>| {
        text.clear();
        // Writing into memory cannot fail.
        let _ = text.write_fmt(words);
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    };
    put(&RESET, format_args!("{reset_seconds}s"));
    put(&POLICY, format_args!("\"per-minute\";q={limit};w=60"));
    put(&STATE, format_args!("\"per-minute\";r={remaining};t={reset_seconds}"));
}

/// Writes the charge of a request that has ended.
pub(crate) fn write_receipt(headers: &mut HeaderMap, id: HoldId, charged: Micros) {
    headers.insert(&CHARGE, HeaderValue::from(charged.get()));
    write_receipt_id(headers, id);
}

/// Writes the held price of a request that has not ended.
pub(crate) fn write_price(headers: &mut HeaderMap, id: HoldId, price: Micros) {
    headers.insert(&PRICE, HeaderValue::from(price.get()));
    write_receipt_id(headers, id);
}

fn write_receipt_id(headers: &mut HeaderMap, id: HoldId) {
    if let Some(value) = id_value(id) {
        headers.insert(&RECEIPT_ID, value);
    }
}

/// Writes the id and the rate limit under the names that Anthropic's clients read.
pub(crate) fn write_anthropic(headers: &mut HeaderMap, id: &HeaderValue) {
    headers.insert("request-id", id.clone());
    for (name, own) in [
        ("anthropic-ratelimit-requests-limit", &LIMIT),
        ("anthropic-ratelimit-requests-remaining", &REMAINING),
    ] {
        if let Some(value) = headers.get(own).cloned() {
            headers.insert(name, value);
        }
    }
    let reset =
        headers.get(&RESET).and_then(|value| value.to_str().ok()?.strip_suffix('s')?.parse().ok());
    let at = reset.map(|seconds: u64| clock::at(SystemTime::now() + Duration::from_secs(seconds)));
    let at = at.map(clock::rfc3339);
    if let Some(value) = at.and_then(|at| HeaderValue::from_str(&at).ok()) {
        headers.insert("anthropic-ratelimit-requests-reset", value);
    }
}

pub(crate) fn write_replayed(headers: &mut HeaderMap) {
    headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
}

pub(crate) fn write_stream(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(&UNBUFFERED, HeaderValue::from_static("no"));
}

pub(crate) fn id_value(id: HoldId) -> Option<HeaderValue> {
    HeaderValue::try_from(id.to_string()).ok()
}

#[cfg(test)]
mod tests;
