//! MCP servers as one set of tools: configuration, transports, both protocol eras, supervision,
//! and the registry of what the servers offer.
//!
//! The crate prints nothing, reads neither the environment nor the home directory and opens no
//! browser: it is handed what it needs, and asks through the traits of [`host`].

pub mod client;
pub mod config;
pub mod content;
pub mod error;
pub mod filter;
pub mod guardian;
pub mod host;
pub mod link;
mod message;
pub mod name;
pub mod oauth;
mod process;
pub mod protocol;
pub mod redact;
pub mod registry;
mod router;
pub mod schema;
pub mod session;
pub mod supervise;
pub mod tool;
pub mod transport;
mod url;

pub use client::{Client, Reloaded};
pub use error::{Error, Kind};
pub use message::{Payload, RpcError};
pub use router::{Progress, ProgressSink};
