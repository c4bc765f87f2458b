//! OAuth metadata documents: RFC 9728 of the MCP server, RFC 8414 and `OpenID` Connect discovery of
//! the authorization server. Pure: their URLs and their parsing.

use http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::url::{origin, same_origin};

const MAX_ITEMS: usize = 200;

/// The grant type of device codes (RFC 8628).
pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: Option<String>,
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) supports_dpop: bool,
}

impl ResourceMetadata {
    /// Keys of a wrong type count as absent.
    pub(crate) fn read(document: &Map<String, Value>) -> Self {
        let required = document.get("dpop_bound_access_tokens_required") == Some(&json!(true));
        Self {
            resource: text(document, "resource"),
            authorization_servers: list(document, "authorization_servers").unwrap_or_default(),
            scopes_supported: list(document, "scopes_supported"),
            supports_dpop: required
                || list(document, "dpop_signing_alg_values_supported").is_some(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: String,
    pub(crate) registration_endpoint: Option<String>,
    /// `None` also if the server lists its grant types without that of device codes.
    pub(crate) device_authorization_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) scopes_supported: Vec<String>,
    #[serde(rename = "token_endpoint_auth_methods_supported")]
    pub(crate) auth_methods: Option<Vec<String>>,
    /// `None` if it does not say.
    #[serde(rename = "code_challenge_methods_supported")]
    pub(crate) code_challenge_methods: Option<Vec<String>>,
    #[serde(rename = "client_id_metadata_document_supported")]
    pub(crate) supports_client_documents: bool,
    /// Its redirects carry the `iss` parameter.
    #[serde(rename = "authorization_response_iss_parameter_supported")]
    pub(crate) sends_issuer: bool,
    #[serde(default, rename = "dpop_signing_alg_values_supported")]
    pub(crate) dpop_algorithms: Vec<String>,
    /// Nothing was published: these are the default endpoints of revision 2025-03-26.
    #[serde(default)]
    pub(crate) guessed: bool,
}

impl ServerMetadata {
    /// Parses a published document.
    pub(crate) fn read(document: &Map<String, Value>) -> Result<Self, &'static str> {
        let flag = |key: &str| document.get(key) == Some(&Value::Bool(true));
        let takes_device_codes = list(document, "grant_types_supported")
            .is_none_or(|grants| grants.iter().any(|grant| grant == DEVICE_CODE));
        Ok(Self {
            issuer: text(document, "issuer").ok_or("missing `issuer`")?,
            authorization_endpoint: text(document, "authorization_endpoint"),
            token_endpoint: text(document, "token_endpoint").ok_or("missing `token_endpoint`")?,
            registration_endpoint: text(document, "registration_endpoint"),
            device_authorization_endpoint: text(document, "device_authorization_endpoint")
                .filter(|_| takes_device_codes),
            revocation_endpoint: text(document, "revocation_endpoint"),
            scopes_supported: list(document, "scopes_supported").unwrap_or_default(),
            auth_methods: list(document, "token_endpoint_auth_methods_supported"),
            code_challenge_methods: list(document, "code_challenge_methods_supported"),
            supports_client_documents: flag("client_id_metadata_document_supported"),
            sends_issuer: flag("authorization_response_iss_parameter_supported"),
            dpop_algorithms: list(document, "dpop_signing_alg_values_supported")
                .unwrap_or_default(),
            guessed: false,
        })
    }

    /// The default endpoints of a server of revision 2025-03-26 without metadata.
    pub(crate) fn guess(origin: &str) -> Self {
        Self {
            issuer: origin.to_owned(),
            authorization_endpoint: Some(format!("{origin}/authorize")),
            token_endpoint: format!("{origin}/token"),
            registration_endpoint: Some(format!("{origin}/register")),
            guessed: true,
            ..Self::default()
        }
    }

    /// Whether it supports PKCE with S256. A server without metadata cannot announce it.
    pub(crate) fn supports_pkce(&self) -> bool {
        let methods = self.code_challenge_methods.as_deref();
        self.guessed || methods.is_some_and(|methods| methods.iter().any(|known| known == "S256"))
    }
}

/// The metadata URLs of an MCP server, in order.
pub(crate) fn resource_addresses(server: &Uri) -> Vec<String> {
    const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
    let origin = origin(server);
    let path = server.path().trim_end_matches('/');
    let mut addresses =
        vec![format!("{origin}{WELL_KNOWN}{path}"), format!("{origin}{WELL_KNOWN}")];
    addresses.dedup();
    addresses
}

/// The metadata URLs of an authorization server, in order.
pub(crate) fn server_addresses(issuer: &Uri) -> Vec<String> {
    let origin = origin(issuer);
    let path = issuer.path().trim_end_matches('/');
    let mut addresses = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    // The last two are equal without a path.
    addresses.dedup();
    addresses
}

/// The canonical URL in token requests: without query, which may hold secrets, and trailing slash.
pub(crate) fn canonical(server: &Uri) -> String {
    format!("{}{}", origin(server), server.path().trim_end_matches('/'))
}

/// Whether a resource identifier is the server's URL or a prefix of it.
pub(crate) fn covers(resource: &str, server: &Uri) -> bool {
    let Ok(named) = resource.parse::<Uri>() else { return false };
    let (whole, part) = (named.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    let below =
        part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    same_origin(&named, server) && below
}

fn text(document: &Map<String, Value>, key: &str) -> Option<String> {
    let text = document.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn list(document: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    let items = document.get(key)?.as_array()?;
    let texts = items.iter().take(MAX_ITEMS).filter_map(Value::as_str);
    Some(texts.filter(|text| !text.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
