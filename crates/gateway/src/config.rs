//! `gateway.yaml`: what an operator configured, read, checked and resolved.
//!
//! [`read`] finds all problems at once; a file with an error yields no [`Config`]. A
//! [`Config`] is complete: every default is filled in, every reference resolved, every alias
//! led to models that exist. Nothing is opened or connected here.

#![expect(missing_docs, reason = "the names of most items explain them")]

mod address;
mod fetch;
mod format;
mod limit;
mod model;
mod observe;
mod price;
mod provider;
mod read;
mod research;
mod route;
mod search;
mod secret;
mod store;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use gateway_store::Calendar;
use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use settings::{Days, Hours, Reader, WholeSeconds, section};

use self::address::Address;
use self::provider::file::ProviderFile;
use self::route::AliasFile;
use self::store::{DatabaseFile, SECRET_FILE};

pub use address::is_loopback;
pub use fetch::{Fetch, MAX_ALLOWED};
pub use limit::{Limits, Media, NewBudget, NewKeys};
pub use model::{Capability, Caps, MAX_MODELS, Model};
pub use observe::{
    AlertEmail, AlertWebhook, Alerts, Level, Log, LogFormat, MAX_RECIPIENTS, MAX_SHARES,
    MailSecurity, Trace,
};
pub use price::{MAX_PRICE_MICROS, MAX_PRICES, Operation, Pattern, Prices};
pub use provider::{
    GGUF, Health, Kind, Local, MAX_HEADERS, MAX_PROVIDERS, Provider, REPEAT_PENALTIES, Responses,
    TEMPERATURES, TOP_PS, Timeouts,
};
pub use read::{Reading, read, reference, schema};
pub use research::{Depth, Research};
pub use route::{Alias, MAX_ALIASES, MAX_TARGETS, Target};
pub use search::{Index, Search, SearchKind, SearchProvider};
pub use secret::{MIN_SECRET_CHARS, Secret};
pub use store::{Artifacts, Database, Downloads, Durability, KeySecret, Storage};

pub const DEFAULT_LISTEN: &str = "127.0.0.1:8930";

