//! Providers of models: connection and health checks of an upstream.

pub(super) mod file;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Seconds, section};

use super::model::Model;
use super::secret::Secret;

/// Maximum number of providers.
pub const MAX_PROVIDERS: usize = 256;
/// Maximum extra headers per provider.
pub const MAX_HEADERS: usize = 64;
/// Maximum weight of a provider or target.
pub(super) const MAX_WEIGHT: u32 = 1_000_000;

/// API key and headers for an upstream.
pub(super) type Credentials = (Option<Secret>, Vec<(HeaderName, HeaderValue)>);

/// One upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Its name: the prefix of the full ids of its models.
    pub name: String,
    /// Its protocol.
    pub kind: Kind,
    /// Base of the paths of its operations, without a trailing slash. Unused for a program.
    pub base_url: Uri,
    /// The program, if the provider is one.
    pub program: Option<PathBuf>,
    /// Settings of a `local` provider.
    pub local: Option<Local>,
    /// Its API key.
    pub api_key: Option<Secret>,
    /// Extra headers of every request; values are marked as sensitive.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The configured models.
    pub models: Vec<Model>,
    /// Whether to list its models automatically.
    pub discover: bool,
    /// Timeouts of its requests.
    pub timeouts: Timeouts,
    /// Maximum concurrent requests; `None` for unlimited.
    pub max_concurrency: Option<u32>,
    /// Default weight of its targets.
    pub weight: u32,
    /// How to call it for responses.
    pub responses: Responses,
    /// Whether to request usage figures for streams.
    pub stream_usage: bool,
    /// Health checks; `None` disables them.
    pub health: Option<Health>,
    /// PEM file of the CA certificates to trust instead of the system's.
    pub tls_ca_file: Option<PathBuf>,
}

/// Protocol of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The `OpenAI` Chat Completions API.
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
    /// The program espeak-ng on this machine.
    Espeak,
    /// Model files that this process runs itself.
    Local,
}

impl Provider {
    /// Whether an open connection can be reused for another configuration of this provider: they
    /// differ at most in models that are not files. The content of a certificate file may change.
    pub(crate) fn connects_like(&self, other: &Self) -> bool {
        let connection =
            |it: &Self| Self { models: Vec::new(), discover: false, weight: 0, ..it.clone() };
        let has_files = self.kind == Kind::Local;
        connection(self) == connection(other)
            && (!has_files || self.models == other.models)
            && self.tls_ca_file.is_none()
    }
}

impl Kind {
    /// Its name in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Espeak => "espeak",
            Self::Local => "local",
        }
    }

    fn default_base(self) -> Uri {
        Uri::from_static(match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Espeak | Self::Local => "http://localhost",
        })
    }
}

/// How to call an upstream for responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Responses {
    /// Detect what the provider supports.
    #[default]
    Auto,
    /// Pass requests through.
    Native,
    /// Translate requests to chat completions.
    Bridged,
}

section! {
    /// A single number sets `first_byte` and `idle`, and also `connect` if it is less than 10.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Timeouts {
        /// Timeout for connecting, including TLS.
        #[serde(with = "Seconds")]
        pub connect: Duration = Duration::from_secs(10),
        /// Timeout from the request to the first byte of the response. For searches: to the end of
        /// the response, by default 15.
        #[serde(with = "Seconds")]
        pub first_byte: Duration = Duration::from_mins(5),
        /// Timeout between two parts of a response.
        #[serde(with = "Seconds")]
        pub idle: Duration = Duration::from_mins(2),
    }
}

section! {
    /// Health checks of the provider. `health: false` disables them.
    #[derive(PartialEq, Eq)]
    pub struct Health {
        /// Path to request, appended to `base_url`. The default for `searxng` is `/healthz`;
        /// `brave` and `tavily` are not probed by default.
        #[schemars(extend("format" = "health-path"))]
        pub path: String = "/models".to_owned(),
        /// Interval between probes.
        #[serde(with = "Seconds")]
        pub interval: Duration = Duration::from_secs(30),
        /// Timeout of a probe.
        #[serde(with = "Seconds")]
        pub timeout: Duration = Duration::from_secs(5),
        /// Eject the provider after this many consecutive failures. Only failures that members
        /// cannot cause count: connection errors, timeouts at the start of a stream, a rejected API
        /// key, and server errors.
        #[schemars(range(min = 1, max = 1000))]
        pub failures: u32 = 3,
        /// Minimum time that a provider stays ejected; then one request may try it again.
        #[serde(with = "Seconds")]
        pub eject: Duration = Duration::from_secs(15),
    }
}

/// Settings of local model files.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Folder of model files without a path of their own.
    pub folder: PathBuf,
    /// Maximum tokens of a conversation, including the response.
    pub window: u32,
    /// Maximum number of concurrent responses per file.
    pub at_once: u32,
    /// Maximum queue length.
    pub waiting: u32,
    /// Unload a file after this long without requests.
    pub idle: Duration,
    /// System message of conversations without one. Default: the one of the model.
    pub system: Option<String>,
    /// Default sampling temperature; 0 always takes the most likely token.
    pub temperature: f32,
    /// Default nucleus sampling threshold.
    pub top_p: f32,
    /// Default repeat penalty; above 1 makes repeats less likely.
    pub repeat_penalty: f32,
}

/// File extension of model files.
pub const GGUF: &str = "gguf";

/// Valid temperatures of a request.
pub const TEMPERATURES: RangeInclusive<f32> = 0.0..=2.0;
/// Valid nucleus sampling thresholds of a request.
pub const TOP_PS: RangeInclusive<f32> = 0.01..=1.0;
/// Valid repeat penalties of a request.
pub const REPEAT_PENALTIES: RangeInclusive<f32> = 0.5..=2.0;
