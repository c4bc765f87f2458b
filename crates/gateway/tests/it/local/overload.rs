//! Many clients at once, of whom some leave in the middle: the books add up, and memory is bounded.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agent_test_support::wait::eventually;

use super::{CHAT, begun, provider, question, with};
use crate::fixture::with_providers;
use crate::raw::Raw;
use crate::support::{ADMIN_TOKEN, Holder, PRICE, Running};

const CLIENTS: usize = 20;
const DURATION: Duration = Duration::from_secs(20);
/// The weights, and a few conversations.
const MAX_MEMORY: u64 = 500_000_000;

/// What became of the requests.
#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    left: AtomicU64,
    refused: AtomicU64,
}

/// Asks until the time is over; every third client leaves in the middle of its answers.
fn client(address: SocketAddr, holder: &Holder, (place, until): (usize, Instant), counts: &Counts) {
    let leaves = place.is_multiple_of(3);
    let asked = with(
        question(&format!("Tell me the story number {place}.")),
        &serde_json::json!({
            "stream": true, "max_tokens": if leaves { 400 } else { 24 }
        }),
    );
    while Instant::now() < until {
        let mut raw = Raw::post(address, CHAT, holder.key.as_str(), &asked);
        let head = raw.head();
        let count = match head.status {
            200 if leaves => {
                begun(&mut raw);
                &counts.left
            }
            200 => {
                assert!(raw.body().ends_with("data: [DONE]\n\n"));
                &counts.answered
            }
            429 => {
                assert!(raw.body().contains("model_busy"));
                std::thread::sleep(Duration::from_millis(100)); // sleep: as a client told to wait
                &counts.refused
            }
            status => panic!("{status} {}", raw.body()),
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn overload_is_answered_or_rejected_with_a_consistent_ledger() {
    let text = with_providers(&[provider("")], "admin_token: ${ADMIN_TOKEN}\n");
    let service = Running::start(&text);
    let holders: Vec<Holder> = (0..CLIENTS)
        .map(|place| service.holder(&format!("member {place}"), 1000 * PRICE))
        .collect();
    let (counts, until) = (Counts::default(), Instant::now() + DURATION);
    let memory = || {
        let known = service.get("/admin/v1/providers", ADMIN_TOKEN).good();
        known["data"][0]["memory_bytes"].as_u64().unwrap()
    };
    let most = std::thread::scope(|scope| {
        for (place, holder) in holders.iter().enumerate() {
            let (address, counts) = (service.address, &counts);
            scope.spawn(move || client(address, holder, (place, until), counts));
        }
        let mut most = 0;
        while Instant::now() < until {
            most = memory().max(most);
            std::thread::sleep(Duration::from_millis(200)); // sleep: between two looks
        }
        most
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (answered, left) = (count(&counts.answered), count(&counts.left));
    assert!(answered > 5 && left > 2, "{answered} {left} {}", count(&counts.refused));
    assert!(most < MAX_MEMORY, "{most}");
    let held = || holders.iter().map(|one| service.account(one.member).held.get()).sum::<i64>();
    eventually("nothing is held", || held() == 0);
    service.check_ledger();
    let paid = holders.iter().map(|one| 1000 * PRICE - service.account(one.member).balance.get());
    let answered = i64::try_from(answered + left).unwrap();
    assert_eq!(paid.sum::<i64>(), answered * PRICE);
}
