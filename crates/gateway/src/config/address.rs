//! Addresses of the file: http or https, with a host, without credentials.

use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// An address of the file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("format" = "address", "x-type" = "URL"))]
pub(super) struct Address(
    #[serde(deserialize_with = "uri")]
    #[schemars(with = "String")]
    pub(super) Uri,
);

/// For `#[serde(deserialize_with = "..")]`.
pub(super) fn uri<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uri, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

/// Why an address cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("must be a URL that starts with `http://` or `https://`")]
    Scheme,
    #[error("is not a valid URL")]
    Form,
    #[error("the URL has no host")]
    Host,
    #[error("the URL contains a user or password")]
    Credentials,
    #[error("the URL must not have a query (`?`) or a fragment (`#`)")]
    Query,
}

impl Fault {
    /// What to do about it.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::Scheme => "write `https://` and a host",
            Self::Form => "check the host and the port",
            Self::Host => "add a host after `://`",
            Self::Credentials => "remove them; use `api_key` or `headers` of the provider instead",
            Self::Query => "remove it",
        }
    }
}

/// An address without a `/` at the end of its path. What was written is never part of the fault,
/// since it may hold a secret.
pub(super) fn parse(written: &str) -> Result<Uri, Fault> {
    let lower = written.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err(Fault::Scheme);
    }
    let rest = &written[written.find("://").map_or(0, |at| at + 3)..];
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(Fault::Host);
    }
    if authority.contains('@') {
        return Err(Fault::Credentials);
    }
    if rest.contains(['?', '#']) {
        return Err(Fault::Query);
    }
    let uri: Uri = written.trim_end_matches('/').parse().map_err(|_| Fault::Form)?;
    if uri.host().is_none_or(str::is_empty) {
        return Err(Fault::Host);
    }
    // A port that is no number is left in the authority.
    let after_host = authority.rsplit(']').next().unwrap_or_default();
    if after_host.contains(':') && uri.port_u16().is_none() {
        return Err(Fault::Form);
    }
    Ok(uri)
}

/// Whether an address leads to this machine only.
pub fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether what is sent there can be read on the way.
pub(super) fn is_open(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTP) && !is_loopback(uri)
}

#[cfg(test)]
mod tests;
