//! Flows without a person: client credentials, workload identity, and enterprise-managed
//! authorization.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::super::challenge::Challenge;
use super::super::discovery::{Discovery, discover};
use super::super::dpop::DpopKey;
use super::super::oauth_http::{FormTarget, one_line_excerpt};
use super::super::pkce::random_token;
use super::super::scope::ScopeRequest;
use super::super::token::{OAuthClient, TokenEndpoint};
use super::super::token_store::StoredTokens;
use super::{Credentials, GrantContext, bad_file, read_file};
use crate::config::{Flow, Text};
use crate::error::oauth::{Error, Result};

const MAX_ASSERTION_BYTES: usize = 64 * 1024;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

impl Credentials {
    /// Requests tokens by the entry's `flow`. A refusal is final.
    pub(super) async fn obtain(&self, challenges: &[Challenge]) -> Result<StoredTokens> {
        let found = discover(&self.http, challenges, None).await?;
        self.store.save_metadata(&found)?;
        let client = self.configured_client(&found.server)?;
        let configured = self.options.scope.as_ref().map(|scope| scope.value().trim());
        let scopes = ScopeRequest { configured, challenges, before: None };
        let scope = scopes.choose(found.scopes.as_deref(), &found.server.scopes_supported);
        let key = found.bind.then(DpopKey::generate).flatten();
        let mut grant = vec![("resource", found.resource.clone())];
        grant.extend(scope.clone().map(|scope| ("scope", scope)));
        let client = match self.options.flow {
            Flow::Browser | Flow::ClientCredentials => {
                grant.push(("grant_type", "client_credentials".to_owned()));
                client.ok_or_else(|| {
                    missing_options("`client_id`, `client_secret` or `private_key`")
                })?
            }
            Flow::Workload => {
                grant.push(("grant_type", JWT_BEARER.to_owned()));
                grant.push(("assertion", self.assertion()?));
                client.unwrap_or_else(|| OAuthClient::public(&self.client_name()))
            }
            Flow::Enterprise => {
                grant.push(("grant_type", JWT_BEARER.to_owned()));
                grant.push(("assertion", self.exchanged(&found, scope.as_deref()).await?));
                client.ok_or_else(|| missing_options("`client_id`"))?
            }
        };
        let (http, server) = (&self.http, &found.server);
        let endpoint = TokenEndpoint { http, server, client: &client, key: key.as_ref() };
        let form: Vec<(&str, &str)> =
            grant.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let granted = endpoint.request(&form).await?;
        let asked = GrantContext { scope: scope.as_deref(), client: &client.id, key: key.as_ref() };
        let mut tokens = Self::tokens(granted, &found, asked);
        tokens.login = random_token()?;
        Ok(tokens)
    }

    /// Exchanges our identity token at the identity provider for an assertion for this
    /// authorization server (ID-JAG).
    async fn exchanged(&self, found: &Discovery, scope: Option<&str>) -> Result<String> {
        let options = &self.options;
        let endpoint = options.idp_token_endpoint.as_ref();
        let endpoint =
            endpoint.ok_or_else(|| missing_options("`idp_token_endpoint`"))?.value().trim();
        let id = options.idp_client_id.as_ref().map(|id| id.value().trim());
        let subject = self.assertion()?;
        let mut form = vec![
            ("grant_type", TOKEN_EXCHANGE.into()),
            ("subject_token", subject.into()),
            ("subject_token_type", ID_TOKEN.into()),
            ("requested_token_type", ID_JAG.into()),
            ("audience", found.server.issuer.as_str().into()),
            ("resource", found.resource.as_str().into()),
        ];
        form.extend(scope.map(|scope| ("scope", scope.into())));
        form.extend(id.map(|id| ("client_id", id.into())));
        let secret = options.idp_client_secret.as_ref().map(Text::value);
        form.extend(secret.map(|secret| ("client_secret", secret.into())));
        let headers = http::HeaderMap::new();
        let reply = self.http.post_form(FormTarget::Other, endpoint, headers, &form).await?;
        if !reply.is_success() {
            return Err(reply.error());
        }
        let object = reply.object().unwrap_or_default();
        let kind = object.get("issued_token_type").and_then(Value::as_str);
        let token = object.get("access_token").and_then(Value::as_str);
        match (kind, token) {
            (Some(ID_JAG), Some(token)) => Ok(token.to_owned()),
            (Some(other), _) if other != ID_JAG => {
                let reason = format!("unexpected token type `{}`", one_line_excerpt(other));
                Err(reply.malformed(&reason))
            }
            _ => Err(reply.malformed("no assertion for the authorization server")),
        }
    }

    /// The assertion, read on every use: its provider rotates it.
    fn assertion(&self) -> Result<String> {
        let options = &self.options;
        let text = match (&options.assertion_file, &options.assertion) {
            (Some(path), _) => {
                let bad = |problem: &str| bad_file("assertion_file", path, problem);
                let bytes = read_file("assertion_file", path)?;
                if bytes.len() > MAX_ASSERTION_BYTES {
                    return Err(bad(&format!("exceeds the limit of {MAX_ASSERTION_BYTES} bytes")));
                }
                String::from_utf8(bytes).map_err(|_| bad("is not UTF-8 text"))?
            }
            (None, Some(text)) => text.value().to_owned(),
            (None, None) => return Err(missing_options("`assertion_file` or `assertion`")),
        };
        let text = text.trim().to_owned();
        // The content is not quoted: it may be any secret file.
        if !is_jwt(&text) {
            let reason = "the value of `assertion_file` or `assertion` is not a JSON Web Token";
            return Err(Error::Assertion { reason: reason.to_owned() });
        }
        self.redact_rotating("assertion", &text);
        Ok(text)
    }
}

/// Whether a text is a signed JSON Web Token: three parts, the first of which is a header.
fn is_jwt(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let header = parts.first().and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let header = header.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let is_word = |part: &&str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte))
    };
    parts.len() == 3
        && parts.iter().all(is_word)
        && header.is_some_and(|header| header.get("alg").is_some())
}

fn missing_options(keys: &str) -> Error {
    Error::Assertion { reason: format!("this `flow` requires {keys} under `oauth`") }
}
