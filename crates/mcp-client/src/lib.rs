//! MCP servers as one set of tools: configuration, transports, both protocol eras,
//! supervision, and the registry of what the servers offer.
//!
//! The crate prints nothing, reads neither the environment nor the home directory and opens no
//! browser: it is handed what it needs, and asks through the traits of [`host`].

pub mod config;
pub mod content;
pub mod filter;
pub mod name;
pub mod redact;
pub mod registry;
pub mod schema;
pub mod tool;
