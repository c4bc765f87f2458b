//! One login, from discovery to stored tokens.
//!
//! The redirect port is bound first and held to the end. The browser's page waits until the code is
//! redeemed, so that it reports the real outcome; if the login continues as another client, the
//! same tab is redirected.

use std::time::Duration;

use http::Uri;
use tokio::time::{Instant, sleep_until};

use super::callback::{CALLBACK_PATH, Callback, CallbackListener, LoginOutcome};
use super::challenge;
use super::credentials::{Credentials, GrantContext};
use super::discovery::{Discovery, DiscoveryHints, discover};
use super::dpop::DpopKey;
use super::identification::{DocumentExclusion, LoginFacts, LoginFrontend};
use super::metadata::ServerMetadata;
use super::redirect::{self, AuthorizationCode, ExpectedRedirect, RedirectError};
use super::registration::{Registration, RegistrationRequest, register};
use super::scope::{self, ScopeRequest};
use super::token::{OAuthClient, TokenEndpoint, TokenResponse};
use super::token_store::StoredTokens;
use super::{pkce, redirect_ports};
use crate::error::ErrorKind;
use crate::error::oauth::{Error, LikelyCause};
use crate::host::{Browser, SignInPage, SignInReply};
use crate::url::is_secure;

pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);
const MAX_IDENTITIES: u32 = 3;

#[derive(Debug, Clone, Copy)]
pub(crate) struct SignInRequest<'a> {
    /// When the request that needs it began: a refusal since then also answers this one.
    pub(crate) since: Instant,
    pub(crate) driver: LoginFrontend,
    /// Overrides the scopes of the entry and of the server.
    pub(crate) scope: Option<&'a str>,
    /// Tries a refused client document again.
    pub(crate) anew: bool,
}

