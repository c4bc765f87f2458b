//! The MCP client against real and hostile peers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod callback;
mod client_document;
mod fleet;
mod hostile;
mod keepalive;
mod lost;
mod network;
mod oauth;
mod peers;
mod policy;
mod processes;
mod server_tasks;
mod stateless;
mod support;
mod tls;
mod watching;
