//! The member service: keys, charging, models, chat, responses.
//!
//! The server (`server`) accepts a request, a handler (`endpoints`) authenticates its key, its price
//! is held (`billing`), an upstream answers (`proxy`, `provider`), and it is charged before its answer
//! is complete. The caller owns the socket, the store and the stop signal: [`serve`].
#![expect(missing_docs, reason = "the names of most items explain them")]

mod alerts;
mod background;
mod billing;
pub mod budget;
mod caps;
mod catalogue;
mod clock;
pub mod config;
pub mod downloads;
mod endpoints;
mod failure;
mod identity;
mod images;
pub mod key_secret;
mod lifecycle;
mod media;
mod metrics;
mod openapi;
pub mod operator;
mod parsing;
pub mod probe;
mod problem;
mod provider;
mod proxy;
mod raw_object;
mod reload;
mod reloader;
mod request_info;
mod request_log;
mod research;
mod response_headers;
pub mod search;
mod server;
mod service;
mod signed_message;
mod start;
mod trace;
mod upkeep;
mod upstream_pool;
mod upstreams;
pub mod usage;
mod web_services;
mod worker_thread;

pub use billing::attempts;
pub use clock::{parse_rfc3339, rfc3339};
pub use identity::KeyHasher;
pub use problem::Problem;
pub use reload::{ConfigFile, Reloaded, Reloads};
pub use server::serve;
pub use service::Service;
pub use start::{Ready, database_location, open_store, parser_limits, prepare};
pub use web_reader::{Resolve, Resolving};
