//! PostgreSQL goes away under load, and comes back.

use std::sync::Arc;

use agent_test_support::postgres::StopMode;
use agent_test_support::wait::eventually;

use super::{Books, Load, Served, Tally, World, addresses, until_answered};

#[test]
fn a_database_that_restarts_under_load_costs_time_and_nothing_else() {
    let world = World::new(&Books::Postgres, 1_000_000);
    let services: Vec<Served> = (0..2).map(|_| world.ground.serve()).collect();
    let tally = Arc::new(Tally::default());
    let load = Load::start(&addresses(&services), &world.key, 8, &tally);
    let cluster = world.database.as_ref().unwrap().cluster().clone();
    for mode in [StopMode::Immediate, StopMode::Fast, StopMode::Immediate] {
        until_answered(&tally, Tally::get(&tally.answered) + 20);
        cluster.stop(mode);
        let before = Tally::get(&tally.refused);
        eventually("requests are refused while it is away", || Tally::get(&tally.refused) > before);
        cluster.start();
    }
    until_answered(&tally, Tally::get(&tally.answered) + 20);
    load.stop();
    world.settle_down();
    assert_eq!(Tally::get(&tally.wrong), 0, "only 503 explains a database that is away");
    let (answered, cut) = (Tally::get(&tally.answered), Tally::get(&tally.cut));
    let charged = world.charged();
    assert!((answered..=answered + cut).contains(&charged), "{answered} {cut} {charged}");
}
