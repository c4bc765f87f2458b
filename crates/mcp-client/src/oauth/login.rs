//! One login, from the first question to kept tokens.
//!
//! The way back is bound first and held to the end. The browser's page waits until the code has
//! been redeemed, so it never says more than is true; where the login must go on as another
//! client, the same tab is sent on.

use std::time::Duration;

use http::Uri;
use tokio::time::{Instant, sleep_until};

use super::callback::{Arrived, Ending, Listener, PATH};
use super::challenge;
use super::credentials::{Asked, Credentials};
use super::discovery::{Found, Hints, discover};
use super::dpop::Key;
use super::identification::{Driver, Facts, Without};
use super::metadata::ServerMetadata;
use super::redirect::{self, Code, Expected, Fault};
use super::registration::{Registration, Wanted, register};
use super::scope::{self, Wishes};
use super::store::Tokens;
use super::token::{Client, Endpoint, Granted};
use super::{pkce, ports};
use crate::error::Kind;
use crate::error::oauth::{Error, Suspect};
use crate::host::{Browser, Visit, Visited};
use crate::url::is_safe;

/// How long a login waits for the browser, unless the entry says otherwise.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);
/// How often a login goes on as another client.
const MAX_IDENTITIES: u32 = 3;

/// How a sign-in is to go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignIn<'a> {
    /// When what needs it began: a no that came since then is an answer to it too.
    pub(crate) since: Instant,
    pub(crate) driver: Driver,
    /// Instead of what the entry or the server says.
    pub(crate) scope: Option<&'a str>,
    /// The document gets another chance.
    pub(crate) anew: bool,
}

impl Credentials {
    /// Signs in with the help of a person. What is held afterwards is new.
    pub(crate) async fn sign_in(
        &self,
        browser: &dyn Browser,
        challenge: Option<&str>,
        wanted: SignIn<'_>,
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
        // One no is an answer to all who waited for it.
        if self.state().declined_at.is_some_and(|then| then >= wanted.since) {
            return Err(Error::Cancelled.into());
        }
        let challenges = challenge.map(challenge::parse).unwrap_or_default();
        let configured = self.options().scope.as_ref().map(|scope| scope.value().trim());
        let configured = wanted.scope.or(configured);
        // What was granted before is not lost, unless somebody says what they want.
        let keeps = configured.is_none() || scope::is_insufficient(&challenges);
        let before = held.as_ref().and_then(|held| held.requested()).filter(|_| keeps);
        let wishes = Wishes { configured, challenges: &challenges, before };
        let SignIn { driver, anew, .. } = wanted;
        match (Login { credentials: self, browser, driver, wishes, anew }).run().await {
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

/// What a login is begun with.
#[derive(Debug)]
pub(crate) struct Login<'a> {
    pub(crate) credentials: &'a Credentials,
    pub(crate) browser: &'a dyn Browser,
    pub(crate) driver: Driver,
    pub(crate) wishes: Wishes<'a>,
    /// The document gets another chance, whatever happened before.
    pub(crate) anew: bool,
}

/// The way the browser comes back.
struct Way {
    listener: Listener,
    redirect_uri: String,
    /// It is one of those the client document names.
    pinned: bool,
}

/// Who we are in this login.
struct Who {
    client: Client,
    kind: Standing,
    /// What makes us the client, where we registered.
    registration: Option<Registration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Configured,
    Document,
    /// Registered in an earlier login.
    Known,
    New,
}

/// One go as one client.
struct Round<'a> {
    facts: &'a Facts<'a>,
    way: &'a Way,
    found: &'a Found,
    scope: Option<String>,
    key: Option<Key>,
    /// The document may still identify us.
    document: bool,
    /// The browser's tab, which waits for a page.
    tab: Option<Arrived>,
}

/// A browser, or a person, that came back with a code.
struct Came {
    code: Code,
    page: Option<Arrived>,
}

impl Login<'_> {
    /// Signs in. Nothing that was kept is lost unless it works.
    pub(crate) async fn run(&self) -> Result<Tokens, Error> {
        let store = self.credentials.store();
        let before = self.credentials.known();
        let issuer = before.as_ref().map(|found| found.server.issuer.clone());
        let clients = store.clients();
        let registration = match &issuer {
            Some(issuer) => clients.registrations.get(issuer),
            None => clients.registrations.values().next(),
        };
        let default_document = self.default_document().await;
        let mut facts = Facts {
            options: self.credentials.options(),
            default_document: default_document.as_deref(),
            driver: self.driver,
            registered: !self.anew && registration.is_some_and(Registration::is_good),
            refused: !self.anew && store.has_refused_document(),
            takes_documents: before.map(|found| found.server.takes_documents),
        };
        let mut way = self.listen(&facts).await?;
        let hints = Hints { challenges: self.wishes.challenges, prefer: issuer.as_deref() };
        let found = discover(self.credentials.wire(), hints).await?;
        if !found.server.binds_codes() {
            return Err(Error::NoPkce { issuer: found.server.issuer });
        }
        store.save_metadata(&found)?;
        // It has learned to take documents, and takes nothing else any more.
        let only_documents = found.server.takes_documents && !found.server.takes_registrations();
        if only_documents && facts.pins() == Err(Without::NotTaken) {
            facts.takes_documents = Some(true);
            way = self.listen(&facts).await?;
        }
        self.with_person(&facts, &way, &found).await
    }

