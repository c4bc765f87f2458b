//! MCP servers to test a client against: those of the official SDKs, and one that misbehaves.
//!
//! `cargo xtask test` installs the official ones in pinned versions into `target/peers`.
//! [`hostile`] is the logic of the client's example program `hostile`.

mod examples;
pub mod hostile;
pub(crate) mod installed;
mod over_http;

pub use examples::{example, hostile_http, hostile_stdio, rmcp_http, rmcp_stdio};
pub use installed::{
    ServerCommand, everything_stdio, filesystem_stdio, memory_stdio, python_stdio,
};
pub use over_http::{
    HttpPeer, everything_sse, everything_streamable, python_sse, python_streamable,
};
