//! Token renewal, serialized in this process and across processes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::challenge::{self, Challenge};
use super::super::discovery::{self, Discovery};
use super::super::token::{OAuthClient, TokenEndpoint, TokenResponse};
use super::super::token_store::StoredTokens;
use super::{AccessToken, Credentials, GrantContext};
use crate::error::ErrorKind;
use crate::error::oauth::{Error, Result};

/// The back-off after a failure without `Retry-After`.
const DEFAULT_BACKOFF: Duration = Duration::from_secs(5);

const ISSUER_CHECK_TIMEOUT: Duration = Duration::from_secs(3);

pub(in crate::oauth) enum RenewalError {
    SignInNeeded,
    Failed(Error),
}

impl From<Error> for RenewalError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Credentials {
    /// Renews one pair of tokens, once for all callers. It completes even if every caller is
    /// dropped: the response holds the only valid refresh token.
    pub(super) async fn refresh(
        self: &Arc<Self>,
        used: &Arc<AccessToken>,
        challenges: &[Challenge],
    ) -> Result<Arc<AccessToken>, RenewalError> {
        let (this, used, challenges) = (Arc::clone(self), Arc::clone(used), challenges.to_vec());
        let renewing = tokio::spawn(async move { this.refresh_now(&used, &challenges).await });
        // The task ends early only with the runtime.
        renewing.await.unwrap_or(Err(RenewalError::Failed(Error::Cancelled)))
    }

    pub(crate) async fn renewals_finished(&self) {
        let _turn = self.turn.lock().await;
    }

    async fn refresh_now(
        &self,
        used: &AccessToken,
        challenges: &[Challenge],
    ) -> Result<Arc<AccessToken>, RenewalError> {
        let _turn = self.turn.lock().await;
        match self.current() {
            Some(now) if now.tokens.replace(&used.tokens) => return Ok(now),
            Some(_) => {}
            None => return Err(RenewalError::SignInNeeded),
        }
        if used.tokens.refresh_token.is_none() && !self.is_unattended() {
            return Err(RenewalError::SignInNeeded);
        }
        self.may_ask()?;
        let lock = self.store.lock().await?;
        // Another process may have renewed them meanwhile.
        match self.stored_tokens() {
            Ok(Some(kept)) if kept.replace(&used.tokens) => return Ok(self.hold(kept)),
            Ok(Some(_)) => {}
            Ok(None) => {
                self.drop_held();
                return Err(RenewalError::SignInNeeded);
            }
            // The file is damaged; the tokens in memory are still valid.
            Err(_) => self.store.back_up_tokens(),
        }
        let Some(refresh_token) = used.tokens.refresh_token.clone() else {
            return Ok(self.obtain_and_keep(challenges).await?);
        };
        let mut found = self.found(&used.tokens).await?;
        let client = self.client_of(&used.tokens, &found.server)?;
        let room = self.store.reserve_tokens()?;
        let mut granted = self.ask_to_renew(used, &refresh_token, &found, &client).await;
        // The stored endpoint may be outdated: discover it again.
        if let Err(Error::Malformed { .. }) = &granted
            && let Some(newer) = self.found_anew(&used.tokens, &found).await
        {
            found = newer;
            granted = self.ask_to_renew(used, &refresh_token, &found, &client).await;
        }
        let granted = granted.map_err(|error| self.not_renewed(error, used, &client))?;
        let scope = used.requested();
        let asked = GrantContext { scope, client: &client.id, key: used.key.as_ref() };
        let mut tokens = Self::tokens(granted, &found, asked);
        tokens.refresh_token = tokens.refresh_token.or(Some(refresh_token));
        tokens.scope = tokens.scope.or_else(|| used.tokens.scope.clone());
        tokens.login.clone_from(&used.tokens.login);
        tokens.renewals = used.tokens.renewals + 1;
        if let Err(error) = self.store.save_reserved(room, &tokens) {
            self.warn(&format!("cannot save the refreshed token: {error}"));
        }
        drop(lock);
        Ok(self.hold(tokens))
    }

