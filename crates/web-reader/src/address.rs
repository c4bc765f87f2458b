//! Recognises public internet addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are not public: address and prefix length.
const PRIVATE_V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),            // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // behind carriers, and metadata of some clouds
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // this machine
    (Ipv4Addr::new(168, 63, 129, 16), 32), // metadata of a cloud, though its range is public
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // this link, and metadata of most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocols
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays, given up
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, and broadcast
];

/// Parts of `2000::/3` that are not public.
const PRIVATE_V6: &[(Ipv6Addr, u8)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocols, Teredo among them
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4, given up
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

const PUBLIC_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Prefix of IPv4 addresses in IPv6-only networks.
const NAT64: (Ipv6Addr, u8) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Whether an address is public. An embedded IPv4 address must be public too.
pub(crate) fn is_global(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

fn is_global_v4(address: Ipv4Addr) -> bool {
    !PRIVATE_V4.iter().any(|(net, bits)| is_within(address.into(), (*net).into(), *bits))
}

fn is_global_v6(address: Ipv6Addr) -> bool {
    let within = |(net, bits): (Ipv6Addr, u8)| is_within(address.into(), net.into(), bits);
    let [.., a, b, c, d] = address.octets();
    let last = Ipv4Addr::new(a, b, c, d);
    if within(NAT64) {
        return is_global_v4(last);
    }
    within(PUBLIC_V6)
        && !PRIVATE_V6.iter().any(|net| within(*net))
        && (!is_isatap(address) || is_global_v4(last))
}

/// Whether the last bits are the IPv4 address of a tunnel (ISATAP).
fn is_isatap(address: Ipv6Addr) -> bool {
    let [_, _, _, _, first, second, _, _] = address.segments();
    second == 0x5efe && first & !0x0200 == 0
}

/// Whether an address shares this many leading bits with a network.
pub(crate) fn is_within(address: IpAddr, net: IpAddr, bits: u8) -> bool {
    match (address.to_canonical(), net) {
        (IpAddr::V4(address), IpAddr::V4(net)) => {
            let differing = address.to_bits() ^ net.to_bits();
            differing.leading_zeros() >= u32::from(bits)
        }
        (IpAddr::V6(address), IpAddr::V6(net)) => {
            let differing = address.to_bits() ^ net.to_bits();
            differing.leading_zeros() >= u32::from(bits)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
