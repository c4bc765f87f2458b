//! The authorization server of the official Python SDK, in front of an MCP server of the same SDK.

use std::ops::Deref;

use serde_json::{Value, json};

use super::process::{AuthServer, Process};
use crate::mcp::installed::python_script;

/// The authorization server of the Python SDK, and an MCP server behind it, on one port.
///
/// - The MCP server supports Streamable HTTP in both protocol generations; its one tool is
///   `echo(text)`. A token must have the scope `mcp:read` and be for the resource
///   [`mcp_url`](AuthServer::mcp_url).
/// - It offers dynamic registration (`none`, `client_secret_post`, `client_secret_basic`), PKCE
///   with S256, and revocation; not `iss` on redirects, client metadata documents, or
///   introspection.
/// - There are no pages: the authorization endpoint redirects at once, so [`visit`](super::visit)
///   is a whole login. A `redirect_uri` must be registered with its port.
/// - Every refresh gives a new refresh token. Reuse of an old one ends the whole login.
/// - It serves hundreds of refreshes a second over one connection.
#[derive(Debug)]
pub struct PythonOauth {
    server: AuthServer,
}

impl PythonOauth {
    /// Starts it with clients that are registered from the start, as the SDK stores them:
    /// `client_id`, `client_secret`, `redirect_uris`, `token_endpoint_auth_method` and so on.
    pub fn start(clients: &[Value]) -> Self {
        let mut launch = python_script("oauth_server.py", &[]);
        launch.env.push(("OAUTH_CLIENTS".to_owned(), json!(clients).to_string()));
        Self { server: AuthServer(Process::start(&launch)) }
    }

    pub fn reused_refresh_tokens(&self) -> u64 {
        self.server.0.control("seen", &Value::Null)["reused"].as_u64().unwrap_or_default()
    }

    /// The number of requests an access token is valid for; `None` means no limit.
    pub fn set_access_uses(&self, uses: Option<u32>) {
        self.server.0.control("settings", &json!({ "access_uses": uses }));
    }
}

impl Deref for PythonOauth {
    type Target = AuthServer;

    fn deref(&self) -> &AuthServer {
        &self.server
    }
}
