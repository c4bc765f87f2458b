//! What the transports ask for a token: one keeper of credentials a server.
//!
//! Whoever finds a token refused or old asks for another. One at a time renews it, in this process
//! and among all: under the lock the file is read again, and a pair that somebody else has brought
//! home is taken over instead of being renewed once more. Only a definite `invalid_grant` clears
//! what is kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, Method as Verb, Uri};
use tokio::time::Instant;

use super::account::ClientKind;
use super::assertion::SigningKey;
use super::challenge::{self, Challenge};
use super::discovery::{self, Found, Hints};
use super::dpop::{Key, Side};
use super::error::Error;
use super::identification::Driver;
use super::login::Login;
use super::metadata::ServerMetadata;
use super::scope::{self, Wishes};
use super::store::{Look, Store, Tokens};
use super::token::{Client, Endpoint, Granted, Method};
use super::wire::Wire;
use crate::config::{Auth, Flow, HttpEndpoint, OauthOptions, ServerEntry, Text};
use crate::host::{Browser, Event, Host};

/// How often the file is looked at for what other processes did.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// A token is renewed so long before its end, unless its whole life is short.
const EARLY_SECONDS: u64 = 60;
/// How far a clock may be set back before what it dated is doubted.
const SKEW_SECONDS: u64 = 300;
/// How long nothing is asked of a server that wants to be left alone but does not say how long.
const REST: Duration = Duration::from_secs(5);

/// How often one request brings a person to sign in.
const MAX_SIGN_INS: u32 = 2;

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
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Arc<Held>>,
    look: Option<Look>,
    looked_at: Option<Instant>,
    /// Nothing is asked of the authorization server before.
    not_before: Option<Instant>,
}

/// Tokens in use.
#[derive(Debug)]
pub(crate) struct Held {
    tokens: Tokens,
    key: Option<Key>,
}

/// What a grant was asked with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) scope: Option<&'a str>,
    pub(crate) client: &'a str,
    pub(crate) key: Option<&'a Key>,
}

/// Why there is no other token.
enum Stuck {
    /// Only a person can help.
    Person,
    /// It may work later.
    Failed(Error),
}

