//! Requests to the token endpoint.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value};

use super::assertion::SigningKey;
use super::dpop::{DpopKey, ProofAudience};
use super::metadata::ServerMetadata;
use super::oauth_http::{FormTarget, HttpReply, OAuthHttp, one_line_excerpt, secure_address};
use crate::error::oauth::{Error, Result};

/// Maximum accepted lifetime: ten years.
const MAX_LIFE_SECONDS: f64 = 315_360_000.0;
const MAX_TOKEN_BYTES: usize = 128 * 1024;

// Not `Debug`: it holds a secret.
#[derive(Clone)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) secret: Option<String>,
    pub(crate) method: ClientAuthMethod,
}

#[derive(Clone)]
pub(crate) enum ClientAuthMethod {
    None,
    Basic,
    Post,
    /// `private_key_jwt`.
    Signed(Arc<SigningKey>),
}

impl ClientAuthMethod {
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "client_secret_basic" => Some(Self::Basic),
            "client_secret_post" => Some(Self::Post),
            _ => None,
        }
    }

    pub(crate) fn with_secret(server: &ServerMetadata) -> Self {
        let known = server.auth_methods.as_deref().unwrap_or_default();
        let takes = |name: &str| known.iter().any(|method| method == name);
        if takes("client_secret_post") && !takes("client_secret_basic") {
            Self::Post
        } else {
            Self::Basic
        }
    }
}

impl OAuthClient {
    pub(crate) fn public(id: &str) -> Self {
        Self { id: id.to_owned(), secret: None, method: ClientAuthMethod::None }
    }

    pub(crate) fn prove<'a>(
        &'a self,
        form: &mut Vec<(&'a str, Cow<'a, str>)>,
        issuer: &str,
    ) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        match (&self.method, &self.secret) {
            // The id is in the form as well: the official Python SDK expects it there.
            (ClientAuthMethod::Basic, Some(secret)) => {
                headers.insert(AUTHORIZATION, basic_header(&self.id, secret)?);
            }
            (ClientAuthMethod::Post, Some(secret)) => form.push(("client_secret", secret.into())),
            (ClientAuthMethod::Signed(key), _) => {
                form.push(("client_assertion_type", CLIENT_ASSERTION.into()));
                form.push(("client_assertion", key.client_assertion(&self.id, issuer)?.into()));
            }
            _ => {}
        }
        form.push(("client_id", (&self.id).into()));
        Ok(headers)
    }
}

// Not `Debug`: it holds secrets.
pub(crate) struct TokenResponse {
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    /// Seconds from now.
    pub(crate) expires_in: Option<u64>,
    pub(crate) scope: Option<String>,
    /// Bound to the key of the proof.
    pub(crate) bound: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct TokenEndpoint<'a> {
    pub(crate) http: &'a OAuthHttp,
    pub(crate) server: &'a ServerMetadata,
    pub(crate) client: &'a OAuthClient,
    pub(crate) key: Option<&'a DpopKey>,
}

impl TokenEndpoint<'_> {
    /// Requests tokens. Retries once with a `DPoP` nonce if the server demands it.
    pub(crate) async fn request(&self, grant: &[(&str, &str)]) -> Result<TokenResponse> {
        let mut reply = self.send(grant).await?;
        if let Some(key) = self.key
            && let Some(nonce) =
                reply.headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok())
        {
            key.store_nonce(ProofAudience::TokenEndpoint, nonce);
            if reply.refusal().0.as_deref() == Some("use_dpop_nonce") {
                reply = self.send(grant).await?;
            }
        }
        let kind = grant.iter().find(|(name, _)| *name == "grant_type").map(|(_, kind)| *kind);
        tracing::debug!(grant = kind, status = reply.status, "token response");
        parse_token_response(&reply)
    }

    async fn send(&self, grant: &[(&str, &str)]) -> Result<HttpReply> {
        let url = &self.server.token_endpoint;
        let mut form: Vec<(&str, Cow<'_, str>)> =
            grant.iter().map(|(key, value)| (*key, Cow::Borrowed(*value))).collect();
        let mut headers = self.client.prove(&mut form, &self.server.issuer)?;
        if let Some(key) = self.key {
            let target = secure_address("the token endpoint", url)?;
            let proof = key.proof(ProofAudience::TokenEndpoint, "POST", &target, None);
            if let Some(proof) = proof.and_then(|proof| HeaderValue::from_str(&proof).ok()) {
                headers.insert("dpop", proof);
            }
        }
        self.http.post_form(FormTarget::TokenEndpoint, url, headers, &form).await
    }
}

const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Both parts are form-encoded (RFC 6749, 2.3.1), spaces as `%20`, which every server decodes.
fn basic_header(id: &str, secret: &str) -> Result<HeaderValue> {
    let encoded = |text: &str| {
        form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
    };
    let login = STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
    let mut header = HeaderValue::from_str(&format!("Basic {login}")).map_err(|_| {
        Error::Assertion { reason: "the client secret cannot be sent in a header".to_owned() }
    })?;
    header.set_sensitive(true);
    Ok(header)
}

fn parse_token_response(reply: &HttpReply) -> Result<TokenResponse> {
    if !reply.is_success() {
        return Err(reply.error());
    }
    let Some(object) = reply.object() else { return Err(reply.malformed("not a JSON object")) };
    // Some servers refuse with a status of success.
    if let (Some(code), None) = (reply.refusal().0, object.get("access_token")) {
        let description = reply.refusal().1;
        return Err(Error::Refused { status: reply.status, code, description });
    }
    let text = |key: &str| {
        let text = object.get(key).and_then(Value::as_str).unwrap_or_default();
        (!text.is_empty() && text.len() <= MAX_TOKEN_BYTES).then(|| text.to_owned())
    };
    let missing = || reply.malformed("missing access token");
    let access_token = text("access_token").ok_or_else(missing)?;
    if HeaderValue::from_str(&access_token).is_err() {
        return Err(reply.malformed("the access token cannot be sent in a header"));
    }
    let kind = text("token_type").unwrap_or_else(|| "Bearer".to_owned());
    let bound = kind.eq_ignore_ascii_case("DPoP");
    if !bound && !kind.eq_ignore_ascii_case("Bearer") {
        let reason = format!("unsupported token type `{}`", one_line_excerpt(&kind));
        return Err(reply.malformed(&reason));
    }
    Ok(TokenResponse {
        access_token,
        refresh_token: text("refresh_token"),
        expires_in: lifetime_seconds(&object),
        scope: text("scope"),
        bound,
    })
}

/// The lifetime in seconds: a number, or a string that holds one. Zero counts as unknown: the token
/// would otherwise be renewed before every request.
pub(super) fn lifetime_seconds(object: &Map<String, Value>) -> Option<u64> {
    let seconds = match object.get("expires_in")? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    if !seconds.is_finite() {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a range that fits"
    )]
    let whole = seconds.clamp(0.0, MAX_LIFE_SECONDS) as u64;
    (whole > 0).then_some(whole)
}

#[cfg(test)]
mod tests;
