//! The address of a page.

use std::net::IpAddr;

use url::{Host, Url};

use super::fault::Fault;

/// The longest address.
pub(crate) const MAX_URL_BYTES: usize = 4096;
/// The longest host name.
const MAX_HOST: usize = 253;
/// Endings of names that are never public, so that they need not be resolved.
const PRIVATE_ENDINGS: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "localdomain",
    "home.arpa",
    "svc",
    "onion",
];

/// A valid address of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Without a fragment.
    pub url: Url,
    /// The name in lower case without a trailing dot, or the address.
    pub(crate) host: String,
    /// The address, if the host is one.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
}

impl Target {
    /// Parses an address.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        if text.len() > MAX_URL_BYTES {
            return Err(Fault::BadUrl("is longer than 4096 bytes"));
        }
        if text.chars().any(char::is_control) {
            return Err(Fault::BadUrl("holds control characters"));
        }
        Url::parse(text).map_err(|_| Fault::BadUrl("is not an address")).and_then(Self::new)
    }

    /// The target of a redirect.
    pub(crate) fn join(&self, location: &str) -> Result<Self, Fault> {
        if location.len() > MAX_URL_BYTES {
            return Err(Fault::BadUrl("is longer than 4096 bytes"));
        }
        self.url.join(location).map_err(|_| Fault::BadUrl("is not an address")).and_then(Self::new)
    }

    fn new(mut url: Url) -> Result<Self, Fault> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Fault::BadUrl("must begin with `http://` or `https://`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Fault::BadUrl("must not hold a user or a password"));
        }
        url.set_fragment(None);
        let port = url.port_or_known_default().filter(|port| *port > 0);
        let port = port.ok_or(Fault::BadUrl("has no port that can be connected to"))?;
        let (host, address) = match url.host() {
            Some(Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
                let is_name = (1..=MAX_HOST).contains(&name.len())
                    && name.split('.').all(|label| (1..=63).contains(&label.len()));
                if !is_name {
                    return Err(Fault::BadUrl("has no host that can be looked up"));
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

    /// The `Host` header.
    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }

    /// Path and query.
    pub(crate) fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Scheme, host and port: the scope of a robots.txt.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}:{}", self.url.scheme(), self.host, self.port)
    }

    /// The robots.txt of its site.
    pub(crate) fn robots(&self) -> Result<Self, Fault> {
        self.join("/robots.txt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> String {
        Target::parse(text).map_or_else(|fault| fault.to_string(), |target| target.host)
    }

    #[test]
    fn every_way_to_write_a_host_comes_to_one() {
        for text in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://127.0.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://0177.1/",
            "http://017700000001/",
            "http://127.0.0.1./",
            "http://127.0.0.1:80/",
            "HTTP://127.0.0.1",
            "http://１２７.0.0.1/",
            "http://127。0。0。1/",
            "http://%31%32%37.0.0.1/",
            "http:127.0.0.1",
            "http:/127.0.0.1",
            "http:///127.0.0.1",
            "http:\\\\127.0.0.1\\",
        ] {
            assert_eq!(host(text), "127.0.0.1", "{text}");
        }
        assert_eq!(host("http://[0:0:0:0:0:0:0:1]/"), "[::1]");
        assert_eq!(host("http://EXAMPLE.com./"), "example.com");
        assert_eq!(host("http://ⓔxample.com/"), "example.com");
        assert_eq!(host("http://bücher.example/"), "xn--bcher-kva.example");
        let mapped = Target::parse("http://[::ffff:a9fe:a9fe]/").unwrap();
        assert_eq!(mapped.address, Some("169.254.169.254".parse().unwrap()));
    }

    #[test]
    fn invalid_page_address_is_refused() {
        for text in [
            "",
            "example.com",
            "//example.com/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/html,x",
            "gopher://127.0.0.1:70/",
            "http://",
            "http:///",
            "https://?",
            "http://user@example.com/",
            "http://user:pw@example.com/",
            "http://:pw@example.com/",
            "http://exa mple.com/",
            "http://example.com:0/",
            "http://example.com:99999/",
            "http://example.com:-1/",
            "http://[::1",
            "http://[::1%25lo]/",
            "http://256.256.256.256/",
            "http://0x1ffffffff/",
            "http://a..b/",
            "http://.example.com/",
            "http://example.com/\u{0}",
            "http://exam\nple.com/",
            "http://1.2.3.4.5/",
        ] {
            assert!(matches!(Target::parse(text), Err(Fault::BadUrl(_))), "{text:?}");
        }
        let long = format!("http://example.com/{}", "a".repeat(MAX_URL_BYTES));
        assert!(matches!(Target::parse(&long), Err(Fault::BadUrl(_))));
        assert!(Target::parse(&long[..MAX_URL_BYTES]).is_ok());
        let label = format!("http://{}.com/", "a".repeat(64));
        assert!(Target::parse(&label).is_err());
    }

    #[test]
    fn names_of_private_networks_are_known_by_their_endings() {
        for text in [
            "localhost",
            "a.localhost",
            "metadata.google.internal",
            "router",
            "x.svc.cluster.local",
        ] {
            assert!(Target::parse(&format!("http://{text}/")).unwrap().is_private_name(), "{text}");
        }
        for text in ["example.com", "localhost.com", "notlocal.org", "internal.example.org"] {
            assert!(
                !Target::parse(&format!("http://{text}/")).unwrap().is_private_name(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_request_says_the_name_and_the_path() {
        let target = Target::parse("https://Example.COM.:8443/a%20b/../c?q=1#part").unwrap();
        assert_eq!(target.authority(), "example.com:8443");
        assert_eq!(target.path(), "/c?q=1");
        assert_eq!(target.robots().unwrap().url.as_str(), "https://example.com.:8443/robots.txt");
        assert_eq!(Target::parse("http://example.com").unwrap().path(), "/");
        assert_eq!(Target::parse("http://[::1]:81/").unwrap().authority(), "[::1]:81");
    }
}
