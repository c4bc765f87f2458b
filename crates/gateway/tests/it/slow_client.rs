//! Clients that do not read: the upstream is held back, and nothing piles up.

use std::time::{Duration, Instant};

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::{DEADLINE, eventually};
use serde_json::Value;

use crate::fixture::{chat_stream, message_stream, paid, receipt, with_one};
use crate::raw::Raw;
use crate::support::{Holder, PRICE, Running};

const MIB: usize = 1024 * 1024;
const WRITE_TIMEOUT: Duration = Duration::from_millis(1500);
/// The buffers of four sockets, and something for the way between them.
const MAX_UNDER_WAY: usize = 24 * MIB;

fn resident_bytes() -> usize {
    let figures = std::fs::read_to_string("/proc/self/statm").unwrap();
    figures.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Kinds of upstreams and streams of few large events, of which the first word is the one that comes
/// again and again. Both are passed on: what is translated has a limit.
fn endless() -> [(&'static str, &'static str, Value); 2] {
    let text = format!("[[endless]]{} a", "x".repeat(8000));
    [
        ("openai", "/v1/chat/completions", chat_stream(&text)),
        ("anthropic", "/v1/messages", message_stream(&text)),
    ]
}

fn service_of(upstream: &Upstream, kind: &str, rest: &str) -> (Running, Holder) {
    let provider = format!("kind: {kind}, models: [echo], health: false");
    let service = Running::start(&with_one(upstream, &provider, rest));
    let ada = service.holder("ada", 1000 * PRICE);
    (service, ada)
}

#[test]
fn backpressure_of_a_client_reaches_the_upstream() {
    for (kind, path, body) in endless() {
        let upstream = Upstream::start();
        let (service, ada) = service_of(&upstream, kind, "");
        check_backpressure(&upstream, &service, &ada, path, &body);
    }
}

fn check_backpressure(
    upstream: &Upstream,
    service: &Running,
    ada: &Holder,
    path: &str,
    body: &Value,
) {
    let before = resident_bytes();
    let mut raw = Raw::post(service.address, path, ada.key.as_str(), body);
    assert_eq!(raw.head().status, 200);
    let sent = || upstream.completions()[0].sent_bytes;
    let (mut last, mut unchanged) = (0, 0);
    eventually("the upstream is held back", || {
        let now = sent();
        unchanged = if now > 0 && now == last { unchanged + 1 } else { 0 };
        last = now;
        unchanged == 60
    });
    assert!(sent() < MAX_UNDER_WAY, "{} bytes were taken", sent());
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < MAX_UNDER_WAY, "{grown} bytes more are in use");
    // It resumes as soon as the client reads.
    let (stalled, mut read) = (sent(), 0);
    while read < 2 * MAX_UNDER_WAY {
        read += raw.piece().unwrap().len();
    }
    assert!(sent() > stalled);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < MAX_UNDER_WAY, "{grown} bytes more are in use after {read} passed");
    drop(raw);
    eventually("the upstream is let go", || upstream.cancelled().len() == 1);
    eventually("it is charged", || paid(service, ada) == PRICE);
}

#[test]
fn write_timeout_closes_only_stalled_connections() {
    let limits = format!("limits: {{write_timeout: {}}}\n", WRITE_TIMEOUT.as_secs_f64());
    for (kind, path, body) in endless() {
        let upstream = Upstream::start();
        let (service, ada) = service_of(&upstream, kind, &limits);
        check_write_timeout(&upstream, &service, &ada, path, &body);
    }
}

fn check_write_timeout(
    upstream: &Upstream,
    service: &Running,
    ada: &Holder,
    path: &str,
    body: &Value,
) {
    let ask = || {
        let mut raw = Raw::post(service.address, path, ada.key.as_str(), body);
        let head = raw.head();
        assert_eq!(head.status, 200);
        (raw, head.header("x-receipt-id").to_owned())
    };
    let (mut reader, _) = ask();
    let (idle, id) = ask();
    // One of them reads, until the other was left and long after.
    let begun = Instant::now();
    while upstream.cancelled().is_empty() {
        assert!(begun.elapsed() < DEADLINE, "nobody is left");
        for _ in 0..1000 {
            reader.piece().unwrap();
        }
    }
    assert!(begun.elapsed() >= WRITE_TIMEOUT);
    assert_eq!(receipt(service, ada, &id), ("client_left_late".to_owned(), PRICE));
    let left = Instant::now();
    while left.elapsed() < 3 * WRITE_TIMEOUT {
        reader.piece().unwrap();
    }
    assert_eq!(upstream.cancelled().len(), 1);
    drop((reader, idle));
    eventually("both are charged", || paid(service, ada) == 2 * PRICE);
}
