//! How pages are read: `fetch`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use settings::{Seconds, WholeSeconds, section};
use web_reader::{AllowedPrivate, PrivatePlace};

const MIB: u64 = 1024 * 1024;
/// The most entries of lists of hosts, networks and ports.
pub const MAX_ALLOWED: usize = 256;

/// How pages are read for `/v1/web/fetch`. Only addresses of the public internet are connected to;
/// what else may be read is named in `allow_private`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct Fetch {
    /// The largest page, counted after decompression; at most 256 MiB.
    #[schemars(range(min = 1024, max = 256 * MIB))]
    pub max_bytes: u64,
    /// How long reading a page may take, redirects included.
    #[serde(with = "Seconds")]
    pub timeout: Duration,
    /// How many redirects are followed; at most 20.
    #[schemars(range(min = 0, max = 20))]
    pub max_redirects: u32,
    /// Whether a redirect from https to http is followed.
    pub allow_downgrade: bool,
    /// Whether the robots.txt of a site is obeyed.
    pub robots: bool,
    /// How we introduce ourselves; the word before the first `/` is what robots.txt knows us by.
    #[schemars(extend("format" = "user-agent"))]
    pub user_agent: String,
    /// The ports that pages are read from.
    #[schemars(length(max = MAX_ALLOWED))]
    #[schemars(extend("items" = {"type": "integer", "format": "port"}, "x-whole" = true))]
    pub ports: Vec<u16>,
    /// Hosts and networks that may be read although they are not public: `wiki.internal`,
    /// `10.1.2.0/24`, `[fd00::1]`, each also with a port as in `wiki.internal:8080`.
    #[serde(deserialize_with = "deserialize_private")]
    #[schemars(with = "Vec<String>", length(max = MAX_ALLOWED))]
    #[schemars(extend("items" = {"type": "string", "format": "private"}, "x-whole" = true))]
    #[schemars(extend("default" = []))]
    pub allow_private: Vec<AllowedPrivate>,
    /// PEM file of authorities that certificates are judged by besides the system's.
    #[schemars(extend("format" = "path", "x-type" = "path", "x-wanted" = "the path of a PEM file"))]
    pub tls_ca_file: Option<PathBuf>,
    /// The most pages that are read at once.
    #[schemars(range(min = 1, max = 100_000))]
    pub concurrency: u32,
    /// The same for one host.
    #[schemars(range(min = 1, max = 100_000))]
    pub concurrency_per_host: u32,
    /// How many fetches of one key may time out, or exceed the limits of the parser, in a minute.
    /// Fetches that are still running count too. Beyond it the service returns 429.
    #[schemars(range(min = 1, max = 100_000))]
    pub timeouts_per_minute: u32,
    /// How much of what was read is kept in memory; 0 is nothing.
    #[schemars(range(min = 0, max = 64 * 1024 * MIB))]
    pub cache_bytes: u64,
    /// How long it is kept; at most a day.
    #[serde(rename = "cache_seconds", with = "WholeSeconds")]
    #[schemars(range(min = 1, max = 86400))]
    pub cache_age: Duration,
    /// Share cached pages between members. This saves requests, but `from_cache` tells a member
    /// that another one read the page.
    pub share_cache: bool,
}

impl Default for Fetch {
    fn default() -> Self {
        Self {
            max_bytes: 10 * MIB,
            timeout: Duration::from_secs(20),
            max_redirects: 5,
            allow_downgrade: false,
            robots: true,
            user_agent: "agent-gateway/0.1 (reads single pages for a person)".to_owned(),
            ports: vec![80, 443],
            allow_private: Vec::new(),
            tls_ca_file: None,
            concurrency: 64,
            concurrency_per_host: 4,
            timeouts_per_minute: 20,
            cache_bytes: 64 * MIB,
            cache_age: Duration::from_mins(5),
            share_cache: false,
        }
    }
}

fn deserialize_private<'de, D>(deserializer: D) -> Result<Vec<AllowedPrivate>, D::Error>
where
    D: Deserializer<'de>,
{
    let texts = Vec::<String>::deserialize(deserializer)?;
    let parsed = texts.iter().map(|text| parse_private(text).ok_or("neither a host nor a network"));
    parsed.collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// Parses `host`, `address`, `address/bits` or `[address]`, each perhaps with `:port`.
pub(super) fn parse_private(text: &str) -> Option<AllowedPrivate> {
    if let Some(place) = place(text) {
        return Some(AllowedPrivate { place, port: None });
    }
    let (before, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    // An IPv6 address with a port is in brackets, or it is not known where it ends.
    let is_clear = !before.contains(':') || before.starts_with('[') || before.contains('/');
    Some(AllowedPrivate { place: place(before).filter(|_| is_clear)?, port: Some(port) })
}

fn place(text: &str) -> Option<PrivatePlace> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        let address = address.to_canonical();
        return Some(PrivatePlace::Net(address, if address.is_ipv4() { 32 } else { 128 }));
    }
    if let Some((address, bits)) = bare.split_once('/') {
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.parse().ok().filter(|bits| *bits <= most)?;
        return Some(PrivatePlace::Net(address, bits));
    }
    let name = bare.trim_end_matches('.').to_ascii_lowercase();
    let is_name = (1..=253).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_name.then_some(PrivatePlace::Host(name))
}
