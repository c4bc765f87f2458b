//! The disk of the books is full.

use std::fs;

use agent_test_support::disk::SmallDisk;
use agent_test_support::wait::eventually;

use super::{Seen, Setup, ask};

#[test]
fn a_full_disk_charges_nothing_and_the_service_recovers() {
    let disk = SmallDisk::mount(4 * 1024 * 1024);
    let place = format!("database: \"sqlite:{}/books.sqlite3\"\n", disk.path().display());
    let setup = Setup::with(&place, None, 1_000_000);
    let service = setup.fixture.serve();
    assert_eq!(ask(&service.address, &setup.key, false), Seen::Whole);

    let filler = disk.fill();
    let mut answered = 1;
    eventually("requests are refused", || {
        let seen = ask(&service.address, &setup.key, false);
        // The log of the database may have had some room left.
        answered += u64::from(seen == Seen::Whole);
        seen == Seen::Status(503)
    });
    let calls = setup.fixture.upstream.completions().len() as u64;
    assert_eq!(ask(&service.address, &setup.key, true), Seen::Status(503));
    assert_eq!(setup.fixture.upstream.completions().len() as u64, calls, "asked without a hold");

    fs::remove_file(filler).unwrap();
    eventually("requests are answered again", || {
        ask(&service.address, &setup.key, false) == Seen::Whole
    });
    setup.wait_until_settled();
    assert_eq!(setup.charged(), answered + 1);
}
