//! How pages are read: `fetch`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use settings::{Field, Problem};

use super::mapping::Mapping;
use super::store;

const MIB: u64 = 1024 * 1024;
/// The most entries of `allow_private`, and of `ports`.
pub const MAX_ALLOWED: usize = 256;
/// The longest name of ours.
const MAX_AGENT: usize = 256;
/// How we introduce ourselves.
const USER_AGENT: &str = "agent-gateway/0.1 (reads single pages for a person)";

/// How pages are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The largest page in bytes, after decompression.
    pub max_bytes: u64,
    /// How long reading one may take.
    pub timeout: Duration,
    /// How many redirects are followed.
    pub max_redirects: u32,
    /// Whether a redirect from https to http is followed.
    pub allow_downgrade: bool,
    /// Whether robots.txt is obeyed.
    pub robots: bool,
    /// How we introduce ourselves.
    pub user_agent: String,
    /// The ports that pages are read from.
    pub ports: Vec<u16>,
    /// What may be read although it is not public.
    pub allow_private: Vec<Private>,
    /// The PEM file of further authorities.
    pub tls_ca_file: Option<PathBuf>,
    /// The most pages at once.
    pub concurrency: u32,
    /// The most pages of one host at once.
    pub concurrency_per_host: u32,
    /// How many fetches of one key may time out in a minute.
    pub timeouts_per_minute: u32,
    /// How much is kept, in bytes.
    pub cache_bytes: u64,
    /// How long it is kept.
    pub cache_age: Duration,
    /// Whether members see pages that others read.
    pub share_cache: bool,
}

/// Something that may be read although it is not public, at one port or at all of `ports`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Private {
    /// What it is.
    pub place: PrivatePlace,
    /// The one port.
    pub port: Option<u16>,
}

/// A host or a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivatePlace {
    /// A name in lower case, whatever address it has.
    Host(String),
    /// Addresses that begin with so many bits of this one.
    Net(IpAddr, u8),
}

