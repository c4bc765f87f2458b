//! How much of its rate a key has left, and what a request cost, in headers.

use http::{HeaderMap, HeaderName, HeaderValue};
use ledger::{HoldId, Micros, Room};

// Parsed once: every answer carries them.
static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit-requests");
static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining-requests");
static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset-requests");
static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static STATE: HeaderName = HeaderName::from_static("ratelimit");
pub(crate) static CHARGE: HeaderName = HeaderName::from_static("x-charge-micros");
static RECEIPT_ID: HeaderName = HeaderName::from_static("x-receipt-id");
/// The id of the request, which every answer carries.
pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Writes both families: the one OpenAI's clients know, and the one of the IETF. A key without a
/// rate has neither.
pub(crate) fn write_headers(room: Option<Room>, headers: &mut HeaderMap) {
    let Some(room) = room else { return };
    let reset_seconds = u64::try_from(room.reset_micros).unwrap_or_default().div_ceil(1_000_000);
    headers.insert(&LIMIT, HeaderValue::from(room.limit));
    headers.insert(&REMAINING, HeaderValue::from(room.remaining));
    let (limit, remaining) = (u64::from(room.limit), u64::from(room.remaining));
    let mut line = Line::default();
    for (name, parts) in [
        (&RESET, [("", Some(reset_seconds)), ("s", None)]),
        (&POLICY, [("\"per-minute\";q=", Some(limit)), (";w=60", None)]),
        (&STATE, [("\"per-minute\";r=", Some(remaining)), (";t=", Some(reset_seconds))]),
    ] {
        if let Ok(value) = HeaderValue::from_bytes(line.of(&parts)) {
            headers.insert(name, value);
        }
    }
}

/// A short text with numbers in it, put together in place: every answer carries several.
#[derive(Default)]
struct Line(Vec<u8>);

impl Line {
    fn of(&mut self, parts: &[(&str, Option<u64>)]) -> &[u8] {
        self.0.clear();
        for (word, number) in parts {
            self.0.extend_from_slice(word.as_bytes());
            if let Some(number) = number {
                self.number(*number);
            }
        }
        &self.0
    }

    fn number(&mut self, mut number: u64) {
        let first = self.0.len();
        loop {
            self.0.push(b'0' + u8::try_from(number % 10).unwrap_or_default());
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.0[first..].reverse();
    }
}

/// What was charged, or for a stream: what it costs once its end is reached.
pub(crate) fn write_receipt(headers: &mut HeaderMap, id: HoldId, charged: Micros) {
    headers.insert(&CHARGE, HeaderValue::from(charged.get()));
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
        let room = Room { limit: 60, remaining: 12, reset_micros: 47_000_001 };
        write_headers(Some(room), &mut headers);
        assert_eq!(headers["x-ratelimit-limit-requests"], "60");
        assert_eq!(headers["x-ratelimit-remaining-requests"], "12");
        assert_eq!(headers["x-ratelimit-reset-requests"], "48s");
        assert_eq!(headers["ratelimit-policy"], "\"per-minute\";q=60;w=60");
        assert_eq!(headers["ratelimit"], "\"per-minute\";r=12;t=48");
    }

    #[test]
    fn numbers_are_written_as_they_are() {
        let mut line = Line::default();
        for number in [0, 9, 10, 101, u64::from(u32::MAX), u64::MAX] {
            let expected = format!("a{number}b");
            assert_eq!(line.of(&[("a", Some(number)), ("b", None)]), expected.as_bytes());
        }
    }
}
