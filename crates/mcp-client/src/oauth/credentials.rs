//! What the transports ask for a token: one keeper of credentials a server.
//!
//! Whoever finds a token refused or old asks for another. One at a time renews it, in this process
//! and among all: under the lock the file is read again, and a pair that somebody else has brought
//! home is taken over instead of being renewed once more. Only a definite `invalid_grant` clears
//! what is kept.

mod held;
mod machine;
mod renewal;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use tokio::time::Instant;

pub(crate) use self::held::Held;
use self::renewal::Stuck;
use super::assertion::SigningKey;
use super::challenge::{self, Challenge};
use super::discovery::Found;
use super::dpop::{Key, Side};
use super::metadata::{ServerMetadata, covers};
use super::scope;
use super::store::{Look, Store, Tokens, Unreadable};
use super::token::{Client, Granted, Method};
use super::wire::Wire;
use crate::config::{
    Auth, Flow, HttpEndpoint, OauthOptions, ServerEntry, Text, fault_of_client_document,
};
use crate::error::oauth::Error;
use crate::host::{Event, Host};

/// How often the file is looked at for what other processes did.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The credentials of one server.
#[derive(Debug)]
pub(crate) struct Credentials {
    server: String,
    options: OauthOptions,
    host: Arc<Host>,
    store: Store,
    wire: Wire,
    state: Mutex<State>,
    /// Who renews or signs in has it.
    pub(super) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    held: Option<Arc<Held>>,
    look: Option<Look>,
    looked_at: Option<Instant>,
    /// Nothing is asked of the authorization server before, because it answered so.
    not_before: Option<(Instant, u16)>,
    /// When a sign-in last failed.
    pub(super) declined_at: Option<Instant>,
}

/// How we are known to an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientKind {
    /// By the client of the entry.
    Configured(String),
    /// By a document of ours.
    Document(String),
    /// By a registration of an earlier login.
    Registered(String),
    /// Not yet.
    Unknown,
}

/// What a grant was asked with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) scope: Option<&'a str>,
    pub(crate) client: &'a str,
    pub(crate) key: Option<&'a Key>,
}

