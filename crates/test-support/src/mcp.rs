//! MCP servers to test a client against: those of the official SDKs, and one that misbehaves.
//!
//! The official ones are installed by `cargo xtask test` into `target/peers` of the workspace, in
//! pinned versions. [`hostile`] is the logic of the example program `hostile` of the client.

mod examples;
pub mod hostile;
pub(crate) mod installed;
mod over_http;

pub use examples::{example, hostile_http, hostile_stdio, rmcp_http, rmcp_stdio};
pub use installed::{Launch, everything_stdio, filesystem_stdio, memory_stdio, python_stdio};
pub use over_http::{
    HttpPeer, everything_sse, everything_streamable, python_sse, python_streamable,
};
