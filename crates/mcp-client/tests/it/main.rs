//! The MCP client against real and hostile peers.

mod fleet;
mod hostile;
mod keepalive;
mod network;
mod peers;
mod policy;
mod processes;
mod stateless;
mod support;
mod tls;