impl Credentials {
    /// Of an entry that signs in; none for all others.
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
            store: Store::new(folder, &entry.name),
            wire: Wire::new(endpoint, host, user_agent)?,
            state: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        };
        if let Err(unreadable) = credentials.store.tokens() {
            credentials.warn(&format!("{unreadable}; sign in again"));
        }
        Ok(Some(Arc::new(credentials)))
    }

    /// The token for the next request; one that is about to end is renewed first.
    pub(crate) async fn present(self: &Arc<Self>) -> Result<Option<Arc<Held>>, crate::Error> {
        let Some(held) = self.current() else { return Ok(None) };
        let renewable = held.tokens.refresh_token.is_some() || self.is_alone();
        if !held.is_old() || !renewable {
            return Ok(Some(held));
        }
        match self.refresh(&held, &[]).await {
            Ok(fresh) => Ok(Some(fresh)),
            Err(Stuck::Person) => Ok(None),
            // It still counts: whoever judges it may be kinder than our clock.
            Err(Stuck::Failed(_)) if !held.is_over() => Ok(Some(held)),
            Err(Stuck::Failed(error)) => Err(error.into()),
        }
    }

    /// Another token after one was refused, or the lack of one; none if only a person can help.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        used: Option<&Arc<Held>>,
        refusal: &HeaderMap,
    ) -> Result<Option<Arc<Held>>, crate::Error> {
        let challenges = challenges(refusal);
        if let (Some(held), Some(nonce)) = (used, refusal.get("dpop-nonce")) {
            let is_demanded = challenges
                .iter()
                .any(|challenge| challenge.param("error") == Some("use_dpop_nonce"));
            if let (Some(key), Ok(nonce)) = (&held.key, nonce.to_str()) {
                key.keep_nonce(Side::Server, nonce);
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
                Err(Stuck::Person)
            }
            (Some(used), Some(_)) => self.refresh(used, &challenges).await,
            (None, None) if self.is_alone() => self.begin_alone(&challenges).await,
            (_, None) => Err(Stuck::Person),
        };
        match fresh {
            Ok(fresh) => Ok(Some(fresh)),
            Err(Stuck::Failed(error)) if self.is_alone() => {
                Err(Error::Alone(Box::new(error)).into())
            }
            Err(Stuck::Failed(error)) => Err(error.into()),
            Err(Stuck::Person) => Ok(None),
        }
    }

    /// Even what was just renewed is refused: a person may help, a program cannot help itself.
    pub(crate) fn give_up(&self) -> Result<(), crate::Error> {
        if self.is_alone() { Err(Error::NotTaken.into()) } else { Ok(()) }
    }

    /// Whether a sign-in could help: there is no good token, or one that lacks a scope that was
    /// never asked for.
    pub(crate) fn could_help(&self, error: &crate::Error) -> bool {
        match error {
            crate::Error::SignIn { .. } => !self.is_alone(),
            crate::Error::Forbidden { challenge: Some(challenge), .. } if !self.is_alone() => {
                let challenges = challenge::parse(challenge);
                let asked = self.current().and_then(|held| held.requested().map(str::to_owned));
                scope::is_insufficient(&challenges)
                    && scope::challenged(&challenges)
                        .is_some_and(|wanted| !scope::has_all(&asked.unwrap_or_default(), &wanted))
            }
            _ => false,
        }
    }

    /// Waits until somebody has signed in, here or elsewhere. That others renew the tokens that are
    /// of no use is no news.
    pub(crate) async fn changed(&self) {
        let (mut look, login) = {
            let state = self.state();
            (state.look, state.held.as_ref().map(|held| held.tokens.login.clone()))
        };
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let now = self.store.look();
            if now == look {
                continue;
            }
            look = now;
            let kept = self.kept().ok().flatten();
            if kept.is_some_and(|kept| login.as_ref() != Some(&kept.login)) {
                return;
            }
        }
    }

    /// Whether no person is needed to sign in.
    pub(crate) fn is_alone(&self) -> bool {
        self.options.flow != Flow::Browser
    }

    /// The client of the entry, if it names one. It belongs to the issuer it was first used with.
    pub(crate) fn configured_client(
        &self,
        server: &ServerMetadata,
    ) -> Result<Option<Client>, Error> {
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
            let method = Method::Signed(Arc::new(signing_key(path)?));
            return Ok(Some(Client { id, secret: None, method }));
        }
        let method = match (named.and_then(|named| Method::of(named.value().trim())), &secret) {
            (Some(method), _) => method,
            (None, Some(_)) => Method::with_secret(server),
            (None, None) => Method::None,
        };
        Ok(Some(Client { id, secret, method }))
    }

    /// Who the tokens were granted to.
    fn client_of(&self, tokens: &Tokens, server: &ServerMetadata) -> Result<Client, Stuck> {
        if let Some(client) = self.configured_client(server)? {
            // Another client than that of the tokens cannot renew them.
            return if client.id == tokens.client_id { Ok(client) } else { Err(Stuck::Person) };
        }
        let clients = self.store.clients();
        let known = clients.registrations.get(&tokens.issuer);
        match known.filter(|known| known.client_id == tokens.client_id) {
            Some(known) => {
                let client = known.client();
                self.learn(&client);
                Ok(client)
            }
            None => Ok(Client::public(&tokens.client_id)),
        }
    }

    /// As [`Credentials::client_of`], for who only wants to give tokens back.
    pub(crate) fn client_for(
        &self,
        tokens: &Tokens,
        server: &ServerMetadata,
    ) -> Result<Client, ()> {
        self.client_of(tokens, server).map_err(drop)
    }

    /// How we are known where the tokens come from, or would be.
    pub(crate) fn client_kind(&self) -> ClientKind {
        if let Some(id) = &self.options.client_id {
            return ClientKind::Configured(id.shown().to_owned());
        }
        let issuer = self.known().map(|found| found.server.issuer);
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
        // A document that the host named at the login: no other client of ours is an address.
        let clients = self.store.clients();
        let is_registered = clients.registrations.values().any(|known| known.client_id == id);
        !is_registered && fault_of_client_document(id).is_none()
    }

    /// Records that an authorization server refused our document.
    pub(crate) fn document_refused(&self, document: &str) -> Result<(), Error> {
        self.warn(&format!(
            "the authorization server refused the client document {document}; registering instead"
        ));
        self.store.refuse_document()
    }

    /// What was granted, dated, and known to the redactor.
    pub(crate) fn tokens(granted: Granted, found: &Found, asked: Asked<'_>) -> Tokens {
        let now = now();
        Tokens {
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
            key: asked.key.filter(|_| granted.bound).map(Key::to_text),
            login: String::new(),
            renewals: 0,
        }
    }

    /// Lets the redactor know a client's secret.
    pub(crate) fn learn(&self, client: &Client) {
        if let Some(secret) = &client.secret {
            self.host.redactor.learn_rotating(&format!("{} client secret", self.server), secret);
        }
    }

    /// Lets the redactor know a code and its verifier.
    pub(crate) fn learn_code(&self, code: &str, verifier: &str) {
        let redactor = &self.host.redactor;
        redactor.learn_rotating(&format!("{} code", self.server), code);
        redactor.learn_rotating(&format!("{} code verifier", self.server), verifier);
    }

    /// Lets the redactor know a statement about us.
    pub(crate) fn learn_statement(&self, text: &str) {
        self.host.redactor.learn_rotating(&format!("{} assertion", self.server), text);
    }

    /// The tokens in use, as they are on disk now.
    pub(super) fn current(&self) -> Option<Arc<Held>> {
        let mut state = self.state();
        let now = Instant::now();
        if state.looked_at.is_some_and(|then| now.duration_since(then) < LOOK_AGAIN) {
            return state.held.clone();
        }
        state.looked_at = Some(now);
        let look = self.store.look();
        if state.look == look {
            return state.held.clone();
        }
        match self.kept() {
            // The file is behind when the last pair could not be written.
            Ok(Some(tokens)) => {
                state.look = look;
                if state.held.as_ref().is_none_or(|held| !tokens.is_behind(&held.tokens)) {
                    state.held = Some(self.in_use(tokens));
                }
            }
            Ok(None) => {
                state.look = look;
                state.held = None;
            }
            // Somebody damaged the file: what we have is still good.
            Err(_) => state.look = look,
        }
        state.held.clone()
    }

    /// The tokens on disk, if they are for the server as it is configured now: an entry may have
    /// got another address since.
    fn kept(&self) -> Result<Option<Tokens>, Unreadable> {
        let tokens = self.store.tokens()?;
        Ok(tokens.filter(|tokens| {
            tokens.resource.is_empty() || covers(&tokens.resource, self.wire.server())
        }))
    }

    /// What was found out about the server as it is configured now.
    pub(crate) fn known(&self) -> Option<Found> {
        let known = self.store.metadata();
        known.filter(|found| covers(&found.resource, self.wire.server()))
    }

    pub(super) fn hold(&self, tokens: Tokens) -> Arc<Held> {
        let held = self.in_use(tokens);
        let mut state = self.state();
        state.held = Some(Arc::clone(&held));
        state.look = self.store.look();
        state.looked_at = Some(Instant::now());
        held
    }

    fn drop_held(&self) {
        self.state().held = None;
    }

    fn in_use(&self, tokens: Tokens) -> Arc<Held> {
        let redactor = &self.host.redactor;
        redactor.learn_rotating(&format!("{} access token", self.server), &tokens.access_token);
        if let Some(token) = &tokens.refresh_token {
            redactor.learn_rotating(&format!("{} refresh token", self.server), token);
        }
        let key = tokens.key.as_deref().and_then(Key::from_text);
        Arc::new(Held { tokens, key })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A text as it may be shown.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.host.redactor.clean(text).into_owned()
    }

    fn warn(&self, text: &str) {
        let text = self.clean(text);
        self.host.observer.event(Event::Warning { server: self.server.clone(), text });
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn options(&self) -> &OauthOptions {
        &self.options
    }

    pub(crate) fn default_document(&self) -> Option<&str> {
        self.host.client_document.as_deref()
    }

    pub(crate) fn client_name(&self) -> String {
        let named = self.options.client_name.as_ref().map(|name| name.value().trim().to_owned());
        named.unwrap_or_else(|| self.host.identity.name.clone())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }
}

