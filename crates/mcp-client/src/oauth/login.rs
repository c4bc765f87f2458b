//! One login, from discovery to stored tokens.
//!
//! The redirect port is bound first and held to the end. The browser's page waits until the code is
//! redeemed, so that it reports the real outcome; if the login continues as another client, the
//! same tab is redirected.

mod device;
mod identity;

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use tokio::time::{Instant, sleep_until};

pub use self::device::{DeviceCode, DeviceCodeDisplay};
use super::callback::{CALLBACK_PATH, Callback, CallbackListener, LoginOutcome, bind_pinned};
use super::challenge;
use super::credentials::Credentials;
use super::discovery::{Discovery, discover};
use super::dpop::DpopKey;
use super::identification::{DocumentExclusion, LoginFacts, LoginFrontend};
use super::metadata::ServerMetadata;
use super::pkce;
use super::redirect::{self, AuthorizationCode, ExpectedRedirect, RedirectError};
use super::registration::Registration;
use super::scope::{self, ScopeRequest};
use super::token::{OAuthClient, TokenEndpoint, TokenResponse};
use super::token_store::StoredTokens;
use crate::error::oauth::{Error, Result};
use crate::host::{BoxFuture, Browser, Host, SignInPage, SignInReply};
use crate::redact::Redactor;
use crate::url::is_secure;

pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);
const MAX_IDENTITIES: u32 = 3;
const MAX_SIGN_INS: u32 = 2;

#[derive(Debug, Clone, Copy, Default)]
pub struct LoginOptions<'a> {
    pub driver: LoginFrontend,
    /// Overrides the scopes of the entry and of the server.
    pub scope: Option<&'a str>,
    /// Shows a device code; without it the login uses the browser.
    pub device: Option<&'a dyn DeviceCodeDisplay>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SignInRequest<'a> {
    /// When the request that needs it began: a refusal since then also answers this one.
    pub(crate) since: Instant,
    /// Tries a refused client document again.
    pub(crate) anew: bool,
    pub(crate) options: LoginOptions<'a>,
}

/// Interactive sign-in while a request waits.
#[derive(Debug)]
pub(crate) struct InteractiveSignIn<'a> {
    credentials: Option<&'a Arc<Credentials>>,
    browser: Option<&'a Arc<dyn Browser>>,
    redactor: &'a Redactor,
    /// When the request, or its last retry, began.
    since: Instant,
    attempts: u32,
}

impl<'a> InteractiveSignIn<'a> {
    pub(crate) fn new(credentials: Option<&'a Arc<Credentials>>, host: &'a Host) -> Self {
        let (browser, redactor) = (host.browser.as_ref(), &*host.redactor);
        Self { credentials, browser, redactor, since: Instant::now(), attempts: 0 }
    }

    /// Signs in if the error can be resolved by it and a browser is available; the caller then
    /// retries. Returns the error otherwise.
    pub(crate) async fn resolve(&mut self, error: crate::Error) -> Result<(), crate::Error> {
        let (Some(credentials), Some(browser)) = (self.credentials, self.browser) else {
            return Err(error);
        };
        let (crate::Error::SignIn { challenge } | crate::Error::Forbidden { challenge, .. }) =
            &error
        else {
            return Err(error);
        };
        if self.attempts == MAX_SIGN_INS || !credentials.sign_in_would_help(&error) {
            return Err(error);
        }
        self.attempts += 1;
        let challenge = challenge.as_deref();
        let options = LoginOptions::default();
        let request = SignInRequest { since: self.since, anew: false, options };
        let signed_in = credentials.sign_in(&**browser, challenge, request).await;
        self.since = Instant::now();
        signed_in.map_err(|error| error.redacted(self.redactor))
    }
}

impl Credentials {
    pub(crate) async fn sign_in(
        &self,
        browser: &dyn Browser,
        challenge: Option<&str>,
        request: SignInRequest<'_>,
    ) -> Result<(), crate::Error> {
        let SignInRequest { since, anew, options } = request;
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
        if self.state().declined_at.is_some_and(|then| then >= since) {
            return Err(Error::Cancelled.into());
        }
        let challenges = challenge.map(challenge::parse).unwrap_or_default();
        let configured = self.options.scope.as_ref().map(|scope| scope.value().trim());
        let configured = options.scope.or(configured);
        // Scopes granted before are requested again, unless scopes are configured.
        let keeps = configured.is_none() || scope::is_insufficient(&challenges);
        let before = held.as_ref().and_then(|held| held.requested()).filter(|_| keeps);
        let scopes = ScopeRequest { configured, challenges: &challenges, before };
        let login = Login { credentials: self, browser, options, scopes, anew };
        let declined = |_: &Error| self.state().declined_at = Some(Instant::now());
        self.hold(login.run().await.inspect_err(declined)?);
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) struct Login<'a> {
    pub(crate) credentials: &'a Credentials,
    pub(crate) browser: &'a dyn Browser,
    pub(crate) options: LoginOptions<'a>,
    pub(crate) scopes: ScopeRequest<'a>,
    pub(crate) anew: bool,
}

