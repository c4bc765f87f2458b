//! Limits: what one request, one connection and one new key may use.

use std::time::Duration;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use settings::{Seconds, SecondsOrZero, section};

use super::fetch::MAX_ALLOWED;
use super::format;
use super::price::Micros;

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

/// A reverse proxy on this machine has the connections of all clients.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];

/// How much of everything.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct Limits {
    /// The largest body of a request; at most 1 GiB.
    #[schemars(range(min = 1024, max = GIB))]
    pub max_body_bytes: u64,
    /// Bytes of large bodies (over 64 KiB) that are parsed at once, over all requests; further
    /// requests wait, and get 503 after `body_timeout`. At least `max_body_bytes` counts.
    #[schemars(range(min = 1024, max = 16 * GIB))]
    pub parsing_bytes: u64,
    /// The most bytes of the head of a request; from 8192 to 1 MiB.
    #[schemars(range(min = 8192, max = 1_048_576))]
    pub max_header_bytes: u32,
    /// The most connections of clients at once. At the limit, a new connection replaces the
    /// oldest idle one that never sent a valid key.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_connections: u32,
    /// The most connections of one client address (IPv6: of one /64 network) at once; more are
    /// closed. 0 is no limit.
    #[serde(deserialize_with = "none_if_zero")]
    #[schemars(with = "u32", range(min = 0, max = 1_000_000))]
    pub max_connections_per_address: Option<u32>,
    /// Addresses and networks without `max_connections_per_address`; without this key
    /// `127.0.0.0/8` and `::1`. Name your reverse proxies here: all clients behind one share its
    /// address.
    #[schemars(with = "Vec<String>", length(max = MAX_ALLOWED))]
    #[schemars(extend("items" = {"type": "string", "format": "network"}, "x-whole" = true))]
    #[schemars(extend("default" = null))]
    pub exempt_addresses: Vec<IpNet>,
    /// How long the head of a request may take.
    #[serde(with = "Seconds")]
    pub header_timeout: Duration,
    /// How long a connection may wait for its next request; then it is closed.
    #[serde(with = "Seconds")]
    pub idle_timeout: Duration,
    /// How long the body of a request may take.
    #[serde(with = "Seconds")]
    pub body_timeout: Duration,
    /// How long a client may take none of an answer that is ready; then it is left.
    #[serde(with = "Seconds")]
    pub write_timeout: Duration,
    /// How often a quiet stream gets a comment; 0 is never.
    #[serde(with = "SecondsOrZero")]
    pub keepalive_comment: Option<Duration>,
    /// How long one stream may last.
    #[serde(rename = "max_stream_seconds", with = "Seconds")]
    pub max_stream: Duration,
    /// The largest answer of an upstream; at most 1 GiB.
    #[schemars(range(min = 1024, max = GIB))]
    pub max_answer_bytes: u64,
    /// How many processes parse pages, PDF files, images and audio: from 2 to 1024; one per core
    /// if not set, from 2 to 16. Each may use 512 MiB and four times the largest document.
    #[schemars(range(min = 2, max = 1024))]
    pub parser_workers: Option<u32>,
    /// How long requests may finish after the service was told to stop; 0 is not at all.
    #[serde(rename = "drain_seconds", with = "SecondsOrZero")]
    pub drain: Duration,
    /// The limits of new keys.
    pub new_keys: NewKeys,
}

/// The limits of keys that are made without limits of their own. Without a value there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct NewKeys {
    /// Requests in a minute.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub requests_per_minute: Option<u32>,
    /// Requests at once.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub concurrency: Option<u32>,
    /// Micro-credits in all.
    #[schemars(with = "Option<Micros>")]
    pub spend_micros: Option<i64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 32 * MIB,
            parsing_bytes: 256 * MIB,
            max_header_bytes: 64 * 1024,
            max_connections: 10_000,
            max_connections_per_address: Some(1000),
            exempt_addresses: LOOPBACK.iter().filter_map(|text| format::network(text)).collect(),
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

fn none_if_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(Some(u32::deserialize(deserializer)?).filter(|limit| *limit > 0))
}