impl Default for Fetch {
    fn default() -> Self {
        Self {
            max_bytes: 10 * MIB,
            timeout: Duration::from_secs(20),
            max_redirects: 5,
            allow_downgrade: false,
            robots: true,
            user_agent: USER_AGENT.to_owned(),
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

/// Reads `fetch`.
pub(super) fn fetch(root: &mut Mapping<'_, '_, '_>, folder: &Path) -> Fetch {
    let default = Fetch::default();
    let Some(field) = root.take("fetch") else { return default };
    let Some(mut map) = Mapping::open(root.reader, "fetch", &field) else { return default };
    let cache_age = map.whole("cache_seconds", 1..=86400, default.cache_age.as_secs());
    let fetch = Fetch {
        max_bytes: map.whole("max_bytes", 1024..=256 * MIB, default.max_bytes),
        timeout: map.seconds("timeout", default.timeout),
        max_redirects: map.whole("max_redirects", 0..=20, default.max_redirects),
        allow_downgrade: map.flag("allow_downgrade", default.allow_downgrade),
        robots: map.flag("robots", default.robots),
        user_agent: user_agent(&mut map).unwrap_or(default.user_agent),
        ports: ports(&mut map).unwrap_or(default.ports),
        allow_private: allow_private(&mut map),
        tls_ca_file: tls_ca_file(&mut map, folder),
        concurrency: map.whole("concurrency", 1..=100_000, default.concurrency),
        concurrency_per_host: map.whole(
            "concurrency_per_host",
            1..=100_000,
            default.concurrency_per_host,
        ),
        timeouts_per_minute: map.whole(
            "timeouts_per_minute",
            1..=100_000,
            default.timeouts_per_minute,
        ),
        cache_bytes: map.whole("cache_bytes", 0..=64 * 1024 * MIB, default.cache_bytes),
        cache_age: Duration::from_secs(cache_age),
        share_cache: map.flag("share_cache", default.share_cache),
    };
    map.close();
    fetch
}

fn tls_ca_file(map: &mut Mapping<'_, '_, '_>, folder: &Path) -> Option<PathBuf> {
    let path = map.text("tls_ca_file", "the path of a PEM file")?;
    Some(store::placed(map, folder, path.value()))
}

fn user_agent(map: &mut Mapping<'_, '_, '_>) -> Option<String> {
    let field = map.take("user_agent")?;
    let text = map.reader.string(&field, "how we introduce ourselves")?;
    let value = text.value().trim();
    let token = value.split(['/', ' ']).next().unwrap_or_default();
    let is_token = !token.is_empty()
        && token.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(&byte));
    let is_line = value.len() <= MAX_AGENT
        && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if is_token && is_line {
        return Some(value.to_owned());
    }
    let message = format!(
        "must be at most {MAX_AGENT} printable ASCII characters and begin with a word of letters, \
         `-` and `_`, which robots.txt can name"
    );
    let problem = Problem::error(field.place, message);
    map.reader.report(&field.key, problem.hint("such as `example-reader/1.0`"));
    None
}

fn ports(map: &mut Mapping<'_, '_, '_>) -> Option<Vec<u16>> {
    let field = map.take("ports")?;
    let texts = listed(map, &field)?;
    let ports: Option<Vec<u16>> =
        texts.iter().map(|text| text.trim().parse().ok().filter(|port| *port > 0)).collect();
    if ports.is_none() {
        map.reader.refuse(&field, "must be a list of ports, each from 1 to 65535");
    }
    ports
}

fn allow_private(map: &mut Mapping<'_, '_, '_>) -> Vec<Private> {
    let Some(field) = map.take("allow_private") else { return Vec::new() };
    let mut allowed = Vec::new();
    for text in listed(map, &field).unwrap_or_default() {
        let Some(private) = Private::parse(text.trim()) else {
            let shown: String = text.chars().take(100).collect();
            let message = format!("`{shown}` is neither a host nor a network");
            let problem = Problem::error(field.place, message);
            let hint = "write `wiki.internal`, `wiki.internal:8080`, `10.1.2.0/24` or `[fd00::1]`";
            map.reader.report(&field.key, problem.hint(hint));
            continue;
        };
        allowed.push(private);
    }
    allowed
}

fn listed(map: &mut Mapping<'_, '_, '_>, field: &Field<'_>) -> Option<Vec<String>> {
    let texts = map.reader.strings(field)?;
    if texts.len() > MAX_ALLOWED {
        map.reader.refuse(field, format!("has more than {MAX_ALLOWED} entries"));
        return None;
    }
    Some(texts)
}

impl Private {
    /// Reads `host`, `address`, `address/bits` or `[address]`, each perhaps with `:port`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(place) = place(text) {
            return Some(Self { place, port: None });
        }
        let (before, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port > 0)?;
        // An IPv6 address with a port stands in brackets, or it is not known where it ends.
        let is_clear = !before.contains(':') || before.starts_with('[') || before.contains('/');
        Some(Self { place: place(before).filter(|_| is_clear)?, port: Some(port) })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Option<String> {
        Private::parse(text).map(|private| {
            let place = match private.place {
                PrivatePlace::Host(name) => name,
                PrivatePlace::Net(address, bits) => format!("{address}/{bits}"),
            };
            format!("{place} {:?}", private.port)
        })
    }

    #[test]
    fn hosts_and_networks_are_told_apart() {
        for (text, expected) in [
            ("wiki.internal", "wiki.internal None"),
            ("Wiki.Internal.:8080", "wiki.internal Some(8080)"),
            ("localhost", "localhost None"),
            ("10.1.2.3", "10.1.2.3/32 None"),
            ("10.1.2.3:81", "10.1.2.3/32 Some(81)"),
            ("10.1.2.0/24", "10.1.2.0/24 None"),
            ("10.1.2.0/24:8080", "10.1.2.0/24 Some(8080)"),
            ("fd00::1", "fd00::1/128 None"),
            ("[fd00::1]:8080", "fd00::1/128 Some(8080)"),
            ("fd00::/8", "fd00::/8 None"),
            ("::ffff:10.0.0.1", "10.0.0.1/32 None"),
        ] {
            assert_eq!(written(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in ["", "a b", "10.0.0.0/33", "fd00::/129", "http://a", "a:0", "a:70000", "1.2.3"]
        {
            assert_eq!(written(text), None, "{text}");
        }
    }
}