impl From<Error> for Stuck {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
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
            credentials.warn(format!("{unreadable}; sign in again"));
        }
        Ok(Some(Arc::new(credentials)))
    }

    /// The token for the next request; one that is about to end is renewed first.
    pub(crate) async fn present(&self) -> Result<Option<Arc<Held>>, crate::Error> {
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
        &self,
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
        let now = self.current();
        match (used, now) {
            (Some(used), Some(now)) if now.tokens.access_token != used.tokens.access_token => {
                Ok(Some(now))
            }
            (None, Some(now)) => Ok(Some(now)),
            (Some(used), Some(_)) => {
                if self.has_moved(used, &challenges).await {
                    let _turn = self.turn.lock().await;
                    self.clear().await?;
                    return Ok(None);
                }
                match self.refresh(used, &challenges).await {
                    Ok(fresh) => Ok(Some(fresh)),
                    Err(Stuck::Person) => Ok(None),
                    Err(Stuck::Failed(error)) => Err(error.into()),
                }
            }
            (None, None) if self.is_alone() => self.begin_alone(&challenges).await.map(Some),
            (_, None) => Ok(None),
        }
    }

    /// Signs in with the help of a person. What is held afterwards is new.
    pub(crate) async fn sign_in(
        &self,
        browser: &dyn Browser,
        driver: Driver,
        challenge: Option<&str>,
        scope: Option<&str>,
    ) -> Result<(), crate::Error> {
        let seen = self.current().map(|held| held.tokens.access_token.clone());
        let _turn = self.turn.lock().await;
        let held = self.current();
        if held.as_ref().map(|held| &held.tokens.access_token) != seen.as_ref() {
            return Ok(());
        }
        let challenges = challenge.map(challenge::parse).unwrap_or_default();
        let before = scope::is_insufficient(&challenges)
            .then(|| held.as_ref().and_then(|held| held.requested().map(str::to_owned)))
            .flatten();
        let configured = self.options.scope.as_ref().map(|scope| scope.value().trim());
        let wishes = Wishes {
            configured: scope.or(configured),
            challenges: &challenges,
            before: before.as_deref(),
        };
        let tokens = Login { credentials: self, browser, driver, wishes }.run().await?;
        self.hold(tokens);
        Ok(())
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

    /// Waits until the kept tokens are others than now.
    pub(crate) async fn changed(&self) {
        let before = self.store.look();
        while self.store.look() == before {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Renews one pair of tokens, once among all who want it.
    async fn refresh(&self, used: &Held, challenges: &[Challenge]) -> Result<Arc<Held>, Stuck> {
        let _turn = self.turn.lock().await;
        match self.current() {
            Some(now) if now.tokens.access_token != used.tokens.access_token => return Ok(now),
            Some(_) => {}
            None => return Err(Stuck::Person),
        }
        if used.tokens.refresh_token.is_none() && !self.is_alone() {
            return Err(Stuck::Person);
        }
        self.may_ask()?;
        let lock = self.store.lock().await?;
        // Somebody else may have renewed them while we waited.
        match self.store.tokens() {
            Ok(Some(kept)) if kept.access_token != used.tokens.access_token => {
                return Ok(self.hold(kept));
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => {
                self.drop_held();
                return Err(Stuck::Person);
            }
        }
        let Some(refresh_token) = used.tokens.refresh_token.clone() else {
            let tokens = self.obtain(challenges).await?;
            self.store.save_tokens(&tokens)?;
            return Ok(self.hold(tokens));
        };
        let found = self.found(&used.tokens).await?;
        let client = self.client_of(&used.tokens, &found.server)?;
        let room = self.store.reserve_tokens()?;
        let mut grant = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token.as_str()),
            ("resource", found.resource.as_str()),
        ];
        grant.extend(used.tokens.scope.as_deref().map(|scope| ("scope", scope)));
        let (wire, server) = (&self.wire, &found.server);
        let endpoint = Endpoint { wire, server, client: &client, key: used.key.as_ref() };
        let granted = match endpoint.request(&grant).await {
            Ok(granted) => granted,
            Err(error) => return Err(self.not_renewed(error, used, &client)),
        };
        let scope = used.requested();
        let asked = Asked { scope, client: &client.id, key: used.key.as_ref() };
        let mut tokens = self.tokens(granted, &found, asked);
        tokens.refresh_token = tokens.refresh_token.or(Some(refresh_token));
        tokens.scope = tokens.scope.or_else(|| used.tokens.scope.clone());
        if let Err(error) = self.store.save_reserved(room, &tokens) {
            self.warn(format!("the renewed token could not be kept: {error}"));
        }
        drop(lock);
        Ok(self.hold(tokens))
    }

    /// The first tokens of a program that signs in by itself.
    async fn begin_alone(&self, challenges: &[Challenge]) -> Result<Arc<Held>, crate::Error> {
        let _turn = self.turn.lock().await;
        if let Some(now) = self.current() {
            return Ok(now);
        }
        let _lock = self.store.lock().await?;
        if let Ok(Some(kept)) = self.store.tokens() {
            return Ok(self.hold(kept));
        }
        let tokens = self.obtain(challenges).await?;
        self.store.save_tokens(&tokens)?;
        Ok(self.hold(tokens))
    }

    /// Whether no person is needed to sign in.
    pub(crate) fn is_alone(&self) -> bool {
        self.options.flow != Flow::Browser
    }

    /// What a failed renewal means. The lock is held.
    fn not_renewed(&self, error: Error, used: &Held, client: &Client) -> Stuck {
        if error.is_refusal("invalid_grant") {
            // A last look: only what was refused is cleared.
            return match self.store.tokens() {
                Ok(Some(kept)) if kept.access_token != used.tokens.access_token => {
                    self.hold(kept);
                    Stuck::Failed(error)
                }
                _ => {
                    self.warn(format!("the kept sign-in has ended: {error}"));
                    self.drop_held();
                    self.store.clear_tokens().map_or_else(Stuck::Failed, |()| Stuck::Person)
                }
            };
        }
        if error.is_refusal("invalid_client") {
            let recorded = if self.is_document(&client.id) {
                self.document_refused(&client.id)
            } else if self.options.client_id.is_none() {
                self.store.change_clients(|clients| {
                    clients.registrations.remove(&used.tokens.issuer);
                })
            } else {
                return Stuck::Failed(error);
            };
            return recorded.map_or_else(Stuck::Failed, |()| Stuck::Person);
        }
        if let Error::Unavailable { retry_after, .. } = &error {
            self.state().not_before = Some(Instant::now() + retry_after.unwrap_or(REST));
        }
        Stuck::Failed(error)
    }

    fn may_ask(&self) -> Result<(), Error> {
        let left =
            self.state().not_before.map(|then| then.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if !left.is_zero() => {
                let url = "the authorization server".to_owned();
                Err(Error::Unavailable { url, status: 429, retry_after: Some(left) })
            }
            _ => Ok(()),
        }
    }

    /// What is known of the issuer of these tokens; if it is no longer known, it is found out.
    async fn found(&self, tokens: &Tokens) -> Result<Found, Stuck> {
        if let Some(kept) = self.store.metadata().filter(|kept| kept.server.issuer == tokens.issuer)
        {
            return Ok(kept);
        }
        let prefer = (!tokens.issuer.is_empty()).then_some(tokens.issuer.as_str());
        let found = discovery::discover(&self.wire, Hints { challenges: &[], prefer }).await?;
        // A refresh token is for who granted it, and nobody else.
        if found.server.issuer != tokens.issuer {
            return Err(Stuck::Person);
        }
        self.store.save_metadata(&found)?;
        Ok(found)
    }

    /// Whether the server now trusts another issuer than that of the token.
    async fn has_moved(&self, used: &Held, challenges: &[Challenge]) -> bool {
        let hints = Hints { challenges, prefer: None };
        let issuers = discovery::issuers(&self.wire, hints).await;
        let moved = issuers.is_some_and(|issuers| {
            !used.tokens.issuer.is_empty() && !issuers.contains(&used.tokens.issuer)
        });
        if moved {
            self.warn("the server moved to another authorization server: sign in again".to_owned());
        }
        moved
    }

    async fn clear(&self) -> Result<(), Error> {
        let _lock = self.store.lock().await?;
        self.drop_held();
        self.store.clear_tokens()
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
            Some(known) => Ok(known.client()),
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
        let issuer = self.store.metadata().map(|found| found.server.issuer);
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
        own == Some(id) || self.default_document() == Some(id)
    }

    /// Records that an authorization server refused our document.
    pub(crate) fn document_refused(&self, document: &str) -> Result<(), Error> {
        self.warn(format!(
            "the authorization server refused the client document {document}; registering instead"
        ));
        self.store.refuse_document()
    }

    /// What was granted, dated, and known to the redactor.
    pub(crate) fn tokens(&self, granted: Granted, found: &Found, asked: Asked<'_>) -> Tokens {
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
        }
    }

    /// Lets the redactor know a client's secret.
    pub(crate) fn learn(&self, client: &Client) {
        if let Some(secret) = &client.secret {
            self.host.redactor.learn_rotating(&format!("{} client secret", self.server), secret);
        }
    }

    /// Lets the redactor know a statement about us.
    pub(crate) fn learn_statement(&self, text: &str) {
        self.host.redactor.learn_rotating(&format!("{} assertion", self.server), text);
    }

    /// The tokens in use, as they are on disk now.
    fn current(&self) -> Option<Arc<Held>> {
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
        match self.store.tokens() {
            Ok(tokens) => {
                state.look = look;
                state.held = tokens.map(|tokens| self.in_use(tokens));
            }
            // Somebody damaged the file: what we have is still good.
            Err(_) => state.look = look,
        }
        state.held.clone()
    }

    fn hold(&self, tokens: Tokens) -> Arc<Held> {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn(&self, text: String) {
        let text = self.host.redactor.clean(&text).into_owned();
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

/// Who can be brought to sign in, if anybody can.
#[derive(Debug)]
pub(crate) struct Person<'a> {
    credentials: Option<&'a Arc<Credentials>>,
    browser: Option<&'a Arc<dyn Browser>>,
    visits: u32,
}

impl<'a> Person<'a> {
    pub(crate) fn new(credentials: Option<&'a Arc<Credentials>>, host: &'a Host) -> Self {
        Self { credentials, browser: host.browser.as_ref(), visits: 0 }
    }

    /// Where the server wants a sign-in, or more than was granted, and somebody is there, signs in:
    /// then what failed can be tried again. Gives the error back where that does not help.
    pub(crate) async fn help(&mut self, error: crate::Error) -> Result<(), crate::Error> {
        let (Some(credentials), Some(browser)) = (self.credentials, self.browser) else {
            return Err(error);
        };
        let (crate::Error::SignIn { challenge } | crate::Error::Forbidden { challenge, .. }) =
            &error
        else {
            return Err(error);
        };
        if self.visits == MAX_SIGN_INS || !credentials.could_help(&error) {
            return Err(error);
        }
        self.visits += 1;
        let challenge = challenge.as_deref();
        credentials.sign_in(&**browser, Driver::Terminal, challenge, None).await
    }
}

impl Held {
    /// The headers of a request that carries the token.
    pub(crate) fn headers(&self, method: &Verb, target: &Uri) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let token = &self.tokens.access_token;
        let scheme = if self.key.is_some() { "DPoP" } else { "Bearer" };
        if let Ok(mut value) = HeaderValue::from_str(&format!("{scheme} {token}")) {
            value.set_sensitive(true);
            headers.insert(http::header::AUTHORIZATION, value);
        }
        if let Some(key) = &self.key {
            let proof = key.proof(Side::Server, method.as_str(), target, Some(token));
            if let Some(proof) = proof.and_then(|proof| HeaderValue::from_str(&proof).ok()) {
                headers.insert("dpop", proof);
            }
        }
        headers
    }

    fn requested(&self) -> Option<&str> {
        self.tokens.requested_scope.as_deref().or(self.tokens.scope.as_deref())
    }

    /// Whether it should be renewed before it is used.
    fn is_old(&self) -> bool {
        let Some(end) = self.tokens.expires_at else { return false };
        let now = now();
        let life = end.saturating_sub(self.tokens.obtained_at);
        let early = EARLY_SECONDS.min(life / 10);
        // A clock that was set back makes a token look younger than it is.
        now.saturating_add(early) >= end
            || self.tokens.obtained_at > now.saturating_add(SKEW_SECONDS)
    }

    fn is_over(&self) -> bool {
        self.tokens.expires_at.is_some_and(|end| now() >= end)
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