    async fn ask_to_renew(
        &self,
        used: &AccessToken,
        refresh_token: &str,
        found: &Discovery,
        client: &OAuthClient,
    ) -> Result<TokenResponse> {
        let mut grant = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
            ("resource", found.resource.as_str()),
        ];
        grant.extend(used.tokens.scope.as_deref().map(|scope| ("scope", scope)));
        let (http, server) = (&self.http, &found.server);
        TokenEndpoint { http, server, client, key: used.key.as_ref() }.request(&grant).await
    }

    /// The issuer's current metadata, if its token endpoint changed.
    async fn found_anew(&self, tokens: &StoredTokens, old: &Discovery) -> Option<Discovery> {
        let found = discovery::discover(&self.http, &[], Some(&tokens.issuer)).await.ok()?;
        let is_news = found.server.issuer == tokens.issuer
            && found.server.token_endpoint != old.server.token_endpoint;
        if !is_news || self.store.save_metadata(&found).is_err() {
            return None;
        }
        Some(found)
    }

    /// Obtains new tokens without a person, ignoring stored ones.
    pub(crate) async fn obtain_anew(&self, challenge: Option<&str>) -> Result<(), crate::Error> {
        let challenges = challenge.map(challenge::parse).unwrap_or_default();
        let _turn = self.turn.lock().await;
        let _lock = self.store.lock().await?;
        let tokens = self.obtain(&challenges).await;
        let tokens = tokens.map_err(|error| Error::Unattended(Box::new(error)))?;
        self.store.save_tokens(&tokens)?;
        self.hold(tokens);
        Ok(())
    }

    /// Obtains the first tokens without a person.
    pub(super) async fn obtain_first(
        &self,
        challenges: &[Challenge],
    ) -> Result<Arc<AccessToken>, RenewalError> {
        let _turn = self.turn.lock().await;
        if let Some(now) = self.current() {
            return Ok(now);
        }
        let _lock = self.store.lock().await?;
        if let Ok(Some(kept)) = self.stored_tokens() {
            return Ok(self.hold(kept));
        }
        self.may_ask()?;
        Ok(self.obtain_and_keep(challenges).await?)
    }

    /// The caller holds the lock.
    async fn obtain_and_keep(&self, challenges: &[Challenge]) -> Result<Arc<AccessToken>> {
        let tokens = self.obtain(challenges).await.inspect_err(|error| self.rest(error))?;
        self.store.save_tokens(&tokens)?;
        Ok(self.hold(tokens))
    }

    /// Handles a failed renewal. The caller holds the lock.
    fn not_renewed(&self, error: Error, used: &AccessToken, client: &OAuthClient) -> RenewalError {
        if error.is_refusal("invalid_grant") {
            // Only the tokens that were refused are deleted.
            if self.hold_replacement(used) {
                return RenewalError::Failed(error);
            }
            self.warn(&format!("the saved sign-in has expired: {error}"));
            self.drop_held();
            let cleared = self.store.clear_tokens();
            return cleared.map_or_else(RenewalError::Failed, |()| RenewalError::SignInNeeded);
        }
        if error.is_refusal("invalid_client") {
            let recorded = if self.is_document(&client.id) {
                self.document_refused(&client.id)
            } else if self.options.client_id.is_none() {
                self.store.change_clients(|clients| {
                    let issuer = &used.tokens.issuer;
                    let known = clients.registrations.get(issuer);
                    if known.is_some_and(|known| known.client_id == client.id) {
                        clients.registrations.remove(issuer);
                    }
                })
            } else {
                return RenewalError::Failed(error);
            };
            return recorded.map_or_else(RenewalError::Failed, |()| RenewalError::SignInNeeded);
        }
        self.rest(&error);
        RenewalError::Failed(error)
    }

    /// Sets the back-off if the authorization server is overloaded or unreachable.
    fn rest(&self, error: &Error) {
        let (wait, status) = match error {
            Error::Unavailable { retry_after, status, .. } => {
                (retry_after.unwrap_or(DEFAULT_BACKOFF), *status)
            }
            // The timeout has passed once; the next request need not wait for another.
            Error::Silent { .. } => (DEFAULT_BACKOFF, 503),
            Error::Refused { status, .. } if error.kind() == ErrorKind::Transient => {
                (DEFAULT_BACKOFF, *status)
            }
            _ => return,
        };
        self.state().not_before = Some((Instant::now() + wait, status));
    }

    fn may_ask(&self) -> Result<()> {
        let Some((then, status)) = self.state().not_before else { return Ok(()) };
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let url = "the authorization server".to_owned();
        Err(Error::Unavailable { url, status, retry_after: Some(left) })
    }

    /// The stored metadata of the issuer of these tokens, or a new discovery.
    async fn found(&self, tokens: &StoredTokens) -> Result<Discovery, RenewalError> {
        if let Some(kept) =
            self.stored_discovery().filter(|kept| kept.server.issuer == tokens.issuer)
        {
            return Ok(kept);
        }
        let preferred = (!tokens.issuer.is_empty()).then_some(tokens.issuer.as_str());
        let found = discovery::discover(&self.http, &[], preferred).await?;
        // A refresh token may only be sent to its issuer.
        if found.server.issuer != tokens.issuer {
            return Err(RenewalError::SignInNeeded);
        }
        self.store.save_metadata(&found)?;
        Ok(found)
    }

    /// Whether the server now trusts another issuer than that of the token.
    pub(super) async fn has_moved(&self, used: &AccessToken, challenges: &[Challenge]) -> bool {
        let issuers = discovery::issuers(&self.http, challenges);
        let issuers = tokio::time::timeout(ISSUER_CHECK_TIMEOUT, issuers).await.ok().flatten();
        let moved = issuers.is_some_and(|issuers| {
            !used.tokens.issuer.is_empty() && !issuers.contains(&used.tokens.issuer)
        });
        if moved {
            self.warn("the server switched to another authorization server; sign in again");
        }
        moved
    }

    /// Deletes a pair, unless another process has replaced it.
    pub(super) async fn clear(&self, used: &AccessToken) -> Result<()> {
        let _turn = self.turn.lock().await;
        let _lock = self.store.lock().await?;
        if self.hold_replacement(used) {
            return Ok(());
        }
        self.drop_held();
        self.store.clear_tokens()
    }

    /// Whether another process has replaced a pair; its pair is used from now on.
    fn hold_replacement(&self, used: &AccessToken) -> bool {
        let kept = self.stored_tokens().ok().flatten().filter(|kept| kept.replace(&used.tokens));
        kept.map(|kept| self.hold(kept)).is_some()
    }
}
