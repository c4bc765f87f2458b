//! Logs and traces: `log` and `trace`.

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::section;

use super::address::{self, Address};

section! {
    /// Log output on stderr. Request bodies and secrets are never logged.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Log {
        /// `json` or `text`.
        pub format: LogFormat = LogFormat::Json,
        /// `error`, `warn`, `info`, `debug` or `trace`.
        pub level: Level = Level::Info,
        /// Log every request.
        pub requests: bool = true,
    }
}

/// Format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Plain text.
    Text,
}

/// Severity of a log line.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Failures.
    Error,
    /// Unexpected conditions.
    Warn,
    /// Normal operation.
    Info,
    /// Details for debugging.
    Debug,
    /// Everything.
    Trace,
}

/// OpenTelemetry traces. Without this section, tracing is off.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct Trace {
    /// URL of a collector that accepts OTLP over HTTP. Required.
    #[serde(deserialize_with = "address::uri")]
    #[schemars(with = "Address")]
    #[schemars(extend("x-missing" = "set the URL of a collector, such as `http://127.0.0.1:4318`"))]
    pub otlp_endpoint: Uri,
    /// Fraction of requests to trace, from 0 to 1.
    #[serde(default = "default_sample")]
    #[schemars(range(min = 0, max = 1))]
    #[schemars(extend("x-wanted" = "a number from 0 to 1"))]
    #[schemars(extend("x-hint" = "0.1 traces one request in ten"))]
    pub sample: f64,
}

fn default_sample() -> f64 {
    0.1
}
