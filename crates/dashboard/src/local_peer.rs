//! The user at the other end of a loopback connection: a browser gets its link as an argument,
//! which other users of the machine can read.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The state of an open connection in the tables.
const ESTABLISHED: &str = "01";

/// Whether the other end, connected to this port of ours, belongs to our user or to root.
/// Systems without tables of connections, such as macOS, are not checked.
pub(crate) fn is_own(peer: SocketAddr, port: u16) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    if tables.iter().all(Result::is_err) {
        return true;
    }
    let own = rustix::process::geteuid().as_raw();
    let users = tables.iter().flatten().filter_map(|table| user(table, peer, port));
    users.into_iter().any(|user| user == own || user == 0)
}

/// The user of the connection from `peer` to this port, in a table of the kernel.
fn user(table: &str, peer: SocketAddr, port: u16) -> Option<u32> {
    let IpAddr::V4(address) = peer.ip() else { return None };
    // A mapped IPv6 address ends like its IPv4 address.
    let end = |address: Ipv4Addr, port: u16| {
        format!("{:08X}:{port:04X}", u32::from_ne_bytes(address.octets()))
    };
    let (local, remote) = (end(address, peer.port()), end(Ipv4Addr::LOCALHOST, port));
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, from, to, ESTABLISHED, _, _, _, user, ..] = *fields else { return None };
        (from.ends_with(&local) && to.ends_with(&remote)).then(|| user.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:22C6 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1
   1: 0100007F:22C6 0100007F:A3B4 01 00000000:00000000 00:00000000 00000000  1000        0 12 1
   2: 0100007F:A3B4 0100007F:22C6 01 00000000:00000000 00:00000000 00000000 65534        0 13 1
   3: 0100007F:A3B5 0100007F:22C6 06 00000000:00000000 00:00000000 00000000     0        0 0 1
   4: 0000000000000000FFFF00000100007F:A3B6 0000000000000000FFFF00000100007F:22C6 01 00000000:00000000 00:00000000 00000000  1001        0 14 1
";

    #[test]
    #[cfg(target_endian = "little")]
    fn only_open_connections_have_a_user() {
        let user = |port: u16| user(TABLE, (Ipv4Addr::LOCALHOST, port).into(), 0x22C6);
        assert_eq!([user(0xA3B4), user(0xA3B5), user(0xA3B6)], [Some(65534), None, Some(1001)]);
        assert_eq!(user(0x22C6), None);
    }
}
