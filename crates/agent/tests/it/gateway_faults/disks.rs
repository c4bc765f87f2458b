//! The disk of the books is full.

use std::fs;

use agent_test_support::disk::SmallDisk;
use agent_test_support::wait::eventually;

use super::{Seen, World, ask};

#[test]
fn a_full_disk_charges_nothing_and_the_service_recovers() {
    let disk = SmallDisk::mount(4 * 1024 * 1024);
    let place = format!("database: \"sqlite:{}/books.sqlite3\"\n", disk.path().display());
    let world = World::with(&place, None, 1_000_000);
    let service = world.ground.serve();
    assert_eq!(ask(&service.address, &world.key, false), Seen::Whole);

    let filler = disk.fill();
    let mut answered = 1;
    eventually("requests are refused", || {
        let seen = ask(&service.address, &world.key, false);
        // The log of the database may have had some room left.
        answered += u64::from(seen == Seen::Whole);
        seen == Seen::Status(503)
    });
    let calls = world.ground.upstream.completions().len() as u64;
    assert_eq!(ask(&service.address, &world.key, true), Seen::Status(503));
    assert_eq!(world.ground.upstream.completions().len() as u64, calls, "asked without a hold");

    fs::remove_file(filler).unwrap();
    eventually("requests are answered again", || {
        ask(&service.address, &world.key, false) == Seen::Whole
    });
    world.wait_until_settled();
    assert_eq!(world.charged(), answered + 1);
}