    /// Binds the way back: one of the five ports where the document could come into use.
    async fn listen(&self, facts: &Facts<'_>) -> Result<Way, Error> {
        let options = self.credentials.options();
        if facts.pins().is_ok()
            && let Some(listener) = ports::bind_pinned().await
        {
            let redirect_uri = self.loopback(listener.port());
            return Ok(Way { listener, redirect_uri, pinned: true });
        }
        let own = options.redirect_uri.as_ref().map(|uri| uri.value().trim().to_owned());
        let parsed = own.as_ref().and_then(|uri| uri.parse::<Uri>().ok());
        // A way back through a proxy ends at a port of ours that only the entry can name.
        let local = parsed.as_ref().filter(|uri| uri.scheme_str() == Some("http") && is_safe(uri));
        let fixed = options.redirect_port.or_else(|| local.and_then(Uri::port_u16));
        let host = local.and_then(Uri::host).unwrap_or_else(|| self.host());
        let bound = Listener::bind_for(host, fixed.unwrap_or(0)).await;
        let listener = bound.map_err(|source| match fixed {
            Some(port) => Error::PortTaken { port },
            None => Error::NoPort { source },
        })?;
        let redirect_uri = own.unwrap_or_else(|| self.loopback(listener.port()));
        // Whoever forwards a browser to us may do so under another name than ours.
        let listener = match parsed {
            Some(uri) => listener.at_path(uri.path()),
            None => listener,
        };
        Ok(Way { listener, redirect_uri, pinned: false })
    }

    /// The document of those servers that have none of their own.
    async fn default_document(&self) -> Option<String> {
        if let Some(configured) = self.credentials.default_document() {
            return Some(configured.to_owned());
        }
        let options = self.credentials.options();
        let is_of_use = options.client_metadata_url.is_none()
            && Facts { driver: self.driver, ..Facts::first_time(options, None) }.pins().is_ok();
        if is_of_use { self.browser.default_document().await } else { None }
    }

    fn loopback(&self, port: u16) -> String {
        format!("http://{}:{port}{PATH}", self.host())
    }

    /// The name of this machine in the way back.
    fn host(&self) -> &str {
        let named = self.credentials.options().redirect_host.as_ref();
        named.map_or("127.0.0.1", |host| host.value().trim())
    }

