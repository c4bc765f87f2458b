//! The primary PostgreSQL is lost under load, and a synchronous standby takes its place.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::nginx::Nginx;
use agent_test_support::postgres::Cluster;

use super::{Load, ResponseCounts, Served, Setup, addresses, until_answered};

const SERVICES: usize = 3;
const CLIENTS: usize = 12;
/// Recovery takes about a second; the rest is for a loaded machine.
const MAX_RECOVERY: Duration = Duration::from_mins(1);

#[test]
fn services_follow_a_promoted_standby_and_no_charge_is_lost() {
    let primary = Arc::new(Cluster::start_new());
    let database = primary.database();
    let standby = primary.start_standby();
    let place = format!("database: \"{}\"\n", database.url_with_standby(&standby));
    let setup = Setup::with(&place, Some(database), 1_000_000);
    let services: Vec<Served> = (0..SERVICES).map(|_| setup.fixture.serve()).collect();
    let nginx = Nginx::start(
        &format!("upstream services {{ server {}; }}", addresses(&services).join("; server ")),
        "location / { proxy_pass http://services; proxy_buffering off; }",
    );

    let tally = Arc::new(ResponseCounts::default());
    let load = Load::start(&[nginx.address.to_string()], &setup.key, CLIENTS, &tally);
    until_answered(&tally, 200);
    primary.kill();
    let lost = Instant::now();
    standby.promote();
    until_answered(&tally, ResponseCounts::get(&tally.answered) + 1);
    let recovered = lost.elapsed();
    until_answered(&tally, ResponseCounts::get(&tally.answered) + 200);
    load.stop();

    setup.wait_until_settled();
    let [answered, cut, refused, wrong] =
        [&tally.answered, &tally.cut, &tally.refused, &tally.wrong].map(ResponseCounts::get);
    let charged = setup.charged();
    println!(
        "answered again after {recovered:?}; {answered} answered, {cut} cut, {refused} refused, \
         {charged} charged"
    );
    assert!(recovered < MAX_RECOVERY, "clients saw errors for {recovered:?}");
    assert_eq!(wrong, 0, "only 503 explains a database that is away");
    assert!((answered..=answered + cut).contains(&charged), "{answered} {cut} {charged}");
}
