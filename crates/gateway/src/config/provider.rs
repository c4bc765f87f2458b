//! Providers of models: how an upstream is reached, and how its health is checked.

pub(super) mod file;
mod local;

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Seconds, section};

pub use self::local::{GGUF, Local, REPEAT_PENALTIES, TEMPERATURES, TOP_PS};
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
#[derive(Debug, Clone)]
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

/// How responses are brought to an upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Responses {
    /// As its answers show that it can.
    #[default]
    Auto,
    /// Passed through.
    Native,
    /// As chat completions.
    Bridged,
}

/// One number instead of the mapping is for `first_byte` and `idle`, and for `connect` if it is less
/// than 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct Timeouts {
    /// Until it is connected, TLS included.
    #[serde(with = "Seconds")]
    pub connect: Duration,
    /// From the request to the first byte of the answer. Of a search: to the end of it, 15 if not
    /// given.
    #[serde(with = "Seconds")]
    pub first_byte: Duration,
    /// Between two parts of an answer.
    #[serde(with = "Seconds")]
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
        }
    }
}

/// How the upstream is looked after; `health: false` leaves that out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = section::<Self>)]
pub struct Health {
    /// What is asked for, appended to `base_url`. `searxng`: `/healthz` if not given; `brave` and
    /// `tavily`: nothing is asked for if not given.
    #[schemars(extend("format" = "health-path"))]
    pub path: String,
    /// How often.
    #[serde(with = "Seconds")]
    pub interval: Duration,
    /// How long an answer may take.
    #[serde(with = "Seconds")]
    pub timeout: Duration,
    /// After so many failures in a row it is left out. Only those count that no member can bring
    /// about: it cannot be reached, begins no stream in time, refuses our key, or fails by its own
    /// word.
    #[schemars(range(min = 1, max = 1000))]
    pub failures: u32,
    /// For so long at least; then one request may try again.
    #[serde(with = "Seconds")]
    pub eject: Duration,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            path: "/models".to_owned(),
            interval: Duration::from_secs(30),
            timeout: Duration::from_secs(5),
            failures: 3,
            eject: Duration::from_secs(15),
        }
    }
}
