//! The OAuth credentials of one server: provides tokens and renews them.
//!
//! Renewals are serialized, in this process and across processes: under the file lock the tokens
//! are read again, and a pair that another process has renewed is used instead. Only a definite
//! `invalid_grant` deletes stored tokens.

mod access_token;
mod renewal;
mod unattended;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::HeaderMap;
use tokio::time::Instant;

pub(crate) use self::access_token::AccessToken;
use self::renewal::RenewalError;
use super::assertion::{SigningKey, unix_seconds};
use super::challenge;
use super::discovery::Discovery;
use super::dpop::{DpopKey, ProofAudience};
use super::metadata::{ServerMetadata, covers};
use super::oauth_http::OAuthHttp;
use super::scope;
use super::token::{ClientAuthMethod, OAuthClient, TokenResponse};
use super::token_store::{FileStamp, StoredTokens, TokenStore, UnreadableFile};
use crate::config::{
    Auth, Flow, HttpEndpoint, OauthOptions, ServerEntry, Text, fault_of_client_document,
};
use crate::error::oauth::{Error, Result};
use crate::host::Host;
use crate::sync::lock;
use crate::transport::http_client::challenges;

/// How often the token file is checked for changes by other processes.
const RECHECK_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Credentials {
    pub(super) server: String,
    pub(super) options: OauthOptions,
    host: Arc<Host>,
    pub(super) store: TokenStore,
    pub(super) http: OAuthHttp,
    state: Mutex<CredentialState>,
    /// Held while renewing or signing in.
    pub(super) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct CredentialState {
    held: Option<Arc<AccessToken>>,
    stamp: Option<FileStamp>,
    checked_at: Option<Instant>,
    /// Back-off that the authorization server asked for, and its status.
    not_before: Option<(Instant, u16)>,
    pub(super) declined_at: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientKind {
    Configured(String),
    Document(String),
    /// The registration of an earlier login.
    Registered(String),
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantContext<'a> {
    pub(crate) scope: Option<&'a str>,
    pub(crate) client: &'a str,
    pub(crate) key: Option<&'a DpopKey>,
}

impl Credentials {
    /// The credentials of an entry with `auth: oauth`; `None` for other entries.
    pub(crate) fn of(
        entry: &ServerEntry,
        endpoint: &HttpEndpoint,
        host: &Arc<Host>,
    ) -> Result<Option<Arc<Self>>, crate::Error> {
        let Auth::OAuth(options) = &endpoint.auth else { return Ok(None) };
        let folder = host.token_dir.as_ref().ok_or(Error::NoFolder)?;
        let user_agent = options.user_agent.as_ref().map(Text::value);
        let credentials = Self {
            server: entry.name.clone(),
            options: (**options).clone(),
            host: Arc::clone(host),
            store: TokenStore::new(folder, &entry.name, host),
            http: OAuthHttp::new(endpoint, host, user_agent)?,
            state: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        };
        if let Err(unreadable) = credentials.store.tokens() {
            let advice = if credentials.store.refers_to_keychain() {
                "unlock the keychain, or set `secrets.store: file` and sign in again"
            } else {
                "sign in again"
            };
            credentials.warn(&format!("{unreadable}; {advice}"));
        }
        Ok(Some(Arc::new(credentials)))
    }

    /// The token for the next request; renewed first if it expires soon.
    pub(crate) async fn present(
        self: &Arc<Self>,
    ) -> Result<Option<Arc<AccessToken>>, crate::Error> {
        let Some(held) = self.current() else { return Ok(None) };
        let renewable = held.tokens.refresh_token.is_some() || self.is_unattended();
        if !held.is_old() || !renewable {
            return Ok(Some(held));
        }
        match self.refresh(&held, &[]).await {
            Ok(fresh) => Ok(Some(fresh)),
            Err(RenewalError::SignInNeeded) => Ok(None),
            // The server may still accept it: our clock may be ahead.
            Err(RenewalError::Failed(_)) if !held.is_over() => Ok(Some(held)),
            Err(RenewalError::Failed(error)) => Err(error.into()),
        }
    }

    /// Another token after a refusal; `None` if only a sign-in helps.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        used: Option<&Arc<AccessToken>>,
        refusal: &HeaderMap,
    ) -> Result<Option<Arc<AccessToken>>, crate::Error> {
        let challenges = challenge::parse(&challenges(refusal).unwrap_or_default());
        if let (Some(held), Some(nonce)) = (used, refusal.get("dpop-nonce")) {
            let is_demanded = challenges
                .iter()
                .any(|challenge| challenge.param("error") == Some("use_dpop_nonce"));
            if let (Some(key), Ok(nonce)) = (&held.key, nonce.to_str()) {
                key.store_nonce(ProofAudience::Server, nonce);
                if is_demanded {
                    return Ok(Some(Arc::clone(held)));
                }
            }
        }
        let fresh = match (used, self.current()) {
            (Some(used), Some(now)) if now.tokens.replace(&used.tokens) => Ok(now),
            (None, Some(now)) => Ok(now),
            (Some(used), Some(_)) if self.has_moved(used, &challenges).await => {
                self.clear(used).await?;
                Err(RenewalError::SignInNeeded)
            }
            (Some(used), Some(_)) => self.refresh(used, &challenges).await,
            (None, None) if self.is_unattended() => self.obtain_first(&challenges).await,
            (_, None) => Err(RenewalError::SignInNeeded),
        };
        match fresh {
            Ok(fresh) => Ok(Some(fresh)),
            Err(RenewalError::Failed(error)) if self.is_unattended() => {
                Err(Error::Unattended(Box::new(error)).into())
            }
            Err(RenewalError::Failed(error)) => Err(error.into()),
            Err(RenewalError::SignInNeeded) => Ok(None),
        }
    }

    /// The server refuses even a renewed token: a sign-in may help, an unattended flow cannot.
    pub(crate) fn give_up(&self) -> Result<(), crate::Error> {
        if self.is_unattended() { Err(Error::TokenRejected.into()) } else { Ok(()) }
    }

    /// Whether a sign-in would help: no valid token exists, or it lacks a scope that was never
    /// requested.
    pub(crate) fn sign_in_would_help(&self, error: &crate::Error) -> bool {
        match error {
            crate::Error::SignIn { .. } => !self.is_unattended(),
            crate::Error::Forbidden { challenge: Some(challenge), .. } if !self.is_unattended() => {
                let challenges = challenge::parse(challenge);
                let asked = self.current().and_then(|held| held.requested().map(str::to_owned));
                scope::is_insufficient(&challenges)
                    && scope::challenged_scope(&challenges).is_some_and(|wanted| {
                        !scope::contains_all(&asked.unwrap_or_default(), &wanted)
                    })
            }
            _ => false,
        }
    }

    /// Waits for a new sign-in, in any process. Renewals of the current tokens do not count.
    pub(crate) async fn changed(&self) {
        let (mut stamp, login) = {
            let state = self.state();
            (state.stamp, state.held.as_ref().map(|held| held.tokens.login.clone()))
        };
        loop {
            tokio::time::sleep(RECHECK_INTERVAL).await;
            let now = self.store.stamp();
            if now == stamp {
                continue;
            }
            stamp = now;
            let kept = self.stored_tokens().ok().flatten();
            if kept.is_some_and(|kept| login.as_ref() != Some(&kept.login)) {
                return;
            }
        }
    }

    pub(crate) fn is_unattended(&self) -> bool {
        self.options.flow != Flow::Browser
    }

    /// The configured client. It belongs to the issuer that it was first used with.
    pub(crate) fn configured_client(&self, server: &ServerMetadata) -> Result<Option<OAuthClient>> {
        let Some(id) = self.options.client_id.as_ref().map(|id| id.value().trim().to_owned())
        else {
            return Ok(None);
        };
        let known = self.store.clients().configured.get(&id).cloned();
        match known {
            Some(expected) if expected != server.issuer => {
                return Err(Error::Moved { expected, found: server.issuer.clone() });
            }
            Some(_) => {}
            None => self.store.change_clients(|clients| {
                clients.configured.insert(id.clone(), server.issuer.clone());
            })?,
        }
        let secret = self.options.client_secret.as_ref().map(|secret| secret.value().to_owned());
        let named = self.options.token_endpoint_auth_method.as_ref();
        if let Some(path) = &self.options.private_key {
            let method = ClientAuthMethod::Signed(Arc::new(signing_key(path)?));
            return Ok(Some(OAuthClient { id, secret: None, method }));
        }
        let method =
            match (named.and_then(|named| ClientAuthMethod::of(named.value().trim())), &secret) {
                (Some(method), _) => method,
                (None, Some(_)) => ClientAuthMethod::with_secret(server),
                (None, None) => ClientAuthMethod::None,
            };
        Ok(Some(OAuthClient { id, secret, method }))
    }

    pub(in crate::oauth) fn client_of(
        &self,
        tokens: &StoredTokens,
        server: &ServerMetadata,
    ) -> Result<OAuthClient, RenewalError> {
        if let Some(client) = self.configured_client(server)? {
            // Another client cannot renew these tokens.
            return if client.id == tokens.client_id {
                Ok(client)
            } else {
                Err(RenewalError::SignInNeeded)
            };
        }
        let clients = self.store.clients();
        let known = clients.registrations.get(&tokens.issuer);
        match known.filter(|known| known.client_id == tokens.client_id) {
            Some(known) => {
                let client = known.client();
                self.redact_client_secret(&client);
                Ok(client)
            }
            None => Ok(OAuthClient::public(&tokens.client_id)),
        }
    }

    pub(crate) fn client_kind(&self) -> ClientKind {
        if let Some(id) = &self.options.client_id {
            return ClientKind::Configured(id.shown().to_owned());
        }
        let issuer = self.stored_discovery().map(|found| found.server.issuer);
        let id = self.store.tokens().ok().flatten().map(|tokens| tokens.client_id);
        let clients = self.store.clients();
        let known = issuer.and_then(|issuer| clients.registrations.get(&issuer).cloned());
        match (known, id) {
            (Some(known), _) => ClientKind::Registered(known.client_id),
            (None, Some(id)) if self.is_document(&id) => ClientKind::Document(id),
            _ => ClientKind::Unknown,
        }
    }

    fn is_document(&self, id: &str) -> bool {
        let own = self.options.client_metadata_url.as_ref().map(Text::value);
        if own == Some(id) || self.default_document() == Some(id) {
            return true;
        }
        // A document that the host named at login: no other client id is a URL.
        let clients = self.store.clients();
        let is_registered = clients.registrations.values().any(|known| known.client_id == id);
        !is_registered && fault_of_client_document(id).is_none()
    }

    pub(crate) fn document_refused(&self, document: &str) -> Result<()> {
        self.warn(&format!(
            "the authorization server rejected the client document {document}; registering a \
             client instead"
        ));
        self.store.mark_document_refused()
    }

    pub(crate) fn tokens(
        granted: TokenResponse,
        found: &Discovery,
        asked: GrantContext<'_>,
    ) -> StoredTokens {
        let now = unix_seconds();
        StoredTokens {
            access_token: granted.access_token,
            token_type: if granted.bound { "DPoP".to_owned() } else { "Bearer".to_owned() },
            refresh_token: granted.refresh_token,
            scope: granted.scope.or_else(|| asked.scope.map(str::to_owned)),
            requested_scope: asked.scope.map(str::to_owned),
            expires_at: granted.expires_in.map(|life| now.saturating_add(life)),
            obtained_at: now,
            issuer: found.server.issuer.clone(),
            client_id: asked.client.to_owned(),
            resource: found.resource.clone(),
            key: asked.key.filter(|_| granted.bound).map(DpopKey::to_text),
            login: String::new(),
            renewals: 0,
        }
    }

    pub(crate) fn redact_client_secret(&self, client: &OAuthClient) {
        if let Some(secret) = &client.secret {
            self.redact_rotating("client secret", secret);
        }
    }

    pub(crate) fn redact_rotating(&self, kind: &str, secret: &str) {
        self.host.redactor.add_rotating_secret(&format!("{} {kind}", self.server), secret);
    }

    /// The current tokens, refreshed from disk.
    pub(super) fn current(&self) -> Option<Arc<AccessToken>> {
        let mut state = self.state();
        let now = Instant::now();
        if state.checked_at.is_some_and(|then| now.duration_since(then) < RECHECK_INTERVAL) {
            return state.held.clone();
        }
        state.checked_at = Some(now);
        let stamp = self.store.stamp();
        if state.stamp == stamp {
            return state.held.clone();
        }
        match self.stored_tokens() {
            // The file is older if the last pair could not be written.
            Ok(Some(tokens)) => {
                state.stamp = stamp;
                if state.held.as_ref().is_none_or(|held| !tokens.is_behind(&held.tokens)) {
                    state.held = Some(self.in_use(tokens));
                }
            }
            Ok(None) => {
                state.stamp = stamp;
                state.held = None;
            }
            // The file is damaged; the tokens in memory are still valid.
            Err(_) => state.stamp = stamp,
        }
        state.held.clone()
    }

    /// The stored tokens, if they belong to the configured server: the entry may have got another
    /// URL.
    fn stored_tokens(&self) -> Result<Option<StoredTokens>, UnreadableFile> {
        let tokens = self.store.tokens()?;
        Ok(tokens.filter(|tokens| {
            tokens.resource.is_empty() || covers(&tokens.resource, self.http.server())
        }))
    }

    /// The stored discovery result, if it belongs to the configured server.
    pub(crate) fn stored_discovery(&self) -> Option<Discovery> {
        let known = self.store.metadata();
        known.filter(|found| covers(&found.resource, self.http.server()))
    }

    pub(super) fn hold(&self, tokens: StoredTokens) -> Arc<AccessToken> {
        let held = self.in_use(tokens);
        let mut state = self.state();
        state.held = Some(Arc::clone(&held));
        state.stamp = self.store.stamp();
        state.checked_at = Some(Instant::now());
        held
    }

    fn drop_held(&self) {
        self.state().held = None;
    }

    fn in_use(&self, tokens: StoredTokens) -> Arc<AccessToken> {
        self.redact_rotating("access token", &tokens.access_token);
        if let Some(token) = &tokens.refresh_token {
            self.redact_rotating("refresh token", token);
        }
        let key = tokens.key.as_deref().and_then(DpopKey::from_text);
        Arc::new(AccessToken { tokens, key })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, CredentialState> {
        lock(&self.state)
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.host.redactor.redact(text).into_owned()
    }

    fn warn(&self, text: &str) {
        self.host.warn(&self.server, self.redact(text));
    }

    pub(crate) fn default_document(&self) -> Option<&str> {
        self.host.client_document.as_deref()
    }

    pub(crate) fn client_name(&self) -> String {
        let named = self.options.client_name.as_ref().map(|name| name.value().trim().to_owned());
        named.unwrap_or_else(|| self.host.identity.name.clone())
    }
}

fn signing_key(path: &Text) -> Result<SigningKey> {
    let pem = read_file("private_key", path)?;
    SigningKey::read(&pem)
        .map_err(|reason| bad_file("private_key", path, &format!("is not usable: {reason}")))
}

/// Reads the file that an option names.
fn read_file(option: &str, path: &Text) -> Result<Vec<u8>> {
    let bad = |error| bad_file(option, path, &format!("cannot be read: {error}"));
    std::fs::read(path.value()).map_err(bad)
}

fn bad_file(option: &str, path: &Text, problem: &str) -> Error {
    Error::Assertion { reason: format!("`{option}` {} {problem}", path.shown()) }
}

#[cfg(test)]
mod tests;
