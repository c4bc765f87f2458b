//! Selection of the client for a login, and its update when the login ends.

use super::super::credentials::{Credentials, GrantContext};
use super::super::discovery::Discovery;
use super::super::pkce;
use super::super::registration::{Registration, RegistrationRequest, register};
use super::super::token::{OAuthClient, TokenResponse};
use super::super::token_store::StoredTokens;
use super::{Login, LoginRound};
use crate::error::ErrorKind;
use crate::error::oauth::{Error, LikelyCause, Result};

pub(super) struct LoginClient {
    pub(super) client: OAuthClient,
    pub(super) kind: ClientSource,
    pub(super) registration: Option<Registration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientSource {
    Configured,
    Document,
    Registered,
    NewlyRegistered,
}

impl Login<'_> {
    pub(super) async fn identify(&self, round: &LoginRound<'_>) -> Result<LoginClient> {
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
        let redirect_uri = round.redirect_uri;
        let clients = store.clients();
        let known = clients.registrations.get(&server.issuer);
        let known = known.filter(|known| known.is_good() && known.client_name == name);
        let as_known = |known: &Registration| {
            let registration = Some(known.clone());
            LoginClient { client: known.client(), kind: ClientSource::Registered, registration }
        };
        if let Some(known) = known.filter(|known| known.redirect_uri == redirect_uri) {
            return Ok(as_known(known));
        }
        let could_name =
            round.facts.check_document().is_ok() && round.facts.configured_document().is_some();
        if could_name
            && !round.fits_document
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

    /// Prepares another attempt after a refusal of this client; any other error is returned.
    pub(super) fn discard(
        &self,
        round: &mut LoginRound<'_>,
        who: &LoginClient,
        error: Error,
    ) -> Result<()> {
        let server = &round.found.server;
        match who.kind {
            ClientSource::Document if error.is_refusal("invalid_client") => {
                self.credentials.document_refused(&who.client.id)?;
                round.document = false;
            }
            // The document may not list the grant of device codes; it is still good for a browser.
            // `oidc-provider` calls that an invalid request.
            ClientSource::Document
                if ["unauthorized_client", "invalid_request"]
                    .iter()
                    .any(|it| error.is_refusal(it))
                    && round.redirect_uri.is_empty()
                    && server.registration_endpoint.is_some() =>
            {
                round.document = false;
            }
            ClientSource::Registered if error.is_refusal("invalid_client") => {
                self.credentials.store.change_clients(|clients| {
                    clients.registrations.remove(&server.issuer);
                })?;
            }
            _ => return Err(error),
        }
        Ok(())
    }

    /// Stores the tokens, after a renewal in progress.
    pub(super) async fn store_tokens(
        &self,
        granted: TokenResponse,
        round: &LoginRound<'_>,
        who: &LoginClient,
    ) -> Result<StoredTokens> {
        let (client, scope) = (&who.client.id, round.scope.as_deref());
        let asked = GrantContext { scope, client, key: round.key.as_ref() };
        let mut tokens = Credentials::tokens(granted, round.found, asked);
        tokens.login = pkce::random_token()?;
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

    /// The likely cause of a missing redirect. A suspect registration is not used for another
    /// login.
    pub(super) fn suspect(&self, who: &LoginClient, found: &Discovery) -> Result<LikelyCause> {
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
}
