//! How much of its rate a key has left, and what a request cost, in headers.

use std::fmt::{self, Write as _};

use http::{HeaderMap, HeaderName, HeaderValue};
use ledger::{HoldId, Micros, RateLimitStatus};

// Parsed once: every answer carries them.
static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit-requests");
static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining-requests");
static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset-requests");
static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static STATE: HeaderName = HeaderName::from_static("ratelimit");
pub(crate) static CHARGE: HeaderName = HeaderName::from_static("x-charge-micros");
pub(crate) static PRICE: HeaderName = HeaderName::from_static("x-price-micros");
static RECEIPT_ID: HeaderName = HeaderName::from_static("x-receipt-id");
/// The id of the request, which every answer carries.
pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Writes both families: the one OpenAI's clients know, and the one of the IETF. A key without a
/// rate has neither.
pub(crate) fn write_headers(room: Option<RateLimitStatus>, headers: &mut HeaderMap) {
    let Some(room) = room else { return };
    let reset_seconds = u64::try_from(room.reset_micros).unwrap_or_default().div_ceil(1_000_000);
    headers.insert(&LIMIT, HeaderValue::from(room.limit));
    headers.insert(&REMAINING, HeaderValue::from(room.remaining));
    let RateLimitStatus { limit, remaining, .. } = room;
    // In one place, one after the other: every answer carries them.
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

/// What was charged. Only for a request that has ended.
pub(crate) fn write_receipt(headers: &mut HeaderMap, id: HoldId, charged: Micros) {
    headers.insert(&CHARGE, HeaderValue::from(charged.get()));
    write_receipt_id(headers, id);
}

/// What is held for a request that has not ended: the receipt will say what was charged.
pub(crate) fn write_price(headers: &mut HeaderMap, id: HoldId, price: Micros) {
    headers.insert(&PRICE, HeaderValue::from(price.get()));
    write_receipt_id(headers, id);
}

fn write_receipt_id(headers: &mut HeaderMap, id: HoldId) {
    if let Some(value) = id_value(id) {
        headers.insert(&RECEIPT_ID, value);
    }
}

/// The id of a request, as a header has it.
pub(crate) fn id_value(id: HoldId) -> Option<HeaderValue> {
    HeaderValue::try_from(id.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_are_written() {
        let mut headers = HeaderMap::new();
        let room = RateLimitStatus { limit: 60, remaining: 12, reset_micros: 47_000_001 };
        write_headers(Some(room), &mut headers);
        assert_eq!(headers["x-ratelimit-limit-requests"], "60");
        assert_eq!(headers["x-ratelimit-remaining-requests"], "12");
        assert_eq!(headers["x-ratelimit-reset-requests"], "48s");
        assert_eq!(headers["ratelimit-policy"], "\"per-minute\";q=60;w=60");
        assert_eq!(headers["ratelimit"], "\"per-minute\";r=12;t=48");
    }
}
