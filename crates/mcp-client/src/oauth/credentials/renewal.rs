//! Renewing: one at a time, in this process and among all.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::challenge::Challenge;
use super::super::discovery::{self, Found, Hints};
use super::super::error::Error;
use super::super::store::Tokens;
use super::super::token::{Client, Endpoint};
use super::{Asked, Credentials, Held};

/// How long nothing is asked of a server that wants to be left alone but does not say how long.
const REST: Duration = Duration::from_secs(5);

/// Why there is no other token.
pub(super) enum Stuck {
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
    /// Renews one pair of tokens, once among all who want it.
    pub(super) async fn refresh(
        &self,
        used: &Held,
        challenges: &[Challenge],
    ) -> Result<Arc<Held>, Stuck> {
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
        match self.kept() {
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
        let mut tokens = Self::tokens(granted, &found, asked);
        tokens.refresh_token = tokens.refresh_token.or(Some(refresh_token));
        tokens.scope = tokens.scope.or_else(|| used.tokens.scope.clone());
        if let Err(error) = self.store.save_reserved(room, &tokens) {
            self.warn(&format!("the renewed token could not be kept: {error}"));
        }
        drop(lock);
        Ok(self.hold(tokens))
    }

    /// The first tokens of a program that signs in by itself.
    pub(super) async fn begin_alone(
        &self,
        challenges: &[Challenge],
    ) -> Result<Arc<Held>, crate::Error> {
        let _turn = self.turn.lock().await;
        if let Some(now) = self.current() {
            return Ok(now);
        }
        let _lock = self.store.lock().await?;
        if let Ok(Some(kept)) = self.kept() {
            return Ok(self.hold(kept));
        }
        let tokens = self.obtain(challenges).await?;
        self.store.save_tokens(&tokens)?;
        Ok(self.hold(tokens))
    }

    /// What a failed renewal means. The lock is held.
    fn not_renewed(&self, error: Error, used: &Held, client: &Client) -> Stuck {
        if error.is_refusal("invalid_grant") {
            // A last look: only what was refused is cleared.
            return match self.kept() {
                Ok(Some(kept)) if kept.access_token != used.tokens.access_token => {
                    self.hold(kept);
                    Stuck::Failed(error)
                }
                _ => {
                    self.warn(&format!("the kept sign-in has ended: {error}"));
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
        if let Some(kept) = self.known().filter(|kept| kept.server.issuer == tokens.issuer) {
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
    pub(super) async fn has_moved(&self, used: &Held, challenges: &[Challenge]) -> bool {
        let hints = Hints { challenges, prefer: None };
        let issuers = discovery::issuers(&self.wire, hints).await;
        let moved = issuers.is_some_and(|issuers| {
            !used.tokens.issuer.is_empty() && !issuers.contains(&used.tokens.issuer)
        });
        if moved {
            self.warn("the server moved to another authorization server: sign in again");
        }
        moved
    }

    pub(super) async fn clear(&self) -> Result<(), Error> {
        let _lock = self.store.lock().await?;
        self.drop_held();
        self.store.clear_tokens()
    }
}
