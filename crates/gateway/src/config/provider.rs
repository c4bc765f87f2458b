//! Providers of models: connection and health checks of an upstream.

pub(super) mod file;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Seconds, section, word};

use super::model::Model;
use super::secret::Secret;

pub const MAX_PROVIDERS: usize = 256;
pub const MAX_HEADERS: usize = 64;
pub(super) const MAX_WEIGHT: u32 = 1_000_000;

pub(super) type Credentials = (Option<Secret>, Vec<(HeaderName, HeaderValue)>);

#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Its name: the prefix of the full ids of its models.
    pub name: String,
    pub kind: Kind,
    /// Base of the paths of its operations, without a trailing slash. Unused for a program.
    pub base_url: Uri,
    pub program: Option<PathBuf>,
    pub local: Option<Local>,
    pub api_key: Option<Secret>,
    /// Extra headers of every request; values are marked as sensitive.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub models: Vec<Model>,
    pub discover: bool,
    pub timeouts: Timeouts,
    /// Maximum concurrent requests; `None` for unlimited.
    pub max_concurrency: Option<u32>,
    pub weight: u32,
    pub responses: Responses,
    pub stream_usage: bool,
    /// Health checks; `None` disables them.
    pub health: Option<Health>,
    /// PEM file of the CA certificates to trust instead of the system's.
    pub tls_ca_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    OpenAi,
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
    pub fn as_str(self) -> &'static str {
        word::<Self>(self as usize)
    }

    fn default_base(self) -> Uri {
        Uri::from_static(match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Espeak | Self::Local => "http://localhost",
        })
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Responses {
    #[default]
    Auto,
    Native,
    Bridged,
}

section! {
    /// A single number sets `first_byte` and `idle`, and also `connect` if it is less than 10.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Timeouts {
        /// Timeout for connecting, including TLS.
        pub connect: Duration as "Seconds" = Duration::from_secs(10),
        /// Timeout from the request to the first byte of the response. For searches: to the end of
        /// the response, by default 15.
        pub first_byte: Duration as "Seconds" = Duration::from_mins(5),
        /// Timeout between two parts of a response.
        pub idle: Duration as "Seconds" = Duration::from_mins(2),
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
        pub interval: Duration as "Seconds" = Duration::from_secs(30),
        /// Timeout of a probe.
        pub timeout: Duration as "Seconds" = Duration::from_secs(5),
        /// Eject the provider after this many consecutive failures. Only failures that members
        /// cannot cause count: connection errors, timeouts at the start of a stream, a rejected API
        /// key, and server errors.
        pub failures: u32 where 1..=1000 = 3,
        /// Minimum time that a provider stays ejected; then one request may try it again.
        pub eject: Duration as "Seconds" = Duration::from_secs(15),
    }
}

section! {
    /// Settings of local model files.
    #[derive(PartialEq)]
    pub struct Local {
        /// Folder of model files without a path of their own.
        #[serde(skip)]
        pub folder: PathBuf,
        /// Maximum number of concurrent responses per file.
        #[serde(skip)]
        pub at_once: u32,
        /// `local`: context window in tokens, including the response; capped at the context length
        /// of the model. Bounds the memory that each running conversation uses.
        #[schemars(range(min = 128, max = 1_048_576), extend("x-kinds" = ["local"]))]
        pub window: u32 = 2048,
        /// `local`: maximum number of queued requests per model. When the queue is full, the
        /// service returns 429.
        #[serde(rename = "max_waiting")]
        #[schemars(range(min = 0, max = 10_000), extend("x-kinds" = ["local"]))]
        pub waiting: u32 = 8,
        /// `local`: unload a model after this long without requests.
        #[schemars(extend("x-kinds" = ["local"]))]
        pub idle: Duration as "Seconds" = Duration::from_mins(10),
        /// `local`: system message for conversations without one. Default: the one of the model.
        #[schemars(extend("x-kinds" = ["local"], "x-wanted" = "a string", "x-verbatim" = true))]
        pub system: Option<String>,
        /// `local`: default sampling temperature, from 0 (always the most likely token) to 2.
        #[schemars(range(min = 0, max = 2), extend("x-kinds" = ["local"], "default" = 0.2))]
        pub temperature: f32 = 0.2,
        /// `local`: default nucleus sampling threshold, from 0.01 to 1.
        #[schemars(range(min = 0.01, max = 1), extend("x-kinds" = ["local"], "default" = 0.95))]
        pub top_p: f32 = 0.95,
        /// `local`: default penalty for repeated tokens, from 0.5 to 2; 1 disables it.
        #[schemars(range(min = 0.5, max = 2), extend("x-kinds" = ["local"], "default" = 1.1))]
        pub repeat_penalty: f32 = 1.1,
    }
}

pub const GGUF: &str = "gguf";

pub const TEMPERATURES: RangeInclusive<f32> = 0.0..=2.0;
pub const TOP_PS: RangeInclusive<f32> = 0.01..=1.0;
pub const REPEAT_PENALTIES: RangeInclusive<f32> = 0.5..=2.0;
