//! Decides which hosts may be connected to: every address of a host is checked before any is used.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use super::address::{is_global, is_within};
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

#[cfg(test)]
mod tests;
