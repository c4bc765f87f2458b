//! Dynamic client registration (RFC 7591), for servers without client documents.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::assertion::unix_seconds;
use super::metadata::{DEVICE_CODE, ServerMetadata};
use super::oauth_http::OAuthHttp;
use super::token::{ClientAuthMethod, OAuthClient};
use crate::error::oauth::Error;
use crate::url::is_secure;

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Registration {
    pub(crate) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// Unix seconds; 0 is never.
    #[serde(default)]
    pub(crate) client_secret_expires_at: u64,
    pub(crate) token_endpoint_auth_method: String,
    /// Empty for a client that uses device codes.
    pub(crate) redirect_uri: String,
    pub(crate) client_name: String,
    /// A login with it timed out: the next one registers again.
    #[serde(default)]
    pub(crate) suspect: bool,
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("client_id", &self.client_id)
            .field("redirect_uri", &self.redirect_uri)
            .finish_non_exhaustive()
    }
}

impl Registration {
    pub(crate) fn client(&self) -> OAuthClient {
        let method =
            match (ClientAuthMethod::of(&self.token_endpoint_auth_method), &self.client_secret) {
                (Some(method), _) => method,
                (None, Some(_)) => ClientAuthMethod::Post,
                (None, None) => ClientAuthMethod::None,
            };
        OAuthClient { id: self.client_id.clone(), secret: self.client_secret.clone(), method }
    }

    pub(crate) fn is_good(&self) -> bool {
        !self.suspect && !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.client_secret_expires_at != 0 && self.client_secret_expires_at <= unix_seconds()
    }

    /// Whether the redirects differ in nothing but a loopback port.
    pub(crate) fn is_at(&self, redirect_uri: &str) -> bool {
        let without_port = |uri: &str| -> Option<(String, String)> {
            let uri: http::Uri = uri.parse().ok().filter(is_secure)?;
            let is_loopback = uri.scheme_str() == Some("http");
            is_loopback.then(|| (uri.host().unwrap_or_default().to_owned(), uri.path().to_owned()))
        };
        let own = without_port(&self.redirect_uri);
        own.is_some() && own == without_port(redirect_uri)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RegistrationRequest<'a> {
    pub(crate) client_name: &'a str,
    /// Empty for a client that uses device codes.
    pub(crate) redirect_uri: &'a str,
    pub(crate) scope: Option<&'a str>,
    /// Overrides the default for the server.
    pub(crate) method: Option<&'a str>,
}

/// Registers. The server's response overrides what was requested.
pub(crate) async fn register(
    http: &OAuthHttp,
    server: &ServerMetadata,
    wanted: RegistrationRequest<'_>,
) -> Result<Registration, Error> {
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(Error::NoIdentity { issuer: server.issuer.clone() });
    };
    tracing::debug!(endpoint, "registering a client");
    let method = wanted.method.unwrap_or_else(|| default_auth_method(server));
    let (redirects, grant, responses) = match wanted.redirect_uri {
        "" => (json!([]), DEVICE_CODE, json!([])),
        uri => (json!([uri]), "authorization_code", json!(["code"])),
    };
    let mut document = json!({
        "client_name": wanted.client_name,
        "redirect_uris": redirects,
        "grant_types": [grant, "refresh_token"],
        "response_types": responses,
        "token_endpoint_auth_method": method,
        "application_type": "native",
    });
    if let Some(scope) = wanted.scope {
        document["scope"] = json!(scope);
    }
    let mut reply = http.post_json(endpoint, &document).await?;
    // The registration endpoint need not know the scopes of the resource.
    if reply.status == 400
        && wanted.scope.is_some()
        && matches!(reply.refusal().0.as_deref(), Some("invalid_client_metadata" | "invalid_scope"))
        && let Some(document) = document.as_object_mut()
    {
        document.remove("scope");
        reply = http.post_json(endpoint, &Value::Object(document.clone())).await?;
    }
    if !reply.is_success() {
        let (code, description) = reply.refusal();
        let (issuer, status) = (server.issuer.clone(), reply.status);
        return Err(reply.unavailable().unwrap_or(Error::Registration {
            issuer,
            status,
            code,
            description,
        }));
    }
    let object = reply.object().ok_or_else(|| reply.malformed("not a JSON object"))?;
    let text = |key: &str| {
        let text = object.get(key).and_then(Value::as_str).unwrap_or_default();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let client_secret = text("client_secret");
    let fallback =
        if client_secret.is_some() && method == "none" { "client_secret_post" } else { method };
    Ok(Registration {
        client_id: text("client_id").ok_or_else(|| reply.malformed("missing `client_id`"))?,
        client_secret_expires_at: object
            .get("client_secret_expires_at")
            .and_then(Value::as_u64)
            .unwrap_or(0),
        token_endpoint_auth_method: text("token_endpoint_auth_method")
            .unwrap_or_else(|| fallback.to_owned()),
        client_secret,
        redirect_uri: wanted.redirect_uri.to_owned(),
        client_name: wanted.client_name.to_owned(),
        suspect: false,
    })
}

/// A native program is a public client, unless the server requires a secret.
fn default_auth_method(server: &ServerMetadata) -> &'static str {
    let known = server.auth_methods.as_deref().unwrap_or_default();
    if known.is_empty() || known.iter().any(|method| method == "none") {
        return "none";
    }
    match ClientAuthMethod::with_secret(server) {
        ClientAuthMethod::Post => "client_secret_post",
        _ => "client_secret_basic",
    }
}

#[cfg(test)]
mod tests;
