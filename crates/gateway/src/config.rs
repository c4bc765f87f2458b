//! `gateway.yaml`: what an operator configured, read, checked and resolved.
//!
//! [`read`] finds everything that is wrong at once; a file with an error gives no [`Config`]. A
//! [`Config`] is complete: every default is filled in, every reference resolved, every alias led
//! to models that exist. Nothing is opened or connected here.

mod address;
mod alerts;
mod changes;
mod fetch;
mod format;
mod limit;
mod mcp;
mod media;
mod model;
mod observe;
mod page;
mod price;
mod provider;
mod read;
mod research;
mod route;
mod search;
mod secret;
mod store;

use std::net::SocketAddr;
use std::time::Duration;

use gateway_store::Calendar;
use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use address::is_loopback;
pub use alerts::{AlertEmail, AlertWebhook, Alerts, MAX_RECIPIENTS, MAX_SHARES, MailSecurity};
pub use fetch::{Fetch, MAX_ALLOWED};
pub use limit::{Limits, NewBudget, NewKeys};
pub use mcp::Mcp;
pub use media::{Bucket, Downloads, Media};
pub use model::{Capability, Caps, MAX_MODELS, Model};
pub use observe::{Level, Log, LogFormat, Trace};
pub use page::reference;
pub use price::{MAX_PRICE_MICROS, MAX_PRICES, Operation, Pattern, Prices};
pub use provider::{
    GGUF, Health, Kind, Local, MAX_HEADERS, MAX_PROVIDERS, Provider, REPEAT_PENALTIES, Responses,
    TEMPERATURES, TOP_PS, Timeouts,
};
pub use read::{Reading, read, schema};
pub use research::{Depth, Research};
pub use route::{Alias, MAX_ALIASES, MAX_TARGETS, Target};
pub use search::{Index, Search, SearchKind, SearchProvider};
pub use secret::{MIN_SECRET_CHARS, Secret};
pub use store::{Artifacts, Database, Durability, KeySecret};

/// Where the service listens, unless the file says otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8930";

/// All of `gateway.yaml`.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The separate address of `/metrics`, if any.
    pub metrics_listen: Option<SocketAddr>,
    /// How clients reach the service, without a path: https, or http on this machine.
    pub public_url: Uri,
    /// Where members, keys and money are kept.
    pub database: Database,
    /// What holds for media, and where they are kept.
    pub media: Media,
    /// Files that everybody may download, if there are any.
    pub downloads: Option<Downloads>,
    /// What the admin API asks for; without it there is none.
    pub admin_token: Option<Secret>,
    /// What the secrets of keys are hashed with.
    pub key_secret: KeySecret,
    /// Where models are, in the order of the file.
    pub providers: Vec<Provider>,
    /// Other names for models, in the order of the file.
    pub aliases: Vec<Alias>,
    /// What requests cost.
    pub prices: Prices,
    /// How much of everything.
    pub limits: Limits,
    /// What becomes of a request whose client has left after the first byte.
    pub on_client_gone: ClientGone,
    /// What becomes of images that a request only names by an address.
    pub remote_images: RemoteImages,
    /// How long an idempotency key is remembered.
    pub idempotency: Duration,
    /// How long stored responses are kept.
    pub responses_kept: Duration,
    /// How long a hold lives without being renewed.
    pub hold_lease: Duration,
    /// When budgets reset.
    pub calendar: Calendar,
    /// How pages are read.
    pub fetch: Fetch,
    /// Where searches go.
    pub search: Search,
    /// How research jobs are done.
    pub research: Research,
    /// Who may speak to `/mcp`.
    pub mcp: Mcp,
    /// What is logged.
    pub log: Log,
    /// Where traces go, if anywhere.
    pub trace: Option<Trace>,
    /// Alerts to operators, if there are any.
    pub alerts: Option<Alerts>,
}

/// What to do with the provider's response when the client disconnects. The request is charged in
/// either case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClientGone {
    /// Cancel the request to the provider.
    #[default]
    Cancel,
    /// Read the response to its end.
    Finish,
}

/// How to handle images that a request references by URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RemoteImages {
    /// Reject the request.
    #[default]
    Refuse,
    /// Fetch the image, subject to the rules of `fetch`, and send it inline.
    Inline,
}

impl Config {
    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The alias of this name.
    pub fn alias(&self, name: &str) -> Option<&Alias> {
        self.aliases.iter().find(|alias| alias.name == name)
    }

    /// What one request costs in micro-credits, by the name that the client gave. An alias without
    /// a price costs as much as the dearest model it leads to, since the price is held before it is
    /// known which of them answers.
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

/// A commented `gateway.yaml` to begin with.
pub fn example() -> &'static str {
    include_str!("config/example.yaml")
}

#[cfg(test)]
mod tests;