impl Credentials {
    pub(crate) async fn sign_in(
        &self,
        browser: &dyn Browser,
        challenge: Option<&str>,
        wanted: SignInRequest<'_>,
    ) -> Result<(), crate::Error> {
        let seen = self.current();
        let _turn = self.turn.lock().await;
        let held = self.current();
        let is_done = match (&seen, &held) {
            (Some(seen), Some(held)) => held.tokens.replace(&seen.tokens),
            (seen, held) => held.is_some() && seen.is_none(),
        };
        if is_done {
            return Ok(());
        }
        // One refusal answers all requests that waited for it.
        if self.state().declined_at.is_some_and(|then| then >= wanted.since) {
            return Err(Error::Cancelled.into());
        }
        let challenges = challenge.map(challenge::parse).unwrap_or_default();
        let configured = self.options.scope.as_ref().map(|scope| scope.value().trim());
        let configured = wanted.scope.or(configured);
        // Scopes granted before are requested again, unless scopes are configured.
        let keeps = configured.is_none() || scope::is_insufficient(&challenges);
        let before = held.as_ref().and_then(|held| held.requested()).filter(|_| keeps);
        let scopes = ScopeRequest { configured, challenges: &challenges, before };
        let SignInRequest { driver, anew, .. } = wanted;
        match (Login { credentials: self, browser, driver, scopes, anew }).run().await {
            Ok(tokens) => {
                self.hold(tokens);
                Ok(())
            }
            Err(error) => {
                self.state().declined_at = Some(Instant::now());
                Err(error.into())
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Login<'a> {
    pub(crate) credentials: &'a Credentials,
    pub(crate) browser: &'a dyn Browser,
    pub(crate) driver: LoginFrontend,
    pub(crate) scopes: ScopeRequest<'a>,
    pub(crate) anew: bool,
}

struct RedirectTarget {
    listener: CallbackListener,
    redirect_uri: String,
    /// One of the ports that the client document names.
    pinned: bool,
}

struct LoginClient {
    client: OAuthClient,
    kind: ClientSource,
    registration: Option<Registration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientSource {
    Configured,
    Document,
    Registered,
    NewlyRegistered,
}

struct LoginRound<'a> {
    facts: &'a LoginFacts<'a>,
    way: &'a RedirectTarget,
    found: &'a Discovery,
    scope: Option<String>,
    key: Option<DpopKey>,
    /// The document may still identify us.
    document: bool,
    tab: Option<Callback>,
}

struct ReceivedCode {
    code: AuthorizationCode,
    page: Option<Callback>,
}

impl Login<'_> {
    /// Runs the login. Stored tokens are replaced only on success.
    pub(crate) async fn run(&self) -> Result<StoredTokens, Error> {
        let store = &self.credentials.store;
        let before = self.credentials.known();
        let issuer = before.as_ref().map(|found| found.server.issuer.clone());
        let clients = store.clients();
        let registration = match &issuer {
            Some(issuer) => clients.registrations.get(issuer),
            None => clients.registrations.values().next(),
        };
        let default_document = self.default_document().await;
        let mut facts = LoginFacts {
            options: &self.credentials.options,
            default_document: default_document.as_deref(),
            driver: self.driver,
            registered: !self.anew && registration.is_some_and(Registration::is_good),
            refused: !self.anew && store.has_refused_document(),
            supports_client_documents: before.map(|found| found.server.supports_client_documents),
        };
        let mut way = self.listen(&facts).await?;
        let hints =
            DiscoveryHints { challenges: self.scopes.challenges, prefer: issuer.as_deref() };
        let found = discover(&self.credentials.http, hints).await?;
        if !found.server.supports_pkce() {
            return Err(Error::NoPkce { issuer: found.server.issuer });
        }
        store.save_metadata(&found)?;
        // The server has started to support documents and supports nothing else any more.
        let only_documents =
            found.server.supports_client_documents && found.server.registration_endpoint.is_none();
        if only_documents && facts.check_document() == Err(DocumentExclusion::NotTaken) {
            facts.supports_client_documents = Some(true);
            way = self.listen(&facts).await?;
        }
        self.with_person(&facts, &way, &found).await
    }

    /// Binds the redirect port: a pinned one if the document may be used.
    async fn listen(&self, facts: &LoginFacts<'_>) -> Result<RedirectTarget, Error> {
        let options = &self.credentials.options;
        if facts.check_document().is_ok()
            && let Some(listener) = redirect_ports::bind_pinned().await
        {
            let redirect_uri = self.loopback(listener.port());
            return Ok(RedirectTarget { listener, redirect_uri, pinned: true });
        }
        let own = options.redirect_uri.as_ref().map(|uri| uri.value().trim().to_owned());
        let parsed = own.as_ref().and_then(|uri| uri.parse::<Uri>().ok());
        // Behind a proxy, only the entry can name the local port.
        let local =
            parsed.as_ref().filter(|uri| uri.scheme_str() == Some("http") && is_secure(uri));
        let fixed = options.redirect_port.or_else(|| local.and_then(Uri::port_u16));
        let host = local.and_then(Uri::host).unwrap_or_else(|| self.host());
        let bound = CallbackListener::bind_for(host, fixed.unwrap_or(0)).await;
        let listener = bound.map_err(|source| match fixed {
            Some(port) => Error::PortTaken { port },
            None => Error::NoPort { source },
        })?;
        let redirect_uri = own.unwrap_or_else(|| self.loopback(listener.port()));
        // A proxy may forward under another host name.
        let listener = match parsed {
            Some(uri) => listener.at_path(uri.path()),
            None => listener,
        };
        Ok(RedirectTarget { listener, redirect_uri, pinned: false })
    }

    /// The default document, if it could be used.
    async fn default_document(&self) -> Option<String> {
        if let Some(configured) = self.credentials.default_document() {
            return Some(configured.to_owned());
        }
        let options = &self.credentials.options;
        let is_of_use = options.client_metadata_url.is_none()
            && LoginFacts { driver: self.driver, ..LoginFacts::first_time(options, None) }
                .check_document()
                .is_ok();
        if is_of_use { self.browser.default_document().await } else { None }
    }

    fn loopback(&self, port: u16) -> String {
        format!("http://{}:{port}{CALLBACK_PATH}", self.host())
    }

    fn host(&self) -> &str {
        let named = self.credentials.options.redirect_host.as_ref();
        named.map_or("127.0.0.1", |host| host.value().trim())
    }

    async fn with_person(
        &self,
        facts: &LoginFacts<'_>,
        way: &RedirectTarget,
        found: &Discovery,
    ) -> Result<StoredTokens, Error> {
        let scope = self.scopes.choose(found.offered_scopes());
        let key = found.bind.then(DpopKey::generate).flatten();
        let after = self.credentials.options.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let end = Instant::now() + after;
        let mut round =
            LoginRound { facts, way, found, scope, key, document: way.pinned, tab: None };
        for _ in 0..MAX_IDENTITIES {
            let who = match self.identify(&round).await {
                Ok(who) => who,
                Err(error) => return Err(self.fail(round.tab, error).await),
            };
            let Some(came) = self.visit(&mut round, &who.client, end).await? else {
                let suspect = self.suspect(&who, found)?;
                return Err(Error::TimedOut { after, suspect });
            };
            let redeemed = self.redeem(&mut round, &who.client, came).await;
            match (redeemed, who.kind) {
                (Ok(granted), _) => {
                    let tokens = self.keep(granted, &round, &who).await;
                    return self.finish(round.tab, tokens).await;
                }
                (Err(error), ClientSource::Document) if error.is_refusal("invalid_client") => {
                    self.credentials.document_refused(&who.client.id)?;
                    round.document = false;
                }
                (Err(error), ClientSource::Registered) if error.is_refusal("invalid_client") => {
                    self.credentials.store.change_clients(|clients| {
                        clients.registrations.remove(&found.server.issuer);
                    })?;
                }
                (Err(error), _) => return Err(self.fail(round.tab, error).await),
            }
        }
        let error = Error::NoIdentity { issuer: found.server.issuer.clone() };
        Err(self.fail(round.tab, error).await)
    }

    /// The likely cause of a missing redirect. A suspect registration is not used for another
    /// login.
    fn suspect(&self, who: &LoginClient, found: &Discovery) -> Result<LikelyCause, Error> {
        match who.kind {
            ClientSource::Document => Ok(LikelyCause::Document(who.client.id.clone())),
            ClientSource::Registered => {
                self.credentials.store.change_clients(|clients| {
                    if let Some(known) = clients.registrations.get_mut(&found.server.issuer) {
                        known.suspect = true;
                    }
                })?;
                Ok(LikelyCause::Registration)
            }
            ClientSource::Configured | ClientSource::NewlyRegistered => Ok(LikelyCause::Unknown),
        }
    }

    /// Opens the authorization page and waits for its redirect; `None` after the timeout.
    async fn visit(
        &self,
        round: &mut LoginRound<'_>,
        client: &OAuthClient,
        end: Instant,
    ) -> Result<Option<(ReceivedCode, String)>, Error> {
        let random = || pkce::random_token().map_err(|source| Error::NoPort { source });
        let (verifier, state) = (random()?, random()?);
        let address = round.authorization(client, &state, &verifier)?;
        let server = &round.found.server;
        let visit = SignInPage {
            server: self.credentials.server.clone(),
            address: address.clone(),
            issuer: server.issuer.clone(),
            redirect_uri: round.way.redirect_uri.clone(),
            port: round.way.listener.port(),
            scope: round.scope.clone(),
            problem: None,
        };
        let (issuer, issuer_required) = (server.issuer.clone(), server.sends_issuer);
        let expected = ExpectedRedirect { state, issuer, issuer_required };
        let sent_on = round.tab.is_some();
        if let Some(tab) = round.tab.take() {
            tab.answer(LoginOutcome::Continue { address }).await;
        }
        let coming = self.come_back(&round.way.listener, &expected, visit, sent_on);
        tokio::select! {
            came = coming => Ok(Some((came?, verifier))),
            () = sleep_until(end) => Ok(None),
        }
    }

    async fn redeem(
        &self,
        round: &mut LoginRound<'_>,
        client: &OAuthClient,
        (came, verifier): (ReceivedCode, String),
    ) -> Result<TokenResponse, Error> {
        // The server may echo both in its response.
        self.credentials.redact_code(came.code.value(), &verifier);
        round.tab = came.page;
        let (server, key) = (&round.found.server, round.key.as_ref());
        let endpoint = TokenEndpoint { http: &self.credentials.http, server, client, key };
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", came.code.value()),
            ("redirect_uri", round.way.redirect_uri.as_str()),
            ("code_verifier", verifier.as_str()),
            ("resource", round.found.resource.as_str()),
        ];
        endpoint.request(&grant).await
    }

    async fn identify(&self, round: &LoginRound<'_>) -> Result<LoginClient, Error> {
        let server = &round.found.server;
        if let Some(client) = self.credentials.configured_client(server)? {
            return Ok(LoginClient { client, kind: ClientSource::Configured, registration: None });
        }
        if round.document
            && let Some(document) = round.facts.document(server)
        {
            let client = OAuthClient::public(document);
            return Ok(LoginClient { client, kind: ClientSource::Document, registration: None });
        }
        let store = &self.credentials.store;
        let name = self.credentials.client_name();
        let redirect_uri = &round.way.redirect_uri;
        let clients = store.clients();
        let known = clients.registrations.get(&server.issuer);
        let known = known.filter(|known| known.is_good() && known.client_name == name);
        let as_known = |known: &Registration| {
            let registration = Some(known.clone());
            LoginClient { client: known.client(), kind: ClientSource::Registered, registration }
        };
        if let Some(known) = known.filter(|known| known.redirect_uri == *redirect_uri) {
            return Ok(as_known(known));
        }
        let could_name =
            round.facts.check_document().is_ok() && round.facts.configured_document().is_some();
        if could_name
            && !round.way.pinned
            && server.supports_client_documents
            && server.registration_endpoint.is_none()
        {
            return Err(Error::PortsTaken { issuer: server.issuer.clone() });
        }
        let method = self.credentials.options.token_endpoint_auth_method.as_ref();
        let wanted = RegistrationRequest {
            client_name: &name,
            redirect_uri,
            // A server may restrict us to registered scopes, so only configured ones are
            // registered.
            scope: self.scopes.configured,
            method: method.map(|method| method.value().trim()),
        };
        // The port differs each time. Some servers compare it, so we register again; if that is
        // refused, RFC 8252 allows a registered client any loopback port.
        let registered = register(&self.credentials.http, server, wanted).await;
        let registration = match (registered, known.filter(|known| known.is_at(redirect_uri))) {
            (Ok(registration), _) => registration,
            (Err(error), Some(known)) if error.kind() == ErrorKind::Configuration => {
                return Ok(as_known(known));
            }
            (Err(error), _) => return Err(error),
        };
        let client = registration.client();
        self.credentials.redact_client_secret(&client);
        // Later logins can use the registration even if this one fails; one that stored tokens
        // depend on is replaced only with the tokens.
        if !clients.registrations.contains_key(&server.issuer) {
            store.change_clients(|clients| {
                clients.registrations.insert(server.issuer.clone(), registration.clone());
            })?;
        }
        Ok(LoginClient {
            client,
            kind: ClientSource::NewlyRegistered,
            registration: Some(registration),
        })
    }

    async fn come_back(
        &self,
        listener: &CallbackListener,
        expected: &ExpectedRedirect,
        mut visit: SignInPage,
        sent_on: bool,
    ) -> Result<ReceivedCode, Error> {
        let arrival = listener.redirect(expected);
        tokio::pin!(arrival);
        // A redirected tab needs no new page.
        let mut visited = if sent_on {
            Box::pin(std::future::pending())
        } else {
            self.browser.open_sign_in(visit.clone())
        };
        loop {
            let pasted = tokio::select! {
                arrived = &mut arrival => return self.arrived(arrived).await,
                visited = &mut visited => match visited {
                    SignInReply::Pasted(text) => text,
                    SignInReply::Cancelled => return Err(Error::Cancelled),
                },
            };
            let problem = match redirect::query_of_pasted(&pasted) {
                Some(query) => match redirect::check_redirect(&query, expected) {
                    Ok(code) => return Ok(ReceivedCode { code, page: None }),
                    Err(RedirectError::WrongState) if !redirect::names_state(&query) => {
                        "the URL is incomplete; copy all of it"
                    }
                    Err(RedirectError::WrongState) => "the URL belongs to another sign-in",
                    Err(fault) => return Err(fault.into()),
                },
                None => "not a redirect URL of this sign-in",
            };
            visit.problem = Some(problem.to_owned());
            visited = self.browser.open_sign_in(visit.clone());
        }
    }

    async fn arrived(&self, mut arrived: Callback) -> Result<ReceivedCode, Error> {
        match std::mem::replace(&mut arrived.outcome, Err(RedirectError::NoCode)) {
            Ok(code) => Ok(ReceivedCode { code, page: Some(arrived) }),
            Err(fault) => Err(self.fail(Some(arrived), fault.into()).await),
        }
    }

    /// Stores the tokens, after a renewal in progress.
    async fn keep(
        &self,
        granted: TokenResponse,
        round: &LoginRound<'_>,
        who: &LoginClient,
    ) -> Result<StoredTokens, Error> {
        let (client, scope) = (&who.client.id, round.scope.as_deref());
        let asked = GrantContext { scope, client, key: round.key.as_ref() };
        let mut tokens = Credentials::tokens(granted, round.found, asked);
        tokens.login = pkce::random_token().map_err(|source| Error::NoPort { source })?;
        let store = &self.credentials.store;
        // A renewal that takes this long renews tokens that are being replaced.
        let _lock = match store.lock().await {
            Err(Error::Busy { .. }) => None,
            lock => Some(lock?),
        };
        // The registration is stored with the tokens: only this client can renew them.
        let issuer = &round.found.server.issuer;
        let known = store.clients().registrations.get(issuer).cloned();
        if known != who.registration {
            store.change_clients(|clients| match &who.registration {
                Some(registration) => {
                    clients.registrations.insert(issuer.clone(), registration.clone());
                }
                None => drop(clients.registrations.remove(issuer)),
            })?;
        }
        store.save_tokens(&tokens)?;
        Ok(tokens)
    }

    async fn finish(
        &self,
        page: Option<Callback>,
        kept: Result<StoredTokens, Error>,
    ) -> Result<StoredTokens, Error> {
        let tokens = match kept {
            Ok(tokens) => tokens,
            Err(error) => return Err(self.fail(page, error).await),
        };
        if let Some(page) = page {
            let server = self.credentials.server.clone();
            page.answer(LoginOutcome::SignedIn { server }).await;
        }
        Ok(tokens)
    }

    async fn fail(&self, page: Option<Callback>, error: Error) -> Error {
        if let Some(page) = page {
            let server = self.credentials.server.clone();
            let hint = Some("See the terminal for the next steps.".to_owned());
            let what = self.credentials.redact(&error.to_string());
            page.answer(LoginOutcome::Failed { server, what, hint }).await;
        }
        error
    }
}

impl LoginRound<'_> {
    fn authorization(
        &self,
        client: &OAuthClient,
        state: &str,
        verifier: &str,
    ) -> Result<String, Error> {
        let ServerMetadata { authorization_endpoint, issuer, .. } = &self.found.server;
        let page = authorization_endpoint.as_ref();
        let page = page.ok_or_else(|| Error::NoPage { issuer: issuer.clone() })?;
        let challenge = pkce::challenge(verifier);
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", &self.way.redirect_uri),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", state),
            ("resource", &self.found.resource),
        ]);
        if let Some(scope) = &self.scope {
            query.append_pair("scope", scope);
            // OpenID Connect requires consent for offline access.
            if scope.split_whitespace().any(|scope| scope == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        let gap = if page.contains('?') { '&' } else { '?' };
        Ok(format!("{page}{gap}{}", query.finish()))
    }
}
