//! URLs in the configuration: http or https, with a host, without credentials.

use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(extend("format" = "address", "x-type" = "URL"))]
pub(super) struct Address(
    #[serde(deserialize_with = "uri")]
    #[schemars(with = "String")]
    pub(super) Uri,
);

/// Reads a `Uri` or an `Option<Uri>`.
pub(super) fn uri<'de, D: Deserializer<'de>, T: From<Uri>>(deserializer: D) -> Result<T, D::Error> {
    let uri = String::deserialize(deserializer)?.parse::<Uri>();
    uri.map(T::from).map_err(serde::de::Error::custom)
}

/// Why an address is invalid, and a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault(pub(super) &'static str, pub(super) &'static str);

const SCHEME: Fault =
    Fault("must be a URL that starts with `http://` or `https://`", "write `https://` and a host");
const FORM: Fault = Fault("is not a valid URL", "check the host and the port");
const HOST: Fault = Fault("the URL has no host", "add a host after `://`");
const CREDENTIALS: Fault = Fault(
    "the URL contains a user or password",
    "remove them; use `api_key` or `headers` of the provider instead",
);
const QUERY: Fault = Fault("the URL must not have a query (`?`) or a fragment (`#`)", "remove it");

/// An address without a `/` at the end of its path. The fault never quotes the input, since it
/// may hold a secret.
pub(super) fn parse(written: &str) -> Result<Uri, Fault> {
    let lower = written.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err(SCHEME);
    }
    let rest = &written[written.find("://").map_or(0, |at| at + 3)..];
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(HOST);
    }
    if authority.contains('@') {
        return Err(CREDENTIALS);
    }
    if rest.contains(['?', '#']) {
        return Err(QUERY);
    }
    let uri: Uri = written.trim_end_matches('/').parse().map_err(|_| FORM)?;
    if uri.host().is_none_or(str::is_empty) {
        return Err(HOST);
    }
    // A non-numeric port stays in the authority.
    let after_host = authority.rsplit(']').next().unwrap_or_default();
    if after_host.contains(':') && uri.port_u16().is_none() {
        return Err(FORM);
    }
    Ok(uri)
}

pub fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the connection is unencrypted.
pub(super) fn is_open(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTP) && !is_loopback(uri)
}

#[cfg(test)]
mod tests;
