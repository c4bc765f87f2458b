//! PostgreSQL goes away under load, and comes back.

use std::sync::Arc;

use agent_test_support::postgres::StopMode;
use agent_test_support::wait::eventually;

use super::{Load, ResponseCounts, Served, Setup, StoreKind, addresses, until_answered};

#[test]
fn a_database_restart_under_load_loses_no_charge() {
    let setup = Setup::new(&StoreKind::Postgres, 1_000_000);
    let services: Vec<Served> = (0..2).map(|_| setup.fixture.serve()).collect();
    let tally = Arc::new(ResponseCounts::default());
    let load = Load::start(&addresses(&services), &setup.key, 8, &tally);
    let cluster = setup.database.as_ref().unwrap().cluster().clone();
    for mode in [StopMode::Immediate, StopMode::Fast, StopMode::Immediate] {
        until_answered(&tally, ResponseCounts::get(&tally.answered) + 20);
        cluster.stop(mode);
        let before = ResponseCounts::get(&tally.refused);
        eventually("requests are refused while it is away", || {
            ResponseCounts::get(&tally.refused) > before
        });
        cluster.start();
    }
    until_answered(&tally, ResponseCounts::get(&tally.answered) + 20);
    load.stop();
    setup.wait_until_settled();
    assert_eq!(ResponseCounts::get(&tally.wrong), 0, "only 503 explains a database that is away");
    let (answered, cut) = (ResponseCounts::get(&tally.answered), ResponseCounts::get(&tally.cut));
    let charged = setup.charged();
    assert!((answered..=answered + cut).contains(&charged), "{answered} {cut} {charged}");
}
