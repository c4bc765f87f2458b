//! Tests of `server`.

use usage_metrics::clock::SystemClock;
use usage_metrics::store::StoreFolder;

use super::*;

fn at_port(port: u16) -> Site {
    let reading = Reading { folder: StoreFolder::new("nowhere"), clock: Arc::new(SystemClock) };
    Site { token: "token".to_owned(), port, reading: reading.into() }
}

#[test]
fn only_names_of_this_machine_with_our_port_are_ours() {
    let site = at_port(8800);
    assert!(site.is_ours("127.0.0.1:8800") && site.is_ours("localhost:8800"));
    for host in [
        "",
        ":8800",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:88000",
        "127.0.0.1:8801",
        "127.0.0.1:8800:8800",
        "127.0.0.1.example:8800",
        "user@127.0.0.1:8800",
        "[::1]:8800",
    ] {
        assert!(!site.is_ours(host), "{host}");
    }
    assert!(at_port(80).is_ours("127.0.0.1") && at_port(80).is_ours("localhost:80"));
}
