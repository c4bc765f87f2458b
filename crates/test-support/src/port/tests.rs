//! Tests of `port`.

use super::*;

#[test]
fn free_port_is_not_returned_while_in_use() {
    let held: Vec<TcpListener> = (0..100).map(|_| TcpListener::bind(free()).unwrap()).collect();
    let ports: std::collections::BTreeSet<u16> =
        held.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
    assert_eq!(ports.len(), 100);
    assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(port)), "{ports:?}");
}
