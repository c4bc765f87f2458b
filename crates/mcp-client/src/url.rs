//! Classification of hosts, comparison of origins, and checks of addresses.

use std::net::{IpAddr, Ipv4Addr};

use http::Uri;
use http::uri::Scheme;

/// The hosts of a redirect that reaches this machine without a proxy.
pub(crate) const LOOPBACK_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The host without the brackets of IPv6.
pub(crate) fn bare_host(address: &Uri) -> &str {
    address.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

enum HostKind {
    Local,
    /// IPv4-mapped IPv6 addresses count as IPv4.
    Address(IpAddr),
    /// A number that resolvers take for an address, such as `127.1`.
    Number,
    Name,
}

impl HostKind {
    fn of(host: &str) -> Self {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if host == "localhost" || host.ends_with(".localhost") {
            return Self::Local;
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Self::Address(address.to_canonical());
        }
        let last = host.rsplit('.').next().unwrap_or_default();
        let digits = last.strip_prefix("0x").unwrap_or(last);
        let is_number = digits.len() < last.len()
            || !last.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if is_number { Self::Number } else { Self::Name }
    }
}

pub(crate) fn is_loopback(host: &str) -> bool {
    match HostKind::of(host) {
        HostKind::Local => true,
        HostKind::Address(address) => address.is_loopback(),
        HostKind::Number | HostKind::Name => false,
    }
}

/// Whether a host is this machine or in a private network, by its notation.
pub(crate) fn is_private(host: &str) -> bool {
    match HostKind::of(host) {
        HostKind::Local | HostKind::Number => true,
        HostKind::Address(IpAddr::V4(v4)) => {
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_broadcast()
                || v4.octets()[0] == 0
                || is_shared(v4)
        }
        HostKind::Address(IpAddr::V6(v6)) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
        HostKind::Name => false,
    }
}

/// 100.64.0.0/10, shared by carriers and private networks.
fn is_shared(v4: Ipv4Addr) -> bool {
    let [first, second, ..] = v4.octets();
    first == 100 && second & 0b1100_0000 == 0b0100_0000
}

pub(crate) fn same_origin(one: &Uri, other: &Uri) -> bool {
    origin(one) == origin(other)
}

/// Whether a redirect leads from a public host to a private one (SSRF).
pub(crate) fn enters_private_network(from: &Uri, to: &Uri) -> bool {
    !is_private(bare_host(from)) && is_private(bare_host(to))
}

/// The http or https URL of a reference in a document at `base`, without its fragment.
pub(crate) fn resolve_reference(base: &Uri, reference: &str) -> Option<Uri> {
    let mut url = ::url::Url::parse(&base.to_string()).ok()?.join(reference).ok()?;
    url.set_fragment(None);
    if matches!(url.scheme(), "http" | "https") { url.as_str().parse().ok() } else { None }
}

/// A URL without its query, which may hold secrets.
pub(crate) fn without_query(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}{}", uri.path())
}

pub(crate) fn origin(address: &Uri) -> String {
    let scheme = address.scheme_str().unwrap_or("https").to_ascii_lowercase();
    let host = address.host().unwrap_or_default().to_ascii_lowercase();
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = address.port_u16().filter(|port| *port != usual);
    format!("{scheme}://{host}{}", port.map(|port| format!(":{port}")).unwrap_or_default())
}

/// Whether secrets may be sent to a URL: https, or loopback.
pub(crate) fn is_secure(address: &Uri) -> bool {
    let is_plain = address.scheme() == Some(&Scheme::HTTP);
    address.scheme() == Some(&Scheme::HTTPS) || is_plain && is_loopback(bare_host(address))
}

/// Why this is not a valid server URL; `None` if it is.
pub(crate) fn fault_of_address(address: &str) -> Option<&'static str> {
    let Ok(uri) = address.parse::<Uri>() else { return Some("it is not a valid URL") };
    match uri.scheme() {
        None => return Some("it does not start with `http://` or `https://`"),
        Some(scheme) if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS => {
            return Some("its scheme is not http or https");
        }
        Some(_) => {}
    }
    match uri.authority() {
        Some(authority) if !authority.host().is_empty() => None,
        _ => Some("it has no host"),
    }
}

/// Why this cannot be the address of a self-hosted client document, if so: it must be https
/// with a path, and without fragment, user information and dot segments.
pub fn fault_of_client_document(address: &str) -> Option<&'static str> {
    if address.contains('#') {
        return Some("it has a fragment");
    }
    if let Some(fault) = fault_of_address(address) {
        return Some(fault);
    }
    let uri = address.parse::<Uri>().ok()?;
    if uri.scheme() != Some(&Scheme::HTTPS) {
        return Some("it does not use https");
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Some("it has user information");
    }
    let is_dot = |segment: &str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    };
    if uri.path().split('/').any(is_dot) {
        return Some("it has a `.` or `..` segment");
    }
    (uri.path().is_empty() || uri.path() == "/").then_some("it has no path")
}

#[cfg(test)]
mod tests;
