//! The MCP client against real and hostile peers.
