//! Tests of `collector`.

use super::*;

#[test]
fn no_process_outlives_the_collector() {
    let collector = OtelCollector::start();
    let address = collector.endpoint().trim_start_matches("http://").to_owned();
    assert!(TcpStream::connect(&address).is_ok());
    drop(collector);
    assert!(TcpStream::connect(&address).is_err());
}
