//! Page fetch settings: `fetch`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use settings::{Seconds, WholeSeconds, section};
use web_reader::{AllowedPrivate, PrivatePlace};

const MIB: u64 = 1024 * 1024;
/// Maximum entries in lists of hosts, networks and ports.
pub const MAX_ALLOWED: usize = 256;

section! {
    /// How `/v1/web/fetch` reads pages. Only public internet addresses are allowed; list exceptions
    /// in `allow_private`.
    #[derive(PartialEq, Eq)]
    pub struct Fetch {
        /// Maximum size of a page after decompression, up to 256 MiB.
        pub max_bytes: u64 where 1024..=(256 * MIB) = 10 * MIB,
        /// Timeout for reading a page, including redirects.
        pub timeout: Duration as "Seconds" = Duration::from_secs(20),
        /// Maximum number of redirects to follow, up to 20.
        pub max_redirects: u32 where 0..=20 = 5,
        /// Follow redirects from https to http.
        pub allow_downgrade: bool,
        /// Obey the robots.txt of each site.
        pub robots: bool = true,
        /// The `User-Agent` header. The part before the first `/` is the name that robots.txt rules
        /// match.
        #[schemars(extend("format" = "user-agent"))]
        pub user_agent: String = "agent-gateway/0.1 (reads single pages for a person)".to_owned(),
        /// Ports that pages may be read from.
        #[schemars(length(max = MAX_ALLOWED))]
        #[schemars(extend("items" = {"type": "integer", "format": "port"}, "x-whole" = true))]
        pub ports: Vec<u16> = vec![80, 443],
        /// Private hosts and networks that may be read: `wiki.internal`, `10.1.2.0/24`,
        /// `[fd00::1]`, each optionally with a port, as in `wiki.internal:8080`.
        #[serde(deserialize_with = "deserialize_private")]
        #[schemars(with = "Vec<String>", length(max = MAX_ALLOWED))]
        #[schemars(extend("items" = {"type": "string", "format": "private"}, "x-whole" = true))]
        #[schemars(extend("default" = []))]
        pub allow_private: Vec<AllowedPrivate>,
        /// PEM file with additional CA certificates to trust besides the system's.
        #[schemars(extend("format" = "path", "x-wanted" = "the path of a PEM file"))]
        pub tls_ca_file: Option<PathBuf>,
        /// Maximum number of pages read at the same time.
        pub concurrency: u32 where 1..=100_000 = 64,
        /// Maximum number of pages read from one host at the same time.
        pub concurrency_per_host: u32 where 1..=100_000 = 4,
        /// How many fetches of pages and images per key and minute may time out or exceed the limits
        /// of the parser. Running fetches count too. Above this limit the service returns 429.
        pub timeouts_per_minute: u32 where 1..=100_000 = 20,
        /// Size of the page cache in memory; 0 disables it.
        pub cache_bytes: u64 where 0..=(64 * 1024 * MIB) = 64 * MIB,
        /// How long pages stay in the cache; at most a day.
        #[serde(rename = "cache_seconds", with = "WholeSeconds::<86400>")]
        pub cache_age: Duration = Duration::from_mins(5),
        /// Share cached pages between members. This saves requests, but `from_cache` reveals that
        /// another member has read the page.
        pub share_cache: bool,
    }
}

fn deserialize_private<'de, D>(deserializer: D) -> Result<Vec<AllowedPrivate>, D::Error>
where
    D: Deserializer<'de>,
{
    let texts = Vec::<String>::deserialize(deserializer)?;
    let parsed = texts.iter().map(|text| parse_private(text).ok_or("not a host or a network"));
    parsed.collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// Parses `host`, `address`, `address/bits` or `[address]`, each optionally with `:port`.
pub(super) fn parse_private(text: &str) -> Option<AllowedPrivate> {
    if let Some(place) = private_place(text) {
        return Some(AllowedPrivate { place, port: None });
    }
    let (before, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    // Without brackets, the end of an IPv6 address with a port is ambiguous.
    let is_clear = !before.contains(':') || before.starts_with('[') || before.contains('/');
    Some(AllowedPrivate { place: private_place(before).filter(|_| is_clear)?, port: Some(port) })
}

/// One address or a CIDR network.
pub(super) fn network(text: &str) -> Option<IpNet> {
    let address = text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
    address.or_else(|| text.parse().ok())
}

fn private_place(text: &str) -> Option<PrivatePlace> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    if let Some(network) = network(bare) {
        return Some(PrivatePlace::Net(network.addr(), network.prefix_len()));
    }
    let name = bare.trim_end_matches('.').to_ascii_lowercase();
    let is_name = (1..=253).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_name.then_some(PrivatePlace::Host(name))
}
