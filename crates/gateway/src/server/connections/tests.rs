//! Tests of `connections`.

use super::*;

fn connections(max: u32, per_address: u32) -> Arc<Connections> {
    Connections::new(&Limits {
        max_connections: max,
        max_connections_per_address: Some(per_address),
        ..Limits::default()
    })
}

fn admit(connections: &Arc<Connections>, address: &str) -> Admission {
    connections.admit(address.parse().unwrap())
}

#[test]
fn connections_per_address_are_limited_unless_exempt() {
    let connections = connections(100, 2);
    let permits = [admit(&connections, "192.0.2.1"), admit(&connections, "::ffff:192.0.2.1")];
    assert!(matches!(admit(&connections, "192.0.2.1"), Admission::Refused));
    assert!(matches!(admit(&connections, "192.0.2.2"), Admission::Admitted(_)));
    drop(permits);
    assert!(matches!(admit(&connections, "192.0.2.1"), Admission::Admitted(_)));
    let local: Vec<_> = (0..5).map(|_| admit(&connections, "127.0.0.1")).collect();
    assert!(local.iter().all(|admission| matches!(admission, Admission::Admitted(_))));
    let _six = [admit(&connections, "2001:db8::1"), admit(&connections, "2001:db8::2")];
    assert!(matches!(admit(&connections, "2001:db8::3"), Admission::Refused));
    assert!(matches!(admit(&connections, "2001:db8:0:1::3"), Admission::Admitted(_)));
}

#[test]
fn a_closed_connection_frees_its_slot() {
    let connections = connections(2, 100);
    let first = admit(&connections, "127.0.0.1");
    let _second = admit(&connections, "127.0.0.1");
    assert!(matches!(admit(&connections, "127.0.0.1"), Admission::Full));
    drop(first);
    assert!(matches!(admit(&connections, "127.0.0.1"), Admission::Admitted(_)));
    let state = connections.state();
    assert_eq!((state.open.len(), state.by_address.len()), (1, 0));
}
