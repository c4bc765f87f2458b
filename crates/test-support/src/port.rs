//! A free port for a server that is started later, or never.

use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// Below the ephemeral range, where the system may give a port that was just free to another
/// process. The ports of a sign-in are not among them.
const FIRST: u16 = 15_000;
const COUNT: u16 = 12_000;

/// A loopback address without a listener.
pub fn free() -> SocketAddr {
    loop {
        let chance = RandomState::new().hash_one(()) % u64::from(COUNT);
        let port = FIRST + u16::try_from(chance).unwrap_or_default();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_port_is_not_returned_while_in_use() {
        let held: Vec<TcpListener> = (0..100).map(|_| TcpListener::bind(free()).unwrap()).collect();
        let ports: std::collections::BTreeSet<u16> =
            held.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        assert_eq!(ports.len(), 100);
        assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(port)), "{ports:?}");
    }
}
