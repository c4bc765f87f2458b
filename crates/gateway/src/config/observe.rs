//! Logs, traces and alerts: `log`, `trace` and `alerts`.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::{Reader, Seconds, section};

use super::address::{self, Address, is_loopback};
use super::secret::{MIN_SECRET_CHARS, Secret};

pub const MAX_SHARES: usize = 10;
pub const MAX_RECIPIENTS: usize = 20;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Json,
    Text,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
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

section! {
    /// Alerts to operators by webhook and e-mail. Without this section, there are none. Each alert is
    /// stored first and delivered at least once; failed deliveries are repeated.
    #[derive(PartialEq, Eq)]
    pub struct Alerts {
        /// Alert when this many percent of a balance are used since its last top-up, or of a budget,
        /// or of the spend limit of a key. An empty list disables these alerts.
        #[schemars(length(max = MAX_SHARES))]
        #[schemars(extend("items" = {"type": "integer", "minimum": 1, "maximum": 100}))]
        pub shares: Vec<u32> = vec![80, 95, 100],
        /// Alert when a provider fails its probes, is ejected, or rejects the configured key.
        pub providers: bool = true,
        /// Alert when a check of the ledger finds a wrong figure.
        pub ledger: bool = true,
        /// Wait before the first retry of a failed delivery. Each further wait is four times as long.
        pub retry: Duration as "Seconds" = Duration::from_secs(5),
        /// Webhook that receives alerts.
        pub webhook: Option<AlertWebhook>,
        /// E-mail that alerts are sent by.
        pub email: Option<AlertEmail>,
    }
}

/// A webhook, signed as in Standard Webhooks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct AlertWebhook {
    /// URL that alerts are posted to. Required.
    #[serde(deserialize_with = "address::uri")]
    #[schemars(with = "Address")]
    #[schemars(extend("x-missing" = "set the URL that receives alerts"))]
    pub url: Uri,
    /// Secret for signing, at least 32 characters: `whsec_` and base64, or any text. Required.
    #[schemars(length(min = MIN_SECRET_CHARS))]
    #[schemars(extend("x-missing" = "set a secret of at least 32 characters"))]
    pub secret: Secret,
}

/// A mail server, and who writes to whom.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(transform = section::<Self>)]
pub struct AlertEmail {
    /// Host of the SMTP server. Required.
    #[schemars(extend("x-missing" = "set the host of an SMTP server"))]
    pub host: String,
    /// Port of the SMTP server. Default: 587, with `tls` 465, with `none` 25.
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// Encryption: `starttls`, `tls` from the first byte, or `none`, which is allowed for a server on
    /// this machine only.
    #[serde(default)]
    pub security: MailSecurity,
    /// User name, if the server asks for one.
    pub username: Option<String>,
    /// Password: `${NAME}`.
    pub password: Option<Secret>,
    /// Sender, such as `Gateway <gateway@example.com>`. Required.
    #[schemars(extend("format" = "mailbox", "x-missing" = "set the address of the sender"))]
    pub from: String,
    /// Recipients. Required.
    #[schemars(length(min = 1, max = MAX_RECIPIENTS))]
    #[schemars(extend("items" = {"type": "string", "format": "mailbox"}))]
    #[schemars(extend("x-missing" = "list at least one recipient"))]
    pub to: Vec<String>,
    /// PEM file with additional CA certificates to trust besides the system's.
    #[schemars(extend("format" = "path", "x-wanted" = "the path of a PEM file"))]
    pub tls_ca_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MailSecurity {
    #[default]
    StartTls,
    Tls,
    None,
}

impl AlertEmail {
    /// Passwords and alerts are sent unencrypted only to this machine.
    pub(super) fn check(&self, reader: &mut Reader<'_>) {
        let uri = format!("http://{}", self.host).parse::<Uri>();
        if self.security == MailSecurity::None && !uri.is_ok_and(|uri| is_loopback(&uri)) {
            let message = "`none` is allowed only for a server on this machine";
            reader.refuse_key("alerts.email.security", message, "use `starttls` or `tls`");
        }
        if self.username.is_some() != self.password.is_some() {
            let message = "has only one of `username` and `password`";
            reader.refuse_key("alerts.email", message, "set both, or remove both");
        }
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(match self.security {
            MailSecurity::StartTls => 587,
            MailSecurity::Tls => 465,
            MailSecurity::None => 25,
        })
    }
}
