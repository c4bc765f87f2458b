//! The authorization server of the official Python SDK, in front of an MCP server of the same SDK.

use serde_json::{Value, json};

use super::Seen;
use super::process::Process;
use crate::mcp::installed::python_script;

/// What [`PythonOauth`] is like.
#[derive(Debug, Clone)]
pub struct PythonOptions {
    /// Lifetime of access tokens.
    pub access_seconds: u32,
    /// Clients that are registered from the beginning, as the SDK stores them: `client_id`,
    /// `client_secret`, `redirect_uris`, `token_endpoint_auth_method` and so on.
    pub clients: Vec<Value>,
}

impl Default for PythonOptions {
    fn default() -> Self {
        Self { access_seconds: 3600, clients: Vec::new() }
    }
}

/// The authorization server of the Python SDK, and an MCP server behind it, on one port.
///
/// - The MCP server speaks Streamable HTTP in both eras; its one tool is `echo(text)`. A token must
///   have the scope `mcp:read` and be for the resource [`mcp_url`](Self::mcp_url).
/// - It offers dynamic registration (`none`, `client_secret_post`, `client_secret_basic`), PKCE with
///   S256, and revocation; not `iss` on redirects, nor client metadata documents, nor introspection.
/// - It asks nobody: the authorization endpoint redirects straight back, so that
///   [`visit`](super::visit) is a whole login. A `redirect_uri` must be registered with its port.
/// - Every refresh gives a new refresh token. One that comes a second time ends its whole login.
/// - It is fast: hundreds of refreshes a second over one connection, one after another.
#[derive(Debug)]
pub struct PythonOauth {
    process: Process,
}

impl PythonOauth {
    /// Starts it.
    ///
    /// # Panics
    /// If it is not installed or does not start.
    pub fn start(options: &PythonOptions) -> Self {
        let mut launch = python_script("oauth_server.py", &[]);
        let options =
            json!({ "access_seconds": options.access_seconds, "clients": options.clients });
        launch.env.push(("OAUTH_OPTIONS".to_owned(), options.to_string()));
        Self { process: Process::start(&launch) }
    }

    /// The MCP server.
    pub fn mcp_url(&self) -> &str {
        self.process.address("mcp")
    }

    /// The authorization server.
    pub fn issuer(&self) -> &str {
        self.process.address("issuer")
    }

    /// All requests that came so far, oldest first.
    pub fn requests(&self) -> Vec<Seen> {
        self.process.requests()
    }

    /// The requests to the token endpoint so far.
    pub fn token_requests(&self) -> Vec<Seen> {
        let mut requests = self.requests();
        requests.retain(|request| request.route() == "/token");
        requests
    }

    /// All clients that there are.
    pub fn clients(&self) -> Vec<Value> {
        self.process.clients()
    }

    /// How often a refresh token came that had been used before.
    pub fn reused_refresh_tokens(&self) -> u64 {
        self.process.control("seen", &Value::Null)["reused"].as_u64().unwrap_or_default()
    }

    /// How long access tokens live that are issued from now on.
    pub fn set_access_seconds(&self, seconds: u32) {
        self.process.control("settings", &json!({ "access_seconds": seconds }));
    }

    /// How many requests an access token is good for; `None` is for all while it lives.
    pub fn set_access_uses(&self, uses: Option<u32>) {
        self.process.control("settings", &json!({ "access_uses": uses }));
    }

    /// Forgets all access tokens; refresh tokens stay good.
    pub fn expire_access_tokens(&self) {
        self.process.control("expire_access", &Value::Null);
    }

    /// Forgets all tokens and codes.
    pub fn revoke_everything(&self) {
        self.process.control("revoke_all", &Value::Null);
    }

    /// Forgets all clients: they are refused with `invalid_client` and 401 at the token endpoint.
    pub fn forget_clients(&self) {
        self.process.control("forget_clients", &Value::Null);
    }
}
