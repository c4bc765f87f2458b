//! Browser input: form fields, and the origin of a request.

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};

/// Header with the form token in script requests.
pub const CSRF_HEADER: &str = "x-csrf-token";

/// The fields of a form or of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`.
    pub fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The trimmed value of a field; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.trim())
    }

    /// All values of a field.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(fields: T) -> Self {
        Self(fields.into_iter().collect())
    }
}

/// Whether a page of this site sent the request: its origin must be the host of the request,
/// or `public`, the public host of the site.
pub fn is_same_site(headers: &HeaderMap, public: Option<&str>) -> bool {
    let text =
        |name: HeaderName| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let origin = text(ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
    let authority = origin.as_ref().and_then(Uri::authority).map(Authority::as_str);
    let is_own = authority.is_some() && (authority == text(HOST) || authority == public);
    let fetched = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
    is_own && fetched
}

/// Whether the `Host` of a request is this machine at this port. Prevents DNS rebinding: a
/// foreign name can resolve to this machine, but the browser then sends that name.
pub fn is_for_this_machine(headers: &HeaderMap, uri: &Uri, port: u16) -> bool {
    let is_ours = |host: &str| {
        // Browsers omit the default port.
        let (name, named_port) = host.split_once(':').unwrap_or((host, "80"));
        matches!(name, "127.0.0.1" | "localhost") && named_port == port.to_string()
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(is_ours) && uri.authority().is_none_or(|it| is_ours(it.as_str()))
}

#[cfg(test)]
mod tests;
