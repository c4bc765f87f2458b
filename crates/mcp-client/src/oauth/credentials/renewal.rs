//! Renewing: one at a time, in this process and among all.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::challenge::{self, Challenge};
use super::super::discovery::{self, Found, Hints};
use super::super::store::Tokens;
use super::super::token::{Client, Endpoint, Granted};
use super::{Asked, Credentials, Held};
use crate::error::Kind;
use crate::error::oauth::Error;

/// How long nothing is asked of a server that wants to be left alone but does not say how long.
const REST: Duration = Duration::from_secs(5);

/// How long it may take to learn whether a server moved.
const LOOK: Duration = Duration::from_secs(3);

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
    /// Renews one pair of tokens, once among all who want it. What was begun is brought to its end
    /// even if nobody waits any more: the answer holds the only good refresh token.
    pub(super) async fn refresh(
        self: &Arc<Self>,
        used: &Arc<Held>,
        challenges: &[Challenge],
    ) -> Result<Arc<Held>, Stuck> {
        let (this, used, challenges) = (Arc::clone(self), Arc::clone(used), challenges.to_vec());
        let renewing = tokio::spawn(async move { this.refresh_now(&used, &challenges).await });
        // It ends early only with the whole program.
        renewing.await.unwrap_or(Err(Stuck::Failed(Error::Cancelled)))
    }

    /// Waits until nothing is being renewed.
    pub(crate) async fn finished(&self) {
        let _turn = self.turn.lock().await;
    }

    async fn refresh_now(&self, used: &Held, challenges: &[Challenge]) -> Result<Arc<Held>, Stuck> {
        let _turn = self.turn.lock().await;
        match self.current() {
            Some(now) if now.tokens.replace(&used.tokens) => return Ok(now),
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
            Ok(Some(kept)) if kept.replace(&used.tokens) => return Ok(self.hold(kept)),
            Ok(Some(_)) => {}
            Ok(None) => {
                self.drop_held();
                return Err(Stuck::Person);
            }
            // Somebody damaged the file: what we have is still good.
            Err(_) => self.store.set_tokens_aside(),
        }
        let Some(refresh_token) = used.tokens.refresh_token.clone() else {
            let tokens = self.obtain(challenges).await.inspect_err(|error| self.rest(error))?;
            self.store.save_tokens(&tokens)?;
            return Ok(self.hold(tokens));
        };
        let mut found = self.found(&used.tokens).await?;
        let client = self.client_of(&used.tokens, &found.server)?;
        let room = self.store.reserve_tokens()?;
        let mut granted = self.ask_to_renew(used, &refresh_token, &found, &client).await;
        // What is known of the endpoint may be old: it is looked up again where nothing answers.
        if let Err(Error::Malformed { .. }) = &granted
            && let Some(newer) = self.found_anew(&used.tokens, &found).await
        {
            found = newer;
            granted = self.ask_to_renew(used, &refresh_token, &found, &client).await;
        }
        let granted = match granted {
            Ok(granted) => granted,
            Err(error) => return Err(self.not_renewed(error, used, &client)),
        };
        let scope = used.requested();
        let asked = Asked { scope, client: &client.id, key: used.key.as_ref() };
        let mut tokens = Self::tokens(granted, &found, asked);
        tokens.refresh_token = tokens.refresh_token.or(Some(refresh_token));
        tokens.scope = tokens.scope.or_else(|| used.tokens.scope.clone());
        tokens.login.clone_from(&used.tokens.login);
        tokens.renewals = used.tokens.renewals + 1;
        if let Err(error) = self.store.save_reserved(room, &tokens) {
            self.warn(&format!("the renewed token could not be kept: {error}"));
        }
        drop(lock);
        Ok(self.hold(tokens))
    }

    async fn ask_to_renew(
        &self,
        used: &Held,
        refresh_token: &str,
        found: &Found,
        client: &Client,
    ) -> Result<Granted, Error> {
        let mut grant = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
            ("resource", found.resource.as_str()),
        ];
        grant.extend(used.tokens.scope.as_deref().map(|scope| ("scope", scope)));
        let (wire, server) = (&self.wire, &found.server);
        Endpoint { wire, server, client, key: used.key.as_ref() }.request(&grant).await
    }

    /// What the issuer of these tokens says about itself now, if that is something else.
    async fn found_anew(&self, tokens: &Tokens, old: &Found) -> Option<Found> {
        let hints = Hints { challenges: &[], prefer: Some(&tokens.issuer) };
        let found = discovery::discover(&self.wire, hints).await.ok()?;
        let is_news = found.server.issuer == tokens.issuer
            && found.server.token_endpoint != old.server.token_endpoint;
        if !is_news || self.store.save_metadata(&found).is_err() {
            return None;
        }
        Some(found)
    }

    /// Tokens of a program that signs in by itself, whatever it has.
    pub(crate) async fn begin_anew(&self, challenge: Option<&str>) -> Result<(), crate::Error> {
        let challenges = challenge.map(challenge::parse).unwrap_or_default();
        let _turn = self.turn.lock().await;
        let _lock = self.store.lock().await?;
        let tokens = self.obtain(&challenges).await;
        let tokens = tokens.map_err(|error| Error::Alone(Box::new(error)))?;
        self.store.save_tokens(&tokens)?;
        self.hold(tokens);
        Ok(())
    }

    /// The first tokens of a program that signs in by itself.
    pub(super) async fn begin_alone(&self, challenges: &[Challenge]) -> Result<Arc<Held>, Stuck> {
        let _turn = self.turn.lock().await;
        if let Some(now) = self.current() {
            return Ok(now);
        }
        let _lock = self.store.lock().await?;
        if let Ok(Some(kept)) = self.kept() {
            return Ok(self.hold(kept));
        }
        self.may_ask()?;
        let tokens = self.obtain(challenges).await.inspect_err(|error| self.rest(error))?;
        self.store.save_tokens(&tokens)?;
        Ok(self.hold(tokens))
    }

    /// What a failed renewal means. The lock is held.
    fn not_renewed(&self, error: Error, used: &Held, client: &Client) -> Stuck {
        if error.is_refusal("invalid_grant") {
            // A last look: only what was refused is cleared.
            return match self.kept() {
                Ok(Some(kept)) if kept.replace(&used.tokens) => {
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
                    let issuer = &used.tokens.issuer;
                    let known = clients.registrations.get(issuer);
                    if known.is_some_and(|known| known.client_id == client.id) {
                        clients.registrations.remove(issuer);
                    }
                })
            } else {
                return Stuck::Failed(error);
            };
            return recorded.map_or_else(Stuck::Failed, |()| Stuck::Person);
        }
        self.rest(&error);
        Stuck::Failed(error)
    }

    /// Leaves alone for a while whoever is in trouble, or asks for it.
    fn rest(&self, error: &Error) {
        let (wait, status) = match error {
            Error::Unavailable { retry_after, status, .. } => {
                (retry_after.unwrap_or(REST), *status)
            }
            // Whoever waited for it in vain need not do so again at once.
            Error::Silent { .. } => (REST, 503),
            Error::Refused { status, .. } if error.kind() == Kind::Transient => (REST, *status),
            _ => return,
        };
        self.state().not_before = Some((Instant::now() + wait, status));
    }

    fn may_ask(&self) -> Result<(), Error> {
        let Some((then, status)) = self.state().not_before else { return Ok(()) };
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let url = "the authorization server".to_owned();
        Err(Error::Unavailable { url, status, retry_after: Some(left) })
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
        let issuers = tokio::time::timeout(LOOK, discovery::issuers(&self.wire, hints)).await;
        let issuers = issuers.ok().flatten();
        let moved = issuers.is_some_and(|issuers| {
            !used.tokens.issuer.is_empty() && !issuers.contains(&used.tokens.issuer)
        });
        if moved {
            self.warn("the server moved to another authorization server: sign in again");
        }
        moved
    }

    /// Clears a pair that is of no more use; what somebody else has brought home since stays.
    pub(super) async fn clear(&self, used: &Held) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        let _lock = self.store.lock().await?;
        match self.kept() {
            Ok(Some(kept)) if kept.replace(&used.tokens) => {
                self.hold(kept);
                Ok(())
            }
            _ => {
                self.drop_held();
                self.store.clear_tokens()
            }
        }
    }
}
