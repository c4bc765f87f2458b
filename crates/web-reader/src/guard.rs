//! Decides which hosts may be connected to: every address of a host is checked before any is used.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use super::fault::{Fault, Result};
use super::target::Target;

/// A host with more addresses is refused.
const MAX_ADDRESSES: usize = 64;

/// A private host or network that may be read, at one port or at all of `ports`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPrivate {
    pub place: PrivatePlace,
    /// The allowed port, if limited.
    pub port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivatePlace {
    /// A name in lower case, with any addresses.
    Host(String),
    /// The network with this prefix length.
    Net(IpAddr, u8),
}

#[derive(Debug)]
pub(crate) struct Guard {
    ports: Vec<u16>,
    allowed: Vec<AllowedPrivate>,
}

impl Guard {
    pub(crate) fn new(ports: Vec<u16>, allowed: Vec<AllowedPrivate>) -> Self {
        Self { ports, allowed }
    }

    /// Checks a target without resolving its name.
    pub(crate) fn check(&self, target: &Target) -> Result<()> {
        let is_known_port = self.ports.contains(&target.port)
            || self.allowed.iter().any(|private| private.port == Some(target.port));
        if !is_known_port {
            return Err(Fault::Port(target.port));
        }
        // If a network is allowed, the addresses decide about its names.
        let has_net = self.at_port(target).any(|place| matches!(place, PrivatePlace::Net(..)));
        if target.is_private_name() && !has_net && !self.is_allowed(target, None) {
            return Err(Fault::NotPublic(target.host.clone()));
        }
        match target.address {
            Some(address) => self.check_address(target, address),
            None => Ok(()),
        }
    }

    /// The addresses to connect to; fails unless all addresses of the host are allowed.
    pub(crate) async fn addresses(
        &self,
        target: &Target,
        resolver: &Arc<dyn Resolve>,
    ) -> Result<Vec<SocketAddr>> {
        self.check(target)?;
        let found = match target.address {
            Some(address) => vec![address],
            None => match resolver.resolve(&target.host).await {
                Ok(found) => found,
                Err(error) if is_temporary(&error) => {
                    return Err(Fault::Unreachable("cannot resolve the host"));
                }
                Err(_) => Vec::new(),
            },
        };
        if found.is_empty() || found.len() > MAX_ADDRESSES {
            return Err(Fault::NotPublic(target.host.clone()));
        }
        let mut addresses = Vec::new();
        for address in found {
            let address = address.to_canonical();
            self.check_address(target, address)?;
            let address = SocketAddr::new(address, target.port);
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Ok(addresses)
    }

    fn check_address(&self, target: &Target, address: IpAddr) -> Result<()> {
        let is_public = is_global(address) && self.ports.contains(&target.port);
        if is_public || self.is_allowed(target, Some(address)) {
            return Ok(());
        }
        Err(Fault::NotPublic(target.host.clone()))
    }

    fn is_allowed(&self, target: &Target, address: Option<IpAddr>) -> bool {
        self.at_port(target).any(|place| match place {
            PrivatePlace::Host(name) => target.address.is_none() && *name == target.host,
            PrivatePlace::Net(net, bits) => address.is_some_and(|it| is_within(it, *net, *bits)),
        })
    }

    /// Allowed private places at the target's port.
    fn at_port(&self, target: &Target) -> impl Iterator<Item = &PrivatePlace> {
        let port = target.port;
        self.allowed
            .iter()
            .filter(move |private| match private.port {
                Some(allowed) => allowed == port,
                None => self.ports.contains(&port),
            })
            .map(|private| &private.place)
    }
}

pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves host names. It is untrusted: the guard checks its answers.
pub trait Resolve: Send + Sync + std::fmt::Debug {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct System;

impl Resolve for System {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Whether a failed resolution may succeed later. Only the error message of the system tells.
fn is_temporary(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut || error.to_string().contains("emporary failure")
}

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
fn is_global(address: IpAddr) -> bool {
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
fn is_within(address: IpAddr, net: IpAddr, bits: u8) -> bool {
    let common_bits = match (address.to_canonical(), net) {
        (IpAddr::V4(address), IpAddr::V4(net)) => {
            (address.to_bits() ^ net.to_bits()).leading_zeros()
        }
        (IpAddr::V6(address), IpAddr::V6(net)) => {
            (address.to_bits() ^ net.to_bits()).leading_zeros()
        }
        _ => return false,
    };
    common_bits >= u32::from(bits)
}

#[cfg(test)]
mod tests;
