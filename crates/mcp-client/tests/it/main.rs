//! The MCP client against real and hostile peers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod fleet;
mod hostile;
mod peers;
mod processes;
mod stateless;
mod support;
mod tls;
