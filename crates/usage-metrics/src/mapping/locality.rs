//! Whether a model runs on this machine or network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::normalise_optional;
use crate::catalogue::{Locality, ProviderFamily};

#[cfg(test)]
mod tests;

/// Suffixes of host names of this machine: the reserved name, and the names by which containers and
/// virtual machines reach their host.
const LOCAL_SUFFIXES: [&str; 4] =
    [".localhost", ".docker.internal", ".containers.internal", ".lima.internal"];

/// The locality of a model behind `host`, served by a provider of this family.
///
/// `host` is the host part of the base address without scheme and port; an IPv6 address may have
/// brackets and a zone, a name a trailing dot. A host on this machine or network is local whatever
/// the provider. For other hosts the family of the provider decides, because local servers have
/// public names too.
pub fn of(host: Option<&str>, provider: ProviderFamily) -> Locality {
    if is_local(&normalise_optional(host)) {
        return Locality::Local;
    }
    match provider {
        ProviderFamily::Local => Locality::Local,
        ProviderFamily::Aggregator | ProviderFamily::Direct => Locality::Remote,
        ProviderFamily::Custom | ProviderFamily::Unknown => Locality::Unknown,
    }
}

fn is_local(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    match address(host).map(|address| address.to_canonical()) {
        Some(IpAddr::V4(address)) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_private()
                || address.is_link_local()
                || is_carrier_shared(address)
        }
        Some(IpAddr::V6(address)) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
        None => host == "localhost" || LOCAL_SUFFIXES.iter().any(|suffix| host.ends_with(suffix)),
    }
}

fn address(host: &str) -> Option<IpAddr> {
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Some(IpAddr::V4(address));
    }
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    // A zone names an interface of this machine, not an address.
    let (address, _zone) = host.split_once('%').unwrap_or((host, ""));
    address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

/// Whether the address is in 100.64.0.0/10, which overlay networks such as Tailscale use.
fn is_carrier_shared(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 100 && (64..128).contains(&second)
}