    async fn with_person(
        &self,
        facts: &Facts<'_>,
        way: &Way,
        found: &Found,
    ) -> Result<Tokens, Error> {
        let scope = self.wishes.choose(found.offered_scopes());
        let key = found.bind.then(Key::generate).flatten();
        let after = self.credentials.options().timeout.unwrap_or(DEFAULT_TIMEOUT);
        let end = Instant::now() + after;
        let mut round = Round { facts, way, found, scope, key, document: way.pinned, tab: None };
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
                (Err(error), Standing::Document) if error.is_refusal("invalid_client") => {
                    self.credentials.document_refused(&who.client.id)?;
                    round.document = false;
                }
                (Err(error), Standing::Known) if error.is_refusal("invalid_client") => {
                    self.credentials.store().change_clients(|clients| {
                        clients.registrations.remove(&found.server.issuer);
                    })?;
                }
                (Err(error), _) => return Err(self.fail(round.tab, error).await),
            }
        }
        let error = Error::NoIdentity { issuer: found.server.issuer.clone() };
        Err(self.fail(round.tab, error).await)
    }

    /// What may have kept the browser from coming back. A registration under suspicion is not used
    /// for another login.
    fn suspect(&self, who: &Who, found: &Found) -> Result<Suspect, Error> {
        match who.kind {
            Standing::Document => Ok(Suspect::Document(who.client.id.clone())),
            Standing::Known => {
                self.credentials.store().change_clients(|clients| {
                    if let Some(known) = clients.registrations.get_mut(&found.server.issuer) {
                        known.suspect = true;
                    }
                })?;
                Ok(Suspect::Registration)
            }
            Standing::Configured | Standing::New => Ok(Suspect::Nobody),
        }
    }

    /// Brings the person to the page and back; nothing if they do not come back in time.
    async fn visit(
        &self,
        round: &mut Round<'_>,
        client: &Client,
        end: Instant,
    ) -> Result<Option<(Came, String)>, Error> {
        let random = || pkce::random_word().map_err(|source| Error::NoPort { source });
        let (verifier, state) = (random()?, random()?);
        let address = round.authorization(client, &state, &verifier)?;
        let server = &round.found.server;
        let visit = Visit {
            server: self.credentials.server().to_owned(),
            address: address.clone(),
            issuer: server.issuer.clone(),
            redirect_uri: round.way.redirect_uri.clone(),
            port: round.way.listener.port(),
            scope: round.scope.clone(),
            problem: None,
        };
        let (issuer, issuer_required) = (server.issuer.clone(), server.names_itself);
        let expected = Expected { state, issuer, issuer_required };
        let sent_on = round.tab.is_some();
        if let Some(tab) = round.tab.take() {
            tab.answer(Ending::Continue { address }).await;
        }
        let coming = self.come_back(&round.way.listener, &expected, visit, sent_on);
        tokio::select! {
            came = coming => Ok(Some((came?, verifier))),
            () = sleep_until(end) => Ok(None),
        }
    }

    /// Turns a code into tokens.
    async fn redeem(
        &self,
        round: &mut Round<'_>,
        client: &Client,
        (came, verifier): (Came, String),
    ) -> Result<Granted, Error> {
        // A server may repeat in its answer what it was sent.
        self.credentials.learn_code(came.code.value(), &verifier);
        round.tab = came.page;
        let (server, key) = (&round.found.server, round.key.as_ref());
        let endpoint = Endpoint { wire: self.credentials.wire(), server, client, key };
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", came.code.value()),
            ("redirect_uri", round.way.redirect_uri.as_str()),
            ("code_verifier", verifier.as_str()),
            ("resource", round.found.resource.as_str()),
        ];
        endpoint.request(&grant).await
    }

    /// Who we are to this authorization server.
    async fn identify(&self, round: &Round<'_>) -> Result<Who, Error> {
        let server = &round.found.server;
        if let Some(client) = self.credentials.configured_client(server)? {
            return Ok(Who { client, kind: Standing::Configured, registration: None });
        }
        if round.document
            && let Some(document) = round.facts.document(server)
        {
            let client = Client::public(document);
            return Ok(Who { client, kind: Standing::Document, registration: None });
        }
        let store = self.credentials.store();
        let name = self.credentials.client_name();
        let redirect_uri = &round.way.redirect_uri;
        let clients = store.clients();
        let known = clients.registrations.get(&server.issuer);
        let known = known.filter(|known| known.is_good() && known.client_name == name);
        let as_known = |known: &Registration| {
            let registration = Some(known.clone());
            Who { client: known.client(), kind: Standing::Known, registration }
        };
        if let Some(known) = known.filter(|known| known.redirect_uri == *redirect_uri) {
            return Ok(as_known(known));
        }
        let could_name = round.facts.pins().is_ok() && round.facts.configured_document().is_some();
        if could_name
            && !round.way.pinned
            && server.takes_documents
            && !server.takes_registrations()
        {
            return Err(Error::PortsTaken { issuer: server.issuer.clone() });
        }
        let method = self.credentials.options().token_endpoint_auth_method.as_ref();
        let wanted = Wanted {
            client_name: &name,
            redirect_uri,
            // A server may hold us to what we registered: what may be needed later is not ruled out.
            scope: self.wishes.configured,
            method: method.map(|method| method.value().trim()),
        };
        // The way back has another port each time. Some servers compare all of it, so that we
        // register again; where they refuse, RFC 8252 lets a registered client use any port.
        let registered = register(self.credentials.wire(), server, wanted).await;
        let registration = match (registered, known.filter(|known| known.is_at(redirect_uri))) {
            (Ok(registration), _) => registration,
            (Err(error), Some(known)) if error.kind() == Kind::Configuration => {
                return Ok(as_known(known));
            }
            (Err(error), _) => return Err(error),
        };
        let client = registration.client();
        self.credentials.learn(&client);
        // The next login can use it, whatever comes of this one; only what the kept tokens need
        // stays until there are others.
        if !clients.registrations.contains_key(&server.issuer) {
            store.change_clients(|clients| {
                clients.registrations.insert(server.issuer.clone(), registration.clone());
            })?;
        }
        Ok(Who { client, kind: Standing::New, registration: Some(registration) })
    }

    /// Waits for the browser, or for what a person pastes.
    async fn come_back(
        &self,
        listener: &Listener,
        expected: &Expected,
        mut visit: Visit,
        sent_on: bool,
    ) -> Result<Came, Error> {
        let arrival = listener.redirect(expected);
        tokio::pin!(arrival);
        // A tab that was sent on needs nobody to open it.
        let mut visited = if sent_on {
            Box::pin(std::future::pending())
        } else {
            self.browser.visit(visit.clone())
        };
        loop {
            let pasted = tokio::select! {
                arrived = &mut arrival => return self.arrived(arrived).await,
                visited = &mut visited => match visited {
                    Visited::Pasted(text) => text,
                    Visited::Cancelled => return Err(Error::Cancelled),
                },
            };
            let problem = match redirect::query_of_pasted(&pasted) {
                Some(query) => match redirect::judge(&query, expected) {
                    Ok(code) => return Ok(Came { code, page: None }),
                    Err(Fault::WrongState) if !redirect::names_state(&query) => {
                        "it is incomplete: copy the whole address"
                    }
                    Err(Fault::WrongState) => "it belongs to another sign-in",
                    Err(fault) => return Err(fault.into()),
                },
                None => "it is not the address that the browser was sent to",
            };
            visit.problem = Some(problem.to_owned());
            visited = self.browser.visit(visit.clone());
        }
    }

    async fn arrived(&self, mut arrived: Arrived) -> Result<Came, Error> {
        match std::mem::replace(&mut arrived.outcome, Err(Fault::NoCode)) {
            Ok(code) => Ok(Came { code, page: Some(arrived) }),
            Err(fault) => Err(self.fail(Some(arrived), fault.into()).await),
        }
    }

    /// Keeps what was granted; whoever renews at this moment is waited for.
    async fn keep(&self, granted: Granted, round: &Round<'_>, who: &Who) -> Result<Tokens, Error> {
        let (client, scope) = (&who.client.id, round.scope.as_deref());
        let asked = Asked { scope, client, key: round.key.as_ref() };
        let mut tokens = Credentials::tokens(granted, round.found, asked);
        tokens.login = pkce::random_word().map_err(|source| Error::NoPort { source })?;
        let store = self.credentials.store();
        // Whoever renews for so long renews what is no longer wanted: it is not waited for further.
        let _lock = match store.lock().await {
            Err(Error::Busy { .. }) => None,
            lock => Some(lock?),
        };
        // Who we are goes with the tokens: it is our client that can renew these, and nobody's that
        // was registered in place of the document.
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
        page: Option<Arrived>,
        kept: Result<Tokens, Error>,
    ) -> Result<Tokens, Error> {
        let tokens = match kept {
            Ok(tokens) => tokens,
            Err(error) => return Err(self.fail(page, error).await),
        };
        if let Some(page) = page {
            let server = self.credentials.server().to_owned();
            page.answer(Ending::SignedIn { server }).await;
        }
        Ok(tokens)
    }

    /// Tells the browser that it did not work.
    async fn fail(&self, page: Option<Arrived>, error: Error) -> Error {
        if let Some(page) = page {
            let server = self.credentials.server().to_owned();
            let hint = Some("The terminal says what to do next.".to_owned());
            let what = self.credentials.clean(&error.to_string());
            page.answer(Ending::Failed { server, what, hint }).await;
        }
        error
    }
}

impl Round<'_> {
    /// The address of the page to sign in at.
    fn authorization(&self, client: &Client, state: &str, verifier: &str) -> Result<String, Error> {
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
            // OpenID Connect grants longer logins only after a person was asked.
            if scope.split_whitespace().any(|scope| scope == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        let gap = if page.contains('?') { '&' } else { '?' };
        Ok(format!("{page}{gap}{}", query.finish()))
    }
}
