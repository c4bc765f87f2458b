//! Logs and traces: `log` and `trace`.

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::section;

use super::address::{self, Address};

/// Lines on standard error. Bodies and secrets are never in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct Log {
    /// `json` or `text`.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: Level,
    /// Whether every request gets a line.
    pub requests: bool,
}

/// The form of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object.
    Json,
    /// Words for people.
    Text,
}

/// How important a line of the log is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// What happens.
    Info,
    /// How it happens.
    Debug,
    /// Everything.
    Trace,
}

/// OpenTelemetry traces; without it there are none.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct Trace {
    /// A collector that takes OTLP over HTTP; needed.
    #[serde(deserialize_with = "address::uri")]
    #[schemars(with = "Address")]
    #[schemars(extend("x-missing" = "name a collector, such as `http://127.0.0.1:4318`"))]
    pub otlp_endpoint: Uri,
    /// The share of requests that are traced, from 0 to 1.
    #[serde(default = "default_sample")]
    #[schemars(range(min = 0, max = 1))]
    #[schemars(extend("x-wanted" = "a share from 0 to 1", "x-hint" = "0.1 is one request in ten"))]
    pub sample: f64,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Json, level: Level::Info, requests: true }
    }
}

fn default_sample() -> f64 {
    0.1
}
