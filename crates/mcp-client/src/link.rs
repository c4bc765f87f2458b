//! The install link: `agent://mcp/install?name=…&config=…`.
