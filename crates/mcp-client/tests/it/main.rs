//! The MCP client against real and hostile peers.

mod fleet;
mod hostile;
mod peers;
mod processes;
mod stateless;
mod support;
mod tls;
