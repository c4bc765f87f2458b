//! The MCP client against real and hostile peers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod callback;
mod client_document;
mod hostile;
mod keepalive;
mod lost_calls;
mod many_servers;
mod network;
mod oauth;
mod policy;
mod processes;
mod sdk_servers;
mod server_tasks;
mod stateless;
mod support;
mod tls;
mod watching;
