//! How much of everything: what one request, one connection and one new key may take.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use settings::{Seconds, Zero};

use super::mapping::{self, Mapping};

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

/// The most connections of one client address, unless told.
const PER_ADDRESS: u32 = 1000;
/// A reverse proxy on this machine has the connections of all clients.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];

/// How much of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub max_body_bytes: u64,
    /// How many bytes of large bodies are parsed at once, over all requests.
    pub parsing_bytes: u64,
    /// The most bytes of the head of a request.
    pub max_header_bytes: u32,
    /// The most connections of clients at once.
    pub max_connections: u32,
    /// The most connections of one client address at once; `None` for no limit.
    pub max_connections_per_address: Option<u32>,
    /// Networks without that limit.
    pub exempt_addresses: Vec<IpNet>,
    /// How long the head of a request may take.
    pub header_timeout: Duration,
    /// How long a connection may wait for its next request.
    pub idle_timeout: Duration,
    /// How long the body of a request may take.
    pub body_timeout: Duration,
    /// How long a client may take none of an answer that is ready.
    pub write_timeout: Duration,
    /// How often a quiet stream is told a comment; `None` for never.
    pub keepalive_comment: Option<Duration>,
    /// How long one stream may last.
    pub max_stream: Duration,
    /// The largest answer of an upstream, in bytes.
    pub max_answer_bytes: u64,
    /// How many processes parse untrusted documents; `None` for one per core.
    pub parser_workers: Option<u32>,
    /// How long requests may finish after the service was told to stop.
    pub drain: Duration,
    /// What new keys get that are made without limits of their own.
    pub new_keys: NewKeys,
}

/// The limits of new keys; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewKeys {
    /// Requests in a minute.
    pub requests_per_minute: Option<u32>,
    /// Requests at once.
    pub concurrency: Option<u32>,
    /// Micro-credits in all.
    pub spend_micros: Option<i64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 * MIB,
            parsing_bytes: 256 * MIB,
            max_header_bytes: 64 * 1024,
            max_connections: 10_000,
            max_connections_per_address: Some(PER_ADDRESS),
            exempt_addresses: LOOPBACK.iter().filter_map(|text| network(text)).collect(),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_mins(1),
            write_timeout: Duration::from_mins(1),
            keepalive_comment: Some(Duration::from_secs(15)),
            max_stream: Duration::from_hours(1),
            max_answer_bytes: 64 * MIB,
            parser_workers: None,
            drain: Duration::from_secs(30),
            new_keys: NewKeys::default(),
        }
    }
}

/// Reads `limits`.
pub(super) fn limits(root: &mut Mapping<'_, '_, '_>) -> Limits {
    let default = Limits::default();
    let Some(field) = root.take("limits") else { return default };
    let Some(mut map) = Mapping::open(root.reader, "limits", &field) else { return default };
    let exempt = map.take("exempt_addresses").map(|field| {
        let wanted = "an address or a network such as `10.0.0.0/8`";
        mapping::list(map.reader, &field, network, wanted)
    });
    let per_address = map.whole("max_connections_per_address", 0..=1_000_000, PER_ADDRESS);
    let limits = Limits {
        max_body_bytes: map.whole("max_body_bytes", 1024..=GIB, default.max_body_bytes),
        parsing_bytes: map.whole("parsing_bytes", 1024..=16 * GIB, default.parsing_bytes),
        max_header_bytes: map.whole("max_header_bytes", 8192..=1_048_576, default.max_header_bytes),
        max_connections: map.whole("max_connections", 1..=1_000_000, default.max_connections),
        max_connections_per_address: Some(per_address).filter(|limit| *limit > 0),
        exempt_addresses: exempt.unwrap_or(default.exempt_addresses),
        header_timeout: map.seconds("header_timeout", default.header_timeout),
        idle_timeout: map.seconds("idle_timeout", default.idle_timeout),
        body_timeout: map.seconds("body_timeout", default.body_timeout),
        write_timeout: map.seconds("write_timeout", default.write_timeout),
        keepalive_comment: keepalive(&mut map),
        max_stream: map.seconds("max_stream_seconds", default.max_stream),
        max_answer_bytes: map.whole("max_answer_bytes", 1024..=GIB, default.max_answer_bytes),
        parser_workers: map.some_whole("parser_workers", 2..=1024),
        drain: drain(&mut map, default.drain),
        new_keys: new_keys(&mut map),
    };
    map.close();
    limits
}

/// One address, or all that begin with the same bits.
fn network(text: &str) -> Option<IpNet> {
    let address = text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
    address.or_else(|| text.parse().ok())
}

fn keepalive(map: &mut Mapping<'_, '_, '_>) -> Option<Duration> {
    let rule = Seconds { default: Duration::from_secs(15), zero: Zero::Allowed };
    let field = map.take("keepalive_comment");
    Some(map.reader.seconds(field, &rule)).filter(|period| !period.is_zero())
}

fn drain(map: &mut Mapping<'_, '_, '_>, default: Duration) -> Duration {
    let field = map.take("drain_seconds");
    map.reader.seconds(field, &Seconds { default, zero: Zero::Allowed })
}

fn new_keys(map: &mut Mapping<'_, '_, '_>) -> NewKeys {
    let Some(field) = map.take("new_keys") else { return NewKeys::default() };
    let Some(mut map) = Mapping::open(map.reader, "limits.new_keys", &field) else {
        return NewKeys::default();
    };
    let keys = NewKeys {
        requests_per_minute: map.some_whole("requests_per_minute", 1..=10_000_000),
        concurrency: map.some_whole("concurrency", 1..=1_000_000),
        spend_micros: map.price("spend_micros"),
    };
    map.close();
    keys
}
