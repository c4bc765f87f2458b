//! The sign-in of one server for commands: log in, show the status, log out.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method};
use tokio::time::Instant;

use super::credentials::{ClientKind, Credentials};
use super::login::{LoginOptions, SignInRequest};
use super::oauth_http::{FormTarget, REQUEST_TIMEOUT};
use super::token_store::StoredTokens;
use crate::config::{Endpoint, HttpEndpoint, HttpTransport, ServerEntry};
use crate::host::{Browser, Host};
use crate::message::{self, Params};
use crate::protocol::initialize_params;
use crate::transport::http_client::{EVENTS, HttpClient, JSON, JSON_OR_EVENTS, challenges};

const REVOKE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Account {
    entry: Arc<ServerEntry>,
    host: Arc<Host>,
    credentials: Arc<Credentials>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInStatus {
    pub file: PathBuf,
    pub granted: Option<Grant>,
    /// The file refers to the keychain.
    pub in_keychain: bool,
    /// Why an existing file cannot be used.
    pub unreadable: Option<String>,
    pub client: ClientKind,
    pub document_refused: bool,
}

/// A grant without its secrets. Times are Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub issuer: String,
    pub client_id: String,
    pub scope: Option<String>,
    pub requested: Option<String>,
    pub expires_at: Option<u64>,
    pub obtained_at: u64,
    pub renewable: bool,
    /// Bound to a key (`DPoP`).
    pub bound: bool,
}

impl Account {
    /// The account of an entry with `auth: oauth`; `None` for other entries.
    pub fn of(entry: &ServerEntry, host: &Arc<Host>) -> Result<Option<Self>, crate::Error> {
        let Endpoint::Http(endpoint) = &entry.endpoint else { return Ok(None) };
        let credentials = Credentials::of(entry, endpoint, host)?;
        Ok(credentials.map(|credentials| {
            let (entry, host) = (Arc::new(entry.clone()), Arc::clone(host));
            Self { entry, host, credentials }
        }))
    }

    /// Signs in again. Stored tokens stay until the new sign-in succeeds, and a refused client
    /// document is tried again.
    pub async fn login(
        &self,
        browser: &dyn Browser,
        options: LoginOptions<'_>,
    ) -> Result<(), crate::Error> {
        let store = &self.credentials.store;
        let anew = store.has_refused_document();
        store.clear_refused_document()?;
        let since = Instant::now();
        let done = async {
            let challenge = self.challenge().await?;
            let challenge = challenge.as_deref();
            if self.credentials.is_unattended() {
                return self.credentials.obtain_anew(challenge).await;
            }
            let request = SignInRequest { since, anew, options };
            self.credentials.sign_in(browser, challenge, request).await
        };
        done.await.map_err(|error| error.redacted(&self.host.redactor))
    }

    /// Deletes the tokens, after revoking them if the authorization server supports it.
    pub async fn logout(&self) -> Result<LogoutReport, crate::Error> {
        let store = &self.credentials.store;
        let tokens = store.tokens().ok().flatten();
        let revoked = match &tokens {
            Some(tokens) => {
                let revoked = self.credentials.revoke(tokens);
                tokio::time::timeout(REVOKE_TIMEOUT, revoked).await.unwrap_or(false)
            }
            None => false,
        };
        let had_tokens = self.has_files();
        let _lock = store.lock().await?;
        store.forget()?;
        Ok(LogoutReport { had_tokens, revoked })
    }

    /// The prefix of its file names: see [`super::token_files`].
    pub fn stem(&self) -> &str {
        self.credentials.store.stem()
    }

    pub fn has_files(&self) -> bool {
        self.credentials.store.has_files()
    }

    pub fn status(&self) -> SignInStatus {
        let store = &self.credentials.store;
        let (tokens, unreadable) = match store.tokens() {
            Ok(tokens) => (tokens, None),
            Err(unreadable) => (None, Some(unreadable.reason)),
        };
        SignInStatus {
            file: store.tokens_path(),
            in_keychain: store.refers_to_keychain(),
            granted: tokens.map(|tokens| Grant {
                issuer: tokens.issuer,
                client_id: tokens.client_id,
                scope: tokens.scope,
                requested: tokens.requested_scope,
                expires_at: tokens.expires_at,
                obtained_at: tokens.obtained_at,
                renewable: tokens.refresh_token.is_some(),
                bound: tokens.key.is_some(),
            }),
            unreadable,
            client: self.credentials.client_kind(),
            document_refused: store.has_refused_document(),
        }
    }

    /// The challenge that the server sends to a request without a token.
    async fn challenge(&self) -> Result<Option<String>, crate::Error> {
        let Endpoint::Http(endpoint) = &self.entry.endpoint else { return Ok(None) };
        let asked = self.ask_without_token(endpoint);
        let within = REQUEST_TIMEOUT.min(self.entry.connect_timeout);
        let Ok(answer) = tokio::time::timeout(within, asked).await else { return Ok(None) };
        Ok(challenges(&answer?))
    }

    async fn ask_without_token(&self, endpoint: &HttpEndpoint) -> Result<HeaderMap, crate::Error> {
        let mut plain = endpoint.clone();
        plain.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        let client = HttpClient::new(&plain, &self.host)?;
        let (method, headers, body) = match endpoint.transport {
            HttpTransport::Sse => {
                (Method::GET, HeaderMap::from_iter([(ACCEPT, EVENTS)]), Bytes::new())
            }
            HttpTransport::Streamable => {
                let params = initialize_params(&self.entry, &self.host);
                let body = message::request(0, "initialize", &params, &Params::default());
                let headers = [(ACCEPT, JSON_OR_EVENTS), (CONTENT_TYPE, JSON)];
                (Method::POST, HeaderMap::from_iter(headers), body)
            }
        };
        let response = client.follow(&method, client.url(), &headers, body).await?;
        Ok(response.headers().clone())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogoutReport {
    pub had_tokens: bool,
    pub revoked: bool,
}

impl Credentials {
    /// Revokes tokens (RFC 7009). Whether the refresh token, or else the access token, was
    /// accepted.
    async fn revoke(&self, tokens: &StoredTokens) -> bool {
        // The issuer of the tokens revokes them, even if the server has moved since.
        let Some(found) = self.store.metadata() else { return false };
        let Some(endpoint) = found.server.revocation_endpoint.clone() else { return false };
        if found.server.issuer != tokens.issuer {
            return false;
        }
        let Ok(client) = self.client_of(tokens, &found.server) else { return false };
        let refresh_token = tokens.refresh_token.iter().map(|token| ("refresh_token", token));
        let mut accepted = Vec::new();
        for (kind, token) in refresh_token.chain([("access_token", &tokens.access_token)]) {
            let mut form: Vec<(&str, Cow<'_, str>)> =
                vec![("token", token.into()), ("token_type_hint", kind.into())];
            let Ok(headers) = client.prove(&mut form, &found.server.issuer) else { return false };
            let sent = self.http.post_form(FormTarget::Other, &endpoint, headers, &form).await;
            accepted.push(sent.is_ok_and(|reply| reply.is_success()));
        }
        accepted.first().copied().unwrap_or(false)
    }
}
