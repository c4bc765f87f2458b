//! Providers of models: how an upstream is reached, and how its health is checked.

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

/// The most providers of one file.
pub const MAX_PROVIDERS: usize = 256;
/// The most extra headers of one provider.
pub const MAX_HEADERS: usize = 64;
/// The greatest weight of a provider or target.
pub(super) const MAX_WEIGHT: u32 = 1_000_000;

/// What an upstream knows us by.
pub(super) type Credentials = (Option<Secret>, Vec<(HeaderName, HeaderValue)>);

/// One upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Its name: what the full ids of its models begin with.
    pub name: String,
    /// What it speaks.
    pub kind: Kind,
    /// What the paths of its operations are appended to; no `/` at the end of its path. A program
    /// has none that is used.
    pub base_url: Uri,
    /// The program, of a provider that is one.
    pub program: Option<PathBuf>,
    /// How files are used, of a provider that is this process.
    pub local: Option<Local>,
    /// How it knows us.
    pub api_key: Option<Secret>,
    /// Sent with every request to it; values are marked as sensitive.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The models that the file names.
    pub models: Vec<Model>,
    /// Whether it is asked for its models.
    pub discover: bool,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// The most requests to it at once; `None` for any number.
    pub max_concurrency: Option<u32>,
    /// Its share if a target has no weight.
    pub weight: u32,
    /// How responses are brought to it.
    pub responses: Responses,
    /// Whether streams are asked for their usage.
    pub stream_usage: bool,
    /// How it is looked after; `None` for not at all.
    pub health: Option<Health>,
    /// The PEM file of the authorities that its certificate is judged by, instead of the system's.
    pub tls_ca_file: Option<PathBuf>,
}

/// What an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Chat completions as the `OpenAI` API has them.
    OpenAi,
    /// The messages API.
    Anthropic,
    /// The program espeak-ng on this machine.
    Espeak,
    /// Files of models, which this process answers with itself.
    Local,
}

impl Provider {
    /// Whether an open connection to this provider serves another configuration of it as well: they
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
    /// Its word in the configuration.
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

/// How the files of a provider are used.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Where files are looked for that have no path of their own.
    pub folder: PathBuf,
    /// The most tokens of a conversation with its answer.
    pub window: u32,
    /// How many answers of one file are computed at once.
    pub at_once: u32,
    /// How many more may wait.
    pub waiting: u32,
    /// The memory of a file is let go after so long without a request.
    pub idle: Duration,
    /// The first message of conversations that have no system message; without it, what the model
    /// itself has there.
    pub system: Option<String>,
    /// How answers are drawn where a request says nothing; 0 always takes the likeliest token.
    pub temperature: f32,
    /// Only the likeliest tokens that together are this likely are drawn from.
    pub top_p: f32,
    /// Above 1, tokens that came lately become less likely.
    pub repeat_penalty: f32,
}

/// The end of the names of files that are models.
pub const GGUF: &str = "gguf";

/// The temperatures that a request may ask for.
pub const TEMPERATURES: RangeInclusive<f32> = 0.0..=2.0;
/// The shares of likely tokens that a request may ask for.
pub const TOP_PS: RangeInclusive<f32> = 0.01..=1.0;
/// The penalties that a request may ask for.
pub const REPEAT_PENALTIES: RangeInclusive<f32> = 0.5..=2.0;
