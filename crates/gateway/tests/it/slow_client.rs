//! Clients that do not read: the upstream is held back, and nothing piles up.

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;

use crate::fixture::{chat_stream, paid, service};
use crate::raw::Raw;
use crate::support::PRICE;

const MIB: usize = 1024 * 1024;
/// The buffers of four sockets, and something for the way between them.
const MAX_UNDER_WAY: usize = 24 * MIB;

fn resident_bytes() -> usize {
    let figures = std::fs::read_to_string("/proc/self/statm").unwrap();
    figures.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn an_upstream_that_floods_is_held_back_by_a_client_that_does_not_read() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let before = resident_bytes();
    let mut raw = Raw::post(
        service.address,
        "/v1/chat/completions",
        ada.key.as_str(),
        // Few large events, of which the first word is the one that comes again and again.
        &chat_stream(&format!("[[endless]]{} a", "x".repeat(8000))),
    );
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
    // It goes on as soon as the client reads.
    let (stalled, mut read) = (sent(), 0);
    while read < 2 * MAX_UNDER_WAY {
        read += raw.piece().unwrap().len();
    }
    assert!(sent() > stalled);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < MAX_UNDER_WAY, "{grown} bytes more are in use after {read} passed");
    drop(raw);
    eventually("the upstream is let go", || upstream.cancelled().len() == 1);
    eventually("it is charged", || paid(&service, &ada) == PRICE);
}