section! {
    /// Top-level keys.
    pub struct Config {
        /// Address to listen on.
        #[schemars(with = "Option<String>", extend("default" = DEFAULT_LISTEN))]
        #[schemars(extend("format" = "listen", "x-type" = "address:port"))]
        pub listen: SocketAddr = default_listen(),
        /// Serve `/metrics` only on this address, such as `127.0.0.1:9464`. Without it, `/metrics` is
        /// served on `listen`.
        #[schemars(with = "Option<String>")]
        #[schemars(extend("format" = "listen", "x-type" = "address:port"))]
        pub metrics_listen: Option<SocketAddr>,
        /// URL at which clients reach the service, without a path. Must be https unless the host is
        /// this machine. Default: `http://` and `listen`.
        #[serde(deserialize_with = "address::uri")]
        #[schemars(with = "Option<Address>", extend("format" = "public-url"))]
        pub public_url: Uri,
        /// Database of members, keys and balances: `sqlite:PATH` or `postgres://…`.
        #[schemars(with = "Option<DatabaseFile>")]
        #[schemars(extend("default" = "sqlite:gateway.sqlite3"))]
        pub database: Database,
        /// Storage of generated files: `file:PATH` or `s3://BUCKET/PREFIX`. Default: the folder
        /// `artifacts` next to the SQLite file, or next to this file with PostgreSQL.
        #[schemars(extend("default" = "file:artifacts"))]
        pub artifacts: Storage,
        /// Token of the admin API, at least 32 characters. Without it, the admin API is disabled.
        #[schemars(length(min = MIN_SECRET_CHARS))]
        pub admin_token: Option<Secret>,
        /// Secret for hashing keys, at least 32 characters. Default: the content of `gateway.secret`
        /// next to this file, which is created if it is missing. Changing the secret invalidates all
        /// keys.
        #[schemars(with = "Option<Secret>", length(min = MIN_SECRET_CHARS))]
        pub key_secret: KeySecret,
        /// Providers, by name.
        #[serde(rename = "providers")]
        #[schemars(with = "BTreeMap<String, ProviderFile>")]
        #[schemars(extend("maxProperties" = MAX_PROVIDERS, "x-items" = "providers"))]
        #[schemars(extend("propertyNames" = {"type": "string", "format": "provider-name"}))]
        provider_files: Vec<(String, ProviderFile)>,
        /// Providers of models, in the order of the file.
        #[serde(skip)]
        pub providers: Vec<Provider>,
        /// Aliases, by name.
        #[serde(rename = "models")]
        #[schemars(with = "BTreeMap<String, AliasFile>")]
        #[schemars(extend("maxProperties" = MAX_ALIASES, "x-items" = "aliases"))]
        #[schemars(extend("propertyNames" = {"type": "string", "format": "alias-name"}))]
        alias_files: Vec<(String, AliasFile)>,
        /// Other names for models, in the order of the file.
        #[serde(skip)]
        pub aliases: Vec<Alias>,
        /// Prices of requests.
        pub prices: Prices,
        /// Limits of the service.
        pub limits: Limits,
        /// How to handle `image_url`s with an `http` or `https` URL: `refuse` rejects the request;
        /// `inline` fetches the image, subject to the rules of `fetch`, and sends it inline.
        /// Providers never receive such URLs. `data:` URLs are always accepted.
        #[schemars(extend("x-type" = "`refuse` or `inline`"))]
        pub remote_images: RemoteImages,
        /// How to handle tools on servers that a request names by URL (`server_url` in `tools`,
        /// `mcp_servers`) and that the provider would connect to: `refuse` rejects the request;
        /// `pass` sends them to providers, which could then reach hosts of your network.
        #[schemars(extend("x-type" = "`refuse` or `pass`"))]
        pub remote_tools: RemoteTools,
        /// What to do when the client disconnects after the first byte of a response: `cancel`
        /// cancels the request to the provider, `finish` reads the response to its end. The request
        /// is charged in either case.
        pub on_client_gone: ClientGone,
        /// How long to keep an `Idempotency-Key` and its response, in hours; at most 720.
        #[serde(rename = "idempotency_hours", with = "Hours::<720>")]
        pub idempotency: Duration = Duration::from_hours(24),
        /// How long to keep stored responses, in days; at most 3650.
        #[serde(rename = "responses_days", with = "Days::<3650>")]
        pub responses_kept: Duration = Duration::from_hours(30 * 24),
        /// How long reserved money stays reserved without renewal, for example after a crash.
        #[serde(rename = "hold_lease_seconds", with = "WholeSeconds::<86400>")]
        pub hold_lease: Duration = Duration::from_mins(1),
        /// Time zone in which budgets reset: an IANA name such as `Europe/Berlin`. Days start at
        /// midnight, weeks on Monday.
        #[serde(rename = "time_zone", deserialize_with = "calendar")]
        #[schemars(with = "Option<String>", extend("format" = "time-zone", "default" = "UTC"))]
        pub calendar: Calendar = Calendar::utc(),
        /// Logging.
        pub log: Log,
        /// OpenTelemetry tracing.
        pub trace: Option<Trace>,
        /// Alerts to operators.
        pub alerts: Option<Alerts>,
        /// Research jobs.
        pub research: Research,
        /// Reading of pages.
        pub fetch: Fetch,
        /// Public downloads. Without this section, there are none.
        pub downloads: Option<Downloads>,
        /// Limits of media requests.
        pub media: Media,
        /// Web search.
        pub search: Search,
        /// Access to `/mcp`.
        pub mcp: Mcp,
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientGone {
    #[default]
    Cancel,
    Finish,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemoteImages {
    #[default]
    Refuse,
    Inline,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemoteTools {
    #[default]
    Refuse,
    Pass,
}

section! {
    /// Access to `/mcp`. Every request needs a key. Its `Host` must be an IP address, `localhost`
    /// or the host of `public_url`; its `Origin`, if any, must be `public_url` or this machine.
    #[derive(PartialEq, Eq)]
    pub struct Mcp {
        /// Additional accepted hosts.
        #[schemars(length(max = MAX_ALLOWED))]
        #[schemars(extend("items" = {"type": "string", "format": "host"}, "x-whole" = true))]
        pub allowed_hosts: Vec<String>,
        /// Additional accepted origins.
        #[schemars(length(max = MAX_ALLOWED))]
        #[schemars(extend("items" = {"type": "string", "format": "origin"}, "x-whole" = true))]
        pub allowed_origins: Vec<String>,
    }
}

impl Config {
    /// Fills in what depends on other keys and on the folder of the file, and reports conflicting
    /// keys.
    fn resolve(&mut self, reader: &mut Reader<'_>, folder: &Path) {
        if !reader.is_set("public_url") {
            self.public_url = format!("http://{}", self.listen).parse().unwrap_or_default();
            if reader.is_set("listen") && !self.listen.ip().is_loopback() {
                let message = "other machines can connect, but `public_url` is not set";
                let hint = "set `public_url` to the https URL that clients use";
                reader.warn_of_key("listen", message, hint);
            }
        }
        let files = std::mem::take(&mut self.provider_files);
        let (providers, of_results) = provider::file::providers(files, reader, folder);
        let aliases = route::written(std::mem::take(&mut self.alias_files), reader);
        self.aliases = route::resolve(reader, &aliases, &providers);
        route::check_prices(reader, &self.prices, &providers, &self.aliases);
        self.providers = providers;
        if let Some(email) = self.alerts.as_ref().and_then(|alerts| alerts.email.as_ref()) {
            email.check(reader);
        }
        self.database.resolve(reader, folder);
        self.artifacts.resolve(reader, (&self.database, folder));
        self.search.resolve(of_results, (&self.database, folder));
        if !reader.is_set("key_secret") {
            self.key_secret = KeySecret::File(folder.join(SECRET_FILE));
        }
    }

    /// Public base URL, without a trailing slash.
    pub(crate) fn base_url(&self) -> String {
        self.public_url.to_string().trim_end_matches('/').to_owned()
    }

    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    pub fn alias(&self, name: &str) -> Option<&Alias> {
        self.aliases.iter().find(|alias| alias.name == name)
    }

    /// Price of one request in micro-credits, by the model name from the client. An alias without
    /// a price costs as much as its most expensive target, since the price is held before the
    /// target is known.
    pub fn price_micros(&self, operation: Operation, name: &str) -> i64 {
        let Some(alias) = self.alias(name) else {
            return match name.split_once('/') {
                Some((provider, model)) => self.price_of_model(operation, provider, model),
                None => self.prices.default_of(operation),
            };
        };
        let targets = alias.groups.iter().flatten();
        let dearest = targets
            .map(|target| self.price_of_model(operation, &target.provider, &target.model))
            .max();
        alias
            .price_micros
            .or_else(|| self.prices.of_name(name))
            .or(dearest)
            .unwrap_or_else(|| self.prices.default_of(operation))
    }

    fn price_of_model(&self, operation: Operation, provider: &str, model: &str) -> i64 {
        let known = self.provider(provider).and_then(|provider| {
            provider.models.iter().find(|known| known.id == model)?.price_micros
        });
        known.unwrap_or_else(|| self.prices.of(operation, &format!("{provider}/{model}")))
    }
}

fn default_listen() -> SocketAddr {
    DEFAULT_LISTEN.parse().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], 8930)))
}

fn calendar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Calendar, D::Error> {
    let name = String::deserialize(deserializer)?;
    Calendar::parse(&name).ok_or_else(|| serde::de::Error::custom("unknown time zone"))
}

/// A commented starter `gateway.yaml`.
pub fn example() -> &'static str {
    include_str!("config/example.yaml")
}

#[cfg(test)]
mod tests;
