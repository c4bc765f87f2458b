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
mod tests;
