//! Tokens in use: their request headers and expiry.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::super::dpop::{DpopKey, ProofAudience};
use super::super::token_store::StoredTokens;
use super::now;

/// How long before its expiry a token is renewed, unless its lifetime is short.
const EARLY_SECONDS: u64 = 60;
/// How far the clock may be set back before recorded times are distrusted.
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
        let now = now();
        let life = end.saturating_sub(self.tokens.obtained_at);
        let early = EARLY_SECONDS.min(life / 10);
        // A clock that was set back makes a token look younger than it is.
        now.saturating_add(early) >= end
            || self.tokens.obtained_at > now.saturating_add(SKEW_SECONDS)
    }

    pub(super) fn is_over(&self) -> bool {
        self.tokens.expires_at.is_some_and(|end| now() >= end)
    }
}
