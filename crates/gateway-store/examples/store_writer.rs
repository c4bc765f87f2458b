//! Serves from a SQLite file until it is killed: opens and ends holds concurrently and prints
//! acknowledged operations.
#![expect(clippy::print_stdout, reason = "what it says is what it is for")]
#![expect(clippy::expect_used, reason = "a process that cannot begin ends")]

use std::path::PathBuf;
use std::sync::Arc;

use gateway_store::{DatabaseLocation, HoldClosing, NewHold, Store, StoreOptions};
use ledger::{
    ChargeRule, EndResult, HoldEnd, HoldId, HoldRequest, LineageId, MemberId, Micros, TokenCounts,
};

const TASKS: u64 = 32;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("a file"));
    let mut number = || arguments.next().and_then(|text| text.parse().ok()).expect("a number");
    let (member, lineage, round): (i64, i64, i64) = (number(), number(), number());
    let options = StoreOptions { power_loss_safe: false, ..StoreOptions::default() };
    let store = Store::open(&DatabaseLocation::Sqlite(path), &options).await.expect("a database");
    store.acquire_serving_lock().await.expect("the right to serve");
    let store = Arc::new(store);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        let process = u64::from(std::process::id());
        tasks.spawn(async move {
            for count in 0_u64.. {
                let id = HoldId::new(process, u128::from(task << 40 | count));
                let request = HoldRequest {
                    id,
                    member: MemberId(member),
                    lineage: LineageId(lineage),
                    amount: Micros::new(3),
                    operation: "chat".into(),
                    model: None,
                    owner: round,
                    lease_micros: 60_000_000,
                    idempotency: None,
                };
                let held = store.hold(NewHold { request, response: None, parent: None }).await;
                if held.is_ok_and(|held| held.is_ok()) {
                    println!("held {id}");
                } else {
                    return;
                }
                let (rule, tokens) = (ChargeRule::Answered, TokenCounts::default());
                let member = MemberId(member);
                let end = HoldEnd {
                    id,
                    member,
                    rule,
                    model: None,
                    tokens,
                    attempts: None,
                    answered: false,
                };
                let ended =
                    store.end(HoldClosing { end, answer: None, response: None, media: None }).await;
                if matches!(ended, Ok(EndResult::Ended(_))) {
                    println!("settled {id}");
                }
            }
        });
    }
    tasks.join_all().await;
}
