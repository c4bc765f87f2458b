//! A login with a device code (RFC 8628): the person signs in on any device and enters a short code.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use super::super::discovery::Discovery;
use super::super::identification::LoginFacts;
use super::super::metadata::DEVICE_CODE;
use super::super::oauth_http::{FormTarget, HttpReply, secure_address};
use super::super::token::{OAuthClient, TokenEndpoint, TokenResponse, lifetime_seconds};
use super::super::token_store::StoredTokens;
use super::{Login, LoginRound, MAX_IDENTITIES};
use crate::error::ErrorKind;
use crate::error::oauth::{Error, Result};

/// Maximum wait of a login, whatever the lifetime of its code.
const MAX_WAIT: Duration = Duration::from_hours(1);
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_INTERVAL: Duration = Duration::from_mins(1);
/// RFC 8628: the default interval, and the increment for `slow_down`.
const INTERVAL_STEP: Duration = Duration::from_secs(5);
const MAX_DEVICE_CODE_BYTES: usize = 16 * 1024;
const MAX_USER_CODE_BYTES: usize = 64;
const MAX_URL_BYTES: usize = 2048;

/// The data for a sign-in on another device. All texts are printable ASCII.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    pub server: String,
    pub issuer: String,
    pub scope: Option<String>,
    pub user_code: String,
    pub verification_uri: String,
    /// The same page with the code filled in.
    pub verification_uri_complete: Option<String>,
    /// Timeout of the login.
    pub expires_in: Duration,
}

pub trait DeviceCodeDisplay: fmt::Debug + Send + Sync {
    fn show(&self, code: &DeviceCode);
}

struct DeviceAuthorization {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Duration,
    interval: Duration,
}

impl Login<'_> {
    pub(super) async fn with_device_code(
        &self,
        facts: &LoginFacts<'_>,
        found: &Discovery,
        display: &dyn DeviceCodeDisplay,
    ) -> Result<StoredTokens> {
        let issuer = || found.server.issuer.clone();
        let endpoint = found.server.device_authorization_endpoint.as_ref();
        let endpoint = endpoint.ok_or_else(|| Error::NoDeviceCode { issuer: issuer() })?;
        let mut round = self.round(facts, found, None);
        for _ in 0..MAX_IDENTITIES {
            let who = self.identify(&round).await?;
            let granted = async {
                let authorization = self.authorize_device(&round, &who.client, endpoint).await?;
                let wait = self.credentials.options.timeout.unwrap_or(MAX_WAIT);
                let wait = wait.min(authorization.expires_in);
                display.show(&DeviceCode {
                    server: self.credentials.server.clone(),
                    issuer: issuer(),
                    scope: round.scope.clone(),
                    user_code: authorization.user_code.clone(),
                    verification_uri: authorization.verification_uri.clone(),
                    verification_uri_complete: authorization.verification_uri_complete.clone(),
                    expires_in: wait,
                });
                self.poll(&round, &who.client, &authorization, wait).await
            };
            match granted.await {
                Ok(granted) => return self.store_tokens(granted, &round, &who).await,
                Err(error) => self.discard(&mut round, &who, error)?,
            }
        }
        Err(Error::NoIdentity { issuer: issuer() })
    }

    async fn authorize_device(
        &self,
        round: &LoginRound<'_>,
        client: &OAuthClient,
        endpoint: &str,
    ) -> Result<DeviceAuthorization> {
        let mut form: Vec<(&str, Cow<'_, str>)> =
            vec![("resource", round.found.resource.as_str().into())];
        form.extend(round.scope.as_deref().map(|scope| ("scope", scope.into())));
        let headers = client.prove(&mut form, &round.found.server.issuer)?;
        let http = &self.credentials.http;
        let reply = http.post_form(FormTarget::Other, endpoint, headers, &form).await?;
        let authorization = DeviceAuthorization::parse(&reply)?;
        // The server may echo it in its responses.
        self.credentials.redact_rotating("device code", &authorization.device_code);
        Ok(authorization)
    }

    /// Polls until the person has signed in or refused, or the code has expired.
    async fn poll(
        &self,
        round: &LoginRound<'_>,
        client: &OAuthClient,
        authorization: &DeviceAuthorization,
        wait: Duration,
    ) -> Result<TokenResponse> {
        let (http, server) = (&self.credentials.http, &round.found.server);
        let endpoint = TokenEndpoint { http, server, client, key: round.key.as_ref() };
        let grant = [
            ("grant_type", DEVICE_CODE),
            ("device_code", authorization.device_code.as_str()),
            ("resource", round.found.resource.as_str()),
        ];
        let end = Instant::now() + wait;
        let expired = || Error::CodeExpired { after: wait };
        let mut interval = authorization.interval;
        loop {
            sleep_until(end.min(Instant::now() + interval)).await;
            let error = match endpoint.request(&grant).await {
                Ok(granted) => return Ok(granted),
                Err(error) => error,
            };
            let is_over = Instant::now() >= end;
            match &error {
                Error::Refused { code, .. } if code == "authorization_pending" => {}
                Error::Refused { code, .. } if code == "slow_down" => interval += INTERVAL_STEP,
                Error::Refused { code, .. } if code == "expired_token" => return Err(expired()),
                // The person may be signing in meanwhile.
                Error::Unavailable { .. } | Error::Silent { .. } | Error::Unreached(_)
                    if error.kind() == ErrorKind::Transient && !is_over =>
                {
                    interval *= 2;
                }
                _ => return Err(error),
            }
            if is_over {
                return Err(expired());
            }
            interval = interval.min(MAX_INTERVAL);
        }
    }
}

impl DeviceAuthorization {
    fn parse(reply: &HttpReply) -> Result<Self> {
        if !reply.is_success() {
            return Err(reply.error());
        }
        let object = reply.object().ok_or_else(|| reply.malformed("not a JSON object"))?;
        let text = |key: &str, limit: usize| {
            let text = object.get(key).and_then(Value::as_str).unwrap_or_default().trim();
            let is_good = !text.is_empty()
                && text.len() <= limit
                && text.chars().all(|letter| letter.is_ascii_graphic() || letter == ' ');
            let reason = format!("`{key}` is missing, too long or not printable ASCII");
            if is_good { Ok(text.to_owned()) } else { Err(reply.malformed(&reason)) }
        };
        let page = |key: &str| {
            let url = text(key, MAX_URL_BYTES)?;
            secure_address("the verification page", &url).map(|_| url)
        };
        // Some servers still use the name of a draft.
        let has_final_name = object.contains_key("verification_uri");
        let verification_uri = if has_final_name { "verification_uri" } else { "verification_url" };
        let lifetime = lifetime_seconds(&object).map_or(MAX_WAIT, Duration::from_secs);
        Ok(Self {
            device_code: text("device_code", MAX_DEVICE_CODE_BYTES)?,
            user_code: text("user_code", MAX_USER_CODE_BYTES)?,
            verification_uri: page(verification_uri)?,
            verification_uri_complete: page("verification_uri_complete").ok(),
            expires_in: lifetime.min(MAX_WAIT),
            interval: interval(&object),
        })
    }
}

fn interval(object: &Map<String, Value>) -> Duration {
    let seconds = object.get("interval").and_then(Value::as_f64);
    let seconds = seconds.map_or(INTERVAL_STEP, |seconds| {
        Duration::from_secs_f64(seconds.clamp(0.0, MAX_INTERVAL.as_secs_f64()))
    });
    seconds.max(MIN_INTERVAL)
}

#[cfg(test)]
mod tests;
