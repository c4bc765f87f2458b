//! The sign-in of one server, as a command handles it: begin, look at, end.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method};
use tokio::time::Instant;

use super::credentials::{ClientKind, Credentials};
use super::identification::Driver;
use super::login::SignIn;
use super::wire::{PATIENCE, To};
use crate::config::{Endpoint, HttpEndpoint, HttpTransport, ServerEntry};
use crate::host::{Browser, Host};
use crate::message::{self, Meta};
use crate::protocol::initialize_params;
use crate::transport::http_client::HttpClient;

/// How long giving tokens back may take.
const GIVE_BACK: Duration = Duration::from_secs(10);

/// The sign-in of one server.
#[derive(Debug)]
pub struct Account {
    entry: Arc<ServerEntry>,
    host: Arc<Host>,
    credentials: Arc<Credentials>,
}

/// How a login is to go.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoginOptions<'a> {
    /// Who drives it.
    pub driver: Driver,
    /// The scopes to ask for, instead of what the entry or the server says.
    pub scope: Option<&'a str>,
}

/// What is kept of a sign-in. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Where it is kept.
    pub file: PathBuf,
    /// The tokens, if there are any.
    pub granted: Option<Grant>,
    /// Why the file cannot be used, if it is there and cannot.
    pub unreadable: Option<String>,
    /// How we would be known to the authorization server.
    pub client: ClientKind,
    /// Our client document was refused here.
    pub document_refused: bool,
}

/// A grant, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Who granted it.
    pub issuer: String,
    /// To whom.
    pub client_id: String,
    /// What for.
    pub scope: Option<String>,
    /// What was asked for.
    pub requested: Option<String>,
    /// When the access token ends, if anybody said.
    pub expires_at: Option<u64>,
    /// When it was granted.
    pub obtained_at: u64,
    /// It can be renewed without a person.
    pub renewable: bool,
    /// It is bound to a key of ours.
    pub bound: bool,
}

impl Account {
    /// Of an entry with `auth: oauth`; none for all others.
    pub fn of(entry: &ServerEntry, host: &Arc<Host>) -> Result<Option<Self>, crate::Error> {
        let Endpoint::Http(endpoint) = &entry.endpoint else { return Ok(None) };
        let credentials = Credentials::of(entry, endpoint, host)?;
        Ok(credentials.map(|credentials| {
            let (entry, host) = (Arc::new(entry.clone()), Arc::clone(host));
            Self { entry, host, credentials }
        }))
    }

    /// Signs in anew, whatever is kept; what is kept stays until it has worked. A refused document
    /// gets another chance.
    pub async fn login(
        &self,
        browser: &dyn Browser,
        options: LoginOptions<'_>,
    ) -> Result<(), crate::Error> {
        let store = self.credentials.store();
        let anew = store.has_refused_document();
        store.forgive_document()?;
        let LoginOptions { driver, scope } = options;
        let since = Instant::now();
        let done = async {
            let challenge = self.challenge().await?;
            let challenge = challenge.as_deref();
            if self.credentials.is_alone() {
                return self.credentials.begin_anew(challenge).await;
            }
            let wanted = SignIn { since, driver, scope, anew };
            self.credentials.sign_in(browser, challenge, wanted).await
        };
        done.await.map_err(|error| error.cleaned(&self.host.redactor))
    }

    /// Forgets the tokens, after giving them back where that is possible. Says whether there were
    /// any, and whether the authorization server took them back.
    pub async fn logout(&self) -> Result<LoggedOut, crate::Error> {
        let store = self.credentials.store();
        let tokens = store.tokens().ok().flatten();
        let given_back = match &tokens {
            Some(tokens) => {
                let both = [
                    ("refresh_token", tokens.refresh_token.as_deref()),
                    ("access_token", Some(tokens.access_token.as_str())),
                ];
                let revoked = self.credentials.give_back(tokens, &both);
                tokio::time::timeout(GIVE_BACK, revoked).await.unwrap_or(false)
            }
            None => false,
        };
        let had = self.has_files();
        let _lock = store.lock().await?;
        store.forget()?;
        Ok(LoggedOut { had, given_back })
    }

    /// The beginning of the names of its files: see [`super::kept`].
    pub fn stem(&self) -> &str {
        self.credentials.store().stem()
    }

    /// Whether anything is kept.
    pub fn has_files(&self) -> bool {
        self.credentials.store().has_files()
    }

    /// What is kept.
    pub fn standing(&self) -> Standing {
        let store = self.credentials.store();
        let (tokens, unreadable) = match store.tokens() {
            Ok(tokens) => (tokens, None),
            Err(unreadable) => (None, Some(unreadable.reason)),
        };
        Standing {
            file: store.tokens_path(),
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

    /// What the server says to who comes without a token.
    async fn challenge(&self) -> Result<Option<String>, crate::Error> {
        let Endpoint::Http(endpoint) = &self.entry.endpoint else { return Ok(None) };
        let asked = self.ask_without_token(endpoint);
        let within = PATIENCE.min(self.entry.connect_timeout);
        let Ok(answer) = tokio::time::timeout(within, asked).await else { return Ok(None) };
        let headers = answer?;
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
        Ok((!texts.is_empty()).then(|| texts.join(", ")))
    }

    async fn ask_without_token(&self, endpoint: &HttpEndpoint) -> Result<HeaderMap, crate::Error> {
        let mut plain = endpoint.clone();
        plain.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
        let client = HttpClient::new(&plain, &self.host)?;
        let mut headers = HeaderMap::new();
        let (method, accept, body) = match endpoint.transport {
            HttpTransport::Sse => (Method::GET, "text/event-stream", Bytes::new()),
            HttpTransport::Streamable => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let params = initialize_params(&self.entry, &self.host);
                let body = message::request(0, "initialize", &params, Meta::default());
                (Method::POST, "application/json, text/event-stream", body)
            }
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let response = client.follow(&method, client.url(), &headers, body).await?;
        Ok(response.headers().clone())
    }
}

/// What a logout did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedOut {
    /// There was something to forget.
    pub had: bool,
    /// The authorization server took the tokens back.
    pub given_back: bool,
}

impl Credentials {
    /// Gives tokens back (RFC 7009). Whether the refresh token, or else the other, was taken.
    async fn give_back(
        &self,
        tokens: &super::store::Tokens,
        both: &[(&str, Option<&str>)],
    ) -> bool {
        // Whoever granted them takes them back, even if the server has another address now.
        let Some(found) = self.store().metadata() else { return false };
        let Some(endpoint) = found.server.revocation_endpoint.clone() else { return false };
        if found.server.issuer != tokens.issuer {
            return false;
        }
        let Ok(client) = self.client_for(tokens, &found.server) else { return false };
        let mut accepted = Vec::new();
        for (kind, token) in both {
            let Some(token) = token else { continue };
            let mut form: Vec<(&str, Cow<'_, str>)> =
                vec![("token", (*token).into()), ("token_type_hint", (*kind).into())];
            let Ok(headers) = client.prove(&mut form, &found.server.issuer) else { return false };
            let sent = self.wire().post_form(To::Other, &endpoint, headers, &form).await;
            accepted.push(sent.is_ok_and(|reply| reply.is_success()));
        }
        accepted.first().copied().unwrap_or(false)
    }
}
