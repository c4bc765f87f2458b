//! Tokens in use: their request headers and expiry, and requests that are sent with them.

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};

use super::super::assertion::unix_seconds;
use super::super::dpop::{DpopKey, ProofAudience};
use super::super::token_store::StoredTokens;
use super::Credentials;
use crate::transport::http_client::{Authorized, Authorizer, HttpClient};

/// Tokens are renewed this long before their expiry, unless their lifetime is short.
const EARLY_SECONDS: u64 = 60;
/// Maximum clock step backwards before recorded times are distrusted.
const SKEW_SECONDS: u64 = 300;

#[derive(Debug)]
pub(crate) struct AccessToken {
    pub(in crate::oauth) tokens: StoredTokens,
    pub(super) key: Option<DpopKey>,
}

impl AccessToken {
    pub(crate) fn headers(&self, method: &Method, target: &Uri) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let token = &self.tokens.access_token;
        let scheme = if self.key.is_some() { "DPoP" } else { "Bearer" };
        if let Ok(mut value) = HeaderValue::from_str(&format!("{scheme} {token}")) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        if let Some(key) = &self.key {
            let proof = key.proof(ProofAudience::Server, method.as_str(), target, Some(token));
            if let Some(proof) = proof.and_then(|proof| HeaderValue::from_str(&proof).ok()) {
                headers.insert("dpop", proof);
            }
        }
        headers
    }

    pub(in crate::oauth) fn requested(&self) -> Option<&str> {
        self.tokens.requested_scope.as_deref().or(self.tokens.scope.as_deref())
    }

    pub(super) fn is_old(&self) -> bool {
        let Some(end) = self.tokens.expires_at else { return false };
        let now = unix_seconds();
        let life = end.saturating_sub(self.tokens.obtained_at);
        let early = EARLY_SECONDS.min(life / 10);
        // A clock that was set back makes a token look younger than it is.
        now.saturating_add(early) >= end
            || self.tokens.obtained_at > now.saturating_add(SKEW_SECONDS)
    }

    pub(super) fn is_over(&self) -> bool {
        self.tokens.expires_at.is_some_and(|end| unix_seconds() >= end)
    }
}

/// Maximum retries with another token: a token that another process just renewed may expire
/// before it is sent.
const MAX_RENEWALS: u32 = 2;
/// Maximum retries with another `DPoP` proof for the same token.
const MAX_PROOFS: u32 = 2;

impl Authorizer for Credentials {
    /// A refused request was not executed, so that a retry is safe.
    fn send(self: Arc<Self>, client: &HttpClient, request: Request<Bytes>) -> Authorized<'_> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let (method, target) = (&parts.method, &parts.uri);
            let mut token = self.present().await?;
            let (mut renewals, mut proofs) = (0, 0);
            loop {
                let mut headers = parts.headers.clone();
                headers.extend(token.iter().flat_map(|token| token.headers(method, target)));
                let response = client.follow(method, target, &headers, body.clone()).await?;
                if response.status() != StatusCode::UNAUTHORIZED {
                    return Ok(response);
                }
                if renewals == MAX_RENEWALS {
                    self.give_up()?;
                    return Ok(response);
                }
                match self.renew(token.as_ref(), response.headers()).await? {
                    Some(fresh)
                        if token.as_ref().is_some_and(|token| Arc::ptr_eq(token, &fresh)) =>
                    {
                        proofs += 1;
                        if proofs > MAX_PROOFS {
                            return Ok(response);
                        }
                    }
                    Some(fresh) => {
                        renewals += 1;
                        token = Some(fresh);
                    }
                    None => return Ok(response),
                }
            }
        })
    }
}
