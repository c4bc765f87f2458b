//! Target URL of a page.

use std::net::IpAddr;

use url::{Host, Url};

use super::fault::{Fault, Result};

pub(crate) const MAX_URL_BYTES: usize = 4096;
const MAX_HOST: usize = 253;
/// Name suffixes that are never public, so they need not be resolved.
#[rustfmt::skip] // a table of words
const PRIVATE_ENDINGS: &[&str] = &[
    "localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "localdomain",
    "home.arpa", "svc", "onion",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Without a fragment.
    pub url: Url,
    /// The name in lower case without a trailing dot, or the IP address.
    pub(crate) host: String,
    /// The IP address, if the host is one.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
}

impl Target {
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        if text.len() > MAX_URL_BYTES {
            return Err(Fault::BadUrl("is longer than 4096 bytes"));
        }
        if text.chars().any(char::is_control) {
            return Err(Fault::BadUrl("contains control characters"));
        }
        Url::parse(text).map_err(|_| Fault::BadUrl("is not a valid URL")).and_then(Self::new)
    }

    pub(crate) fn join(&self, location: &str) -> Result<Self> {
        if location.len() > MAX_URL_BYTES {
            return Err(Fault::BadUrl("is longer than 4096 bytes"));
        }
        self.url.join(location).map_err(|_| Fault::BadUrl("is not a valid URL")).and_then(Self::new)
    }

    fn new(mut url: Url) -> Result<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Fault::BadUrl("must start with `http://` or `https://`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Fault::BadUrl("must not contain a user name or password"));
        }
        url.set_fragment(None);
        let port = url.port_or_known_default().filter(|port| *port > 0);
        let port = port.ok_or(Fault::BadUrl("has an invalid port"))?;
        let (host, address) = match url.host() {
            Some(Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
                let is_name = (1..=MAX_HOST).contains(&name.len())
                    && name.split('.').all(|label| (1..=63).contains(&label.len()));
                if !is_name {
                    return Err(Fault::BadUrl("has an invalid host name"));
                }
                (name, None)
            }
            Some(Host::Ipv4(address)) => (address.to_string(), Some(IpAddr::V4(address))),
            Some(Host::Ipv6(address)) => {
                (format!("[{address}]"), Some(IpAddr::V6(address).to_canonical()))
            }
            None => return Err(Fault::BadUrl("has no host")),
        };
        Ok(Self { url, host, address, port })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether a name is certainly private.
    pub(crate) fn is_private_name(&self) -> bool {
        self.address.is_none()
            && (!self.host.contains('.')
                || PRIVATE_ENDINGS.iter().any(|ending| {
                    self.host.strip_suffix(ending).is_some_and(|rest| rest.ends_with('.'))
                }))
    }

    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Scheme, host and port: the scope of robots.txt.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}:{}", self.url.scheme(), self.host, self.port)
    }

    pub(crate) fn robots(&self) -> Result<Self> {
        self.join("/robots.txt")
    }
}

#[cfg(test)]
mod tests;