fn signing_key(path: &Text) -> Result<SigningKey, Error> {
    let bad = |reason: String| Error::Assertion {
        reason: format!("`private_key` {} {reason}", path.shown()),
    };
    let pem = std::fs::read(path.value());
    let pem = pem.map_err(|error| bad(format!("cannot be read: {error}")))?;
    SigningKey::read(&pem).map_err(|reason| bad(format!("cannot be used: {reason}")))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// The challenges of a refusal, from all its headers.
fn challenges(refusal: &HeaderMap) -> Vec<Challenge> {
    let values = refusal.get_all(WWW_AUTHENTICATE).iter();
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    challenge::parse(&texts.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::config::Endpoint;

    #[tokio::test(start_paused = true)]
    async fn a_sign_in_just_before_the_wait_for_one_ends_it_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut endpoint = HttpEndpoint::new("http://127.0.0.1:9/mcp");
        endpoint.auth = Auth::OAuth(Box::default());
        let entry = ServerEntry::new("s", Endpoint::Http(Box::new(endpoint.clone())));
        let token_dir = Some(folder.path().to_owned());
        let host = Arc::new(Host { token_dir, ..Host::bare(BTreeMap::new()) });
        let credentials = Credentials::of(&entry, &endpoint, &host).unwrap().unwrap();
        assert!(credentials.current().is_none());
        let tokens = serde_json::from_value(json!({ "access_token": "t" })).unwrap();
        credentials.store.save_tokens(&tokens).unwrap();
        tokio::time::timeout(Duration::from_mins(1), credentials.changed()).await.unwrap();
        assert!(credentials.current().is_some());
    }
}
