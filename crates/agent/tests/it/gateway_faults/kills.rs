//! The service is killed in the middle of its work, again and again.

use std::slice;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::{Load, ResponseCounts, Setup, StoreKind, until_answered};

const KILLS: u64 = 50;
const CLIENTS: usize = 8;

#[test]
fn fifty_kills_on_sqlite_keep_every_charge_exact() {
    kill_again_and_again(&StoreKind::Sqlite);
}

#[test]
fn fifty_kills_on_postgresql_keep_every_charge_exact() {
    kill_again_and_again(&StoreKind::Postgres);
}

/// Each service lives until it has given some answers, and then for a moment more.
#[expect(clippy::print_stdout, reason = "how many answers were cut is part of the result")]
fn kill_again_and_again(books: &StoreKind) {
    let setup = Setup::new(books, 1_000_000);
    let tally = Arc::new(ResponseCounts::default());
    for kill in 0..KILLS {
        let mut service = setup.fixture.serve();
        let load = Load::start(slice::from_ref(&service.address), &setup.key, CLIENTS, &tally);
        until_answered(&tally, ResponseCounts::get(&tally.answered) + kill % 5);
        let more = Duration::from_micros(fastrand::u64(0..60_000));
        std::thread::sleep(more); // sleep: the moment of the kill is what is tried
        service.signal(Signal::KILL);
        service.wait();
        load.stop();
    }
    // Whatever was under way is released by the next one.
    let service = setup.fixture.serve();
    setup.wait_until_settled();
    let (answered, cut) = (ResponseCounts::get(&tally.answered), ResponseCounts::get(&tally.cut));
    let charged = setup.charged();
    assert_eq!(ResponseCounts::get(&tally.wrong), 0);
    assert!(answered > KILLS, "{answered} answered");
    assert!(
        (answered..=answered + cut).contains(&charged),
        "{answered} answered, {cut} cut, {charged} charged"
    );
    // What was charged though its answer was cut by the kill.
    println!("{answered} answered, {cut} cut, of which {} were charged", charged - answered);

    // And it continues.
    let load = Load::start(slice::from_ref(&service.address), &setup.key, CLIENTS, &tally);
    until_answered(&tally, answered + 10);
    load.stop();
    setup.wait_until_settled();
}
