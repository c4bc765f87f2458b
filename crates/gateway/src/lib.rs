//! The member service: keys, charging, models, chat, responses.
//!
//! A request comes in at the edge (`server`), is recognised by its key, has its price held
//! (`charge`), goes to an upstream (`proxy`, `provider`) and is charged before its answer is
//! given away. The caller owns the socket, the store and the signal to stop: [`serve`].

mod abort_early;
mod apart;
mod background;
mod capability;
mod caps;
mod catalogue;
mod charge;
mod clock;
pub mod config;
pub mod downloads;
mod endpoints;
mod envelope;
mod failure;
mod file_part;
mod identity;
mod images;
pub mod key_secret;
mod lane;
mod mcp;
mod media;
mod meter;
mod openapi;
pub mod operator;
mod parsing;
pub mod probe;
mod problem;
mod provider;
mod proxy;
mod rate;
mod request_log;
mod research;
pub mod search;
mod server;
mod service;
mod start;
mod trace;
pub mod translate;
mod upkeep;
pub mod web;
mod within;

pub use clock::rfc3339;
pub use identity::KeyHasher;
pub use problem::Problem;
pub use server::serve;
pub use service::Service;
pub use start::{Ready, open_store, parser_limits, place, prepare};
