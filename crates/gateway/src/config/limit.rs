//! Limits: what one request, one connection and one new key may use.

use std::time::Duration;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use settings::{Seconds, SecondsOrZero, section};
use wire::account::{BudgetBody, PeriodWord};

use super::fetch::{MAX_ALLOWED, network};
use super::price::Micros;
use crate::budget;

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

section! {
    /// Limits of the service.
    #[derive(PartialEq, Eq)]
    pub struct Limits {
        /// Maximum size of a request body, up to 1 GiB.
        pub max_body_bytes: u64 where 1024..=GIB = 32 * MIB,
        /// Total size of large bodies (over 64 KiB) that are parsed at the same time. Further
        /// requests wait and get 503 after `body_timeout`. Values below `max_body_bytes` are raised
        /// to it.
        pub parsing_bytes: u64 where 1024..=(16 * GIB) = 256 * MIB,
        /// Maximum size of a request head, from 8192 bytes to 1 MiB.
        pub max_header_bytes: u32 where 8192..=1_048_576 = 64 * 1024,
        /// Maximum number of client connections. At the limit, a new connection replaces the oldest
        /// idle one that never sent a valid key.
        pub max_connections: u32 where 1..=1_000_000 = 10_000,
        /// Maximum number of connections from one client address (IPv6: from one /64 network).
        /// Further connections are closed. 0 disables the limit.
        #[serde(deserialize_with = "none_if_zero")]
        #[schemars(with = "u32", range(min = 0, max = 1_000_000))]
        pub max_connections_per_address: Option<u32> = Some(1000),
        /// Addresses and networks exempt from `max_connections_per_address`; by default
        /// `127.0.0.0/8` and `::1`. List your reverse proxies here: all clients behind a proxy
        /// share its address.
        #[schemars(with = "Vec<String>", length(max = MAX_ALLOWED))]
        #[schemars(extend("items" = {"type": "string", "format": "network"}, "x-whole" = true))]
        #[schemars(extend("default" = null))]
        pub exempt_addresses: Vec<IpNet> = loopback(),
        /// Timeout for receiving a request head.
        pub header_timeout: Duration as "Seconds" = Duration::from_secs(10),
        /// Close a connection that stays idle for this long.
        pub idle_timeout: Duration as "Seconds" = Duration::from_secs(75),
        /// Timeout for receiving a request body.
        pub body_timeout: Duration as "Seconds" = Duration::from_mins(1),
        /// Write timeout: close the connection if the client stops reading for this long.
        pub write_timeout: Duration as "Seconds" = Duration::from_mins(1),
        /// Interval of keep-alive comments on an idle stream; 0 disables them.
        pub keepalive_comment: Option<Duration> as "SecondsOrZero" = Some(Duration::from_secs(15)),
        /// Maximum duration of a stream.
        #[serde(rename = "max_stream_seconds", with = "Seconds")]
        pub max_stream: Duration = Duration::from_hours(1),
        /// Maximum size of a provider's response, up to 1 GiB.
        pub max_answer_bytes: u64 where 1024..=GIB = 64 * MIB,
        /// Number of processes that parse pages, PDF files, images and audio, from 2 to 1024.
        /// Default: one per core, from 2 to 16. Each may use 512 MiB plus four times the size of
        /// the largest document.
        pub parser_workers: Option<u32> where 2..=1024,
        /// Grace period for running requests after the service receives a stop signal; 0 stops at
        /// once.
        #[serde(rename = "drain_seconds", with = "SecondsOrZero")]
        pub drain: Duration = Duration::from_secs(30),
        /// Default limits of new keys.
        pub new_keys: NewKeys,
    }
}

section! {
    /// Limits of keys that are created without their own. A missing value means no limit.
    #[derive(Copy, PartialEq, Eq)]
    pub struct NewKeys {
        /// Requests per minute.
        pub requests_per_minute: Option<u32> where 1..=10_000_000,
        /// Concurrent requests.
        pub concurrency: Option<u32> where 1..=1_000_000,
        /// Total spend in micro-credits.
        #[schemars(with = "Option<Micros>")]
        pub spend_micros: Option<i64>,
        /// Budget that resets.
        pub budget: Option<NewBudget>,
    }
}

section! {
    /// Limits of a media request. Every request within these limits costs the same.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Media {
        /// Maximum number of images per request, up to 10.
        pub max_images: u32 where 1..=10 = 1,
        /// Maximum length of the text of a speech request, in characters.
        pub max_text_chars: u32 where 1..=1_000_000 = 4096,
    }
}

/// Budget of each new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct NewBudget {
    /// Amount in micro-credits. Required.
    #[schemars(with = "Micros")]
    #[schemars(extend("x-missing" = "set an amount in micro-credits"))]
    pub amount_micros: i64,
    /// How often it resets, in `time_zone`: `day`, `week` or `month`. Required.
    #[schemars(extend("x-missing" = "write `day`, `week` or `month`"))]
    pub period: PeriodWord,
}

impl NewKeys {
    pub fn limits(&self) -> ledger::Limits {
        let budget = |NewBudget { amount_micros, period }: NewBudget| {
            budget::parse(BudgetBody { amount_micros, period })
        };
        ledger::Limits {
            spend: self.spend_micros.map(ledger::Micros::new),
            requests_per_minute: self.requests_per_minute,
            concurrency: self.concurrency,
            budget: self.budget.map(budget),
        }
    }
}

/// A reverse proxy on this machine has the connections of all clients.
fn loopback() -> Vec<IpNet> {
    ["127.0.0.0/8", "::1"].into_iter().filter_map(network).collect()
}

fn none_if_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(Some(u32::deserialize(deserializer)?).filter(|limit| *limit > 0))
}
