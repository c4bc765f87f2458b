//! MCP servers as one set of tools: configuration, transports, both protocol eras, supervision, and
//! the registry of tools.
//!
//! The crate prints nothing, reads neither the environment nor the home directory and opens no
//! browser: the embedding program provides these through [`host`].
#![expect(missing_docs, reason = "the names of most items explain them")]

pub mod client;
pub mod config;
pub mod content;
pub mod error;
pub mod filter;
pub mod guardian;
pub mod host;
pub mod install_link;
mod message;
pub mod oauth;
mod process;
pub mod protocol;
pub mod redact;
pub mod registry;
mod router;
pub mod schema;
pub mod server_log;
pub mod session;
pub mod supervisor;
mod sync;
pub mod tool;
pub mod tool_name;
pub mod transport;
mod url;

pub use client::{Client, ReloadReport};
pub use error::{Error, ErrorKind};
pub use message::{RawJson, RpcError};
pub use router::{Progress, ProgressSink};