struct RedirectTarget {
    listener: CallbackListener,
    redirect_uri: String,
    /// One of the ports that the client document names.
    pinned: bool,
}

struct LoginRound<'a> {
    facts: &'a LoginFacts<'a>,
    found: &'a Discovery,
    /// Empty for a login with a device code.
    redirect_uri: &'a str,
    /// The client document names the redirect, if there is one.
    fits_document: bool,
    scope: Option<String>,
    key: Option<DpopKey>,
    /// The document may still identify us.
    document: bool,
    tab: Option<Callback>,
}

impl Login<'_> {
    /// Runs the login. Stored tokens are replaced only on success.
    pub(crate) async fn run(&self) -> Result<StoredTokens> {
        let store = &self.credentials.store;
        let before = self.credentials.stored_discovery();
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
            driver: self.options.driver,
            registered: !self.anew && registration.is_some_and(Registration::is_good),
            refused: !self.anew && store.has_refused_document(),
            supports_client_documents: before.map(|found| found.server.supports_client_documents),
        };
        let challenges = self.scopes.challenges;
        let discovery = discover(&self.credentials.http, challenges, issuer.as_deref());
        if let Some(display) = self.options.device {
            let found = discovery.await?;
            store.save_metadata(&found)?;
            facts.supports_client_documents = Some(found.server.supports_client_documents);
            return self.with_device_code(&facts, &found, display).await;
        }
        let mut target = self.listen(&facts).await?;
        let found = discovery.await?;
        if !found.server.supports_pkce() {
            return Err(Error::NoPkce { issuer: found.server.issuer });
        }
        store.save_metadata(&found)?;
        // The server has started to support documents and supports nothing else any more.
        let only_documents =
            found.server.supports_client_documents && found.server.registration_endpoint.is_none();
        if only_documents && facts.check_document() == Err(DocumentExclusion::NotTaken) {
            facts.supports_client_documents = Some(true);
            target = self.listen(&facts).await?;
        }
        self.with_person(&facts, &target, &found).await
    }

    /// Binds the redirect port: a pinned one if the document may be used.
    async fn listen(&self, facts: &LoginFacts<'_>) -> Result<RedirectTarget> {
        let options = &self.credentials.options;
        if facts.check_document().is_ok()
            && let Some(listener) = bind_pinned().await
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
            && LoginFacts { driver: self.options.driver, ..LoginFacts::first_time(options, None) }
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
        target: &RedirectTarget,
        found: &Discovery,
    ) -> Result<StoredTokens> {
        let mut round = self.round(facts, found, Some(target));
        let result = self.try_clients(&mut round, target).await;
        if let Some(tab) = round.tab {
            let server = self.credentials.server.clone();
            let outcome = match &result {
                Ok(_) => LoginOutcome::SignedIn { server },
                Err(error) => {
                    let what = self.credentials.redact(&error.to_string());
                    LoginOutcome::Failed { server, what }
                }
            };
            tab.answer(outcome).await;
        }
        result
    }

    async fn try_clients(
        &self,
        round: &mut LoginRound<'_>,
        target: &RedirectTarget,
    ) -> Result<StoredTokens> {
        let after = self.credentials.options.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let end = Instant::now() + after;
        for _ in 0..MAX_IDENTITIES {
            let who = self.identify(round).await?;
            let Some((code, verifier)) = self.visit(round, target, &who.client, end).await? else {
                let suspect = self.suspect(&who, round.found)?;
                return Err(Error::TimedOut { after, suspect });
            };
            match self.redeem(round, &who.client, &code, &verifier).await {
                Ok(granted) => return self.store_tokens(granted, round, &who).await,
                Err(error) => self.discard(round, &who, error)?,
            }
        }
        Err(Error::NoIdentity { issuer: round.found.server.issuer.clone() })
    }

    fn round<'r>(
        &self,
        facts: &'r LoginFacts<'r>,
        found: &'r Discovery,
        target: Option<&'r RedirectTarget>,
    ) -> LoginRound<'r> {
        let fits_document = target.is_none_or(|target| target.pinned);
        LoginRound {
            facts,
            found,
            redirect_uri: target.map_or("", |target| &target.redirect_uri),
            fits_document,
            document: fits_document,
            scope: self.scopes.choose(found.scopes.as_deref(), &found.server.scopes_supported),
            key: found.bind.then(DpopKey::generate).flatten(),
            tab: None,
        }
    }

    /// Opens the authorization page and waits for its redirect; `None` after the timeout.
    async fn visit(
        &self,
        round: &mut LoginRound<'_>,
        target: &RedirectTarget,
        client: &OAuthClient,
        end: Instant,
    ) -> Result<Option<(AuthorizationCode, String)>> {
        let (verifier, state) = (pkce::random_token()?, pkce::random_token()?);
        let address = round.authorization(client, &state, &verifier)?;
        let server = &round.found.server;
        let page = SignInPage {
            server: self.credentials.server.clone(),
            address: address.clone(),
            issuer: server.issuer.clone(),
            redirect_uri: target.redirect_uri.clone(),
            port: target.listener.port(),
            scope: round.scope.clone(),
            offers_device_code: server.device_authorization_endpoint.is_some(),
            problem: None,
        };
        let (issuer, issuer_required) = (server.issuer.clone(), server.sends_issuer);
        let expected = ExpectedRedirect { state, issuer, issuer_required };
        let mut page = Some(page);
        if let Some(tab) = round.tab.take() {
            tab.answer(LoginOutcome::Continue { address }).await;
            // A redirected tab needs no new page.
            page = None;
        }
        let received = self.receive(&target.listener, &expected, page, &mut round.tab);
        tokio::select! {
            code = received => Ok(Some((code?, verifier))),
            () = sleep_until(end) => Ok(None),
        }
    }

    async fn redeem(
        &self,
        round: &LoginRound<'_>,
        client: &OAuthClient,
        code: &AuthorizationCode,
        verifier: &str,
    ) -> Result<TokenResponse> {
        // The server may echo both in its response.
        self.credentials.redact_rotating("code", code.value());
        self.credentials.redact_rotating("code verifier", verifier);
        let (server, key) = (&round.found.server, round.key.as_ref());
        let endpoint = TokenEndpoint { http: &self.credentials.http, server, client, key };
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code.value()),
            ("redirect_uri", round.redirect_uri),
            ("code_verifier", verifier),
            ("resource", round.found.resource.as_str()),
        ];
        endpoint.request(&grant).await
    }

    /// Waits for the code: by the redirect, whose tab is kept, or pasted by the person.
    async fn receive(
        &self,
        listener: &CallbackListener,
        expected: &ExpectedRedirect,
        mut page: Option<SignInPage>,
        tab: &mut Option<Callback>,
    ) -> Result<AuthorizationCode> {
        let redirect = listener.redirect(expected);
        tokio::pin!(redirect);
        let open = |page: Option<&SignInPage>| -> BoxFuture<SignInReply> {
            match page {
                Some(page) => self.browser.open_sign_in(page.clone()),
                None => Box::pin(std::future::pending()),
            }
        };
        let mut opened = open(page.as_ref());
        loop {
            let pasted = tokio::select! {
                mut callback = &mut redirect => {
                    let received = Err(RedirectError::NoCode);
                    let received = std::mem::replace(&mut callback.outcome, received);
                    *tab = Some(callback);
                    return Ok(received?);
                }
                reply = &mut opened => match reply {
                    SignInReply::Pasted(text) => text,
                    SignInReply::Cancelled => return Err(Error::Cancelled),
                },
            };
            let problem = match redirect::query_of_pasted(&pasted) {
                Some(query) => match redirect::check_redirect(&query, expected) {
                    Ok(code) => return Ok(code),
                    Err(RedirectError::WrongState) if !redirect::names_state(&query) => {
                        "the URL is incomplete; copy all of it"
                    }
                    Err(RedirectError::WrongState) => "the URL belongs to another sign-in",
                    Err(fault) => return Err(fault.into()),
                },
                None => "not a redirect URL of this sign-in",
            };
            if let Some(page) = &mut page {
                page.problem = Some(problem.to_owned());
            }
            opened = open(page.as_ref());
        }
    }
}

impl LoginRound<'_> {
    fn authorization(&self, client: &OAuthClient, state: &str, verifier: &str) -> Result<String> {
        let ServerMetadata { authorization_endpoint, issuer, .. } = &self.found.server;
        let page = authorization_endpoint.as_ref();
        let page = page.ok_or_else(|| Error::NoPage { issuer: issuer.clone() })?;
        let challenge = pkce::challenge(verifier);
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", self.redirect_uri),
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
