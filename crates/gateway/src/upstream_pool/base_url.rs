//! The base address of an upstream, split once so that addresses of paths are cheap to build.

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// Without a trailing slash.
    path: String,
}

impl BaseUrl {
    pub(crate) fn new(uri: &Uri) -> Option<Self> {
        Some(Self {
            scheme: uri.scheme()?.clone(),
            authority: uri.authority()?.clone(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The value of the `Host` header: the port is left out if it is the default.
    pub(crate) fn host(&self) -> Option<HeaderValue> {
        let host = self.authority.host();
        let default = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        match self.authority.port_u16().filter(|port| *port != default) {
            Some(port) => HeaderValue::from_str(&format!("{host}:{port}")).ok(),
            None => HeaderValue::from_str(host).ok(),
        }
    }

    /// The address of a path below it.
    pub(crate) fn join(&self, path: &str) -> Option<Uri> {
        let path = PathAndQuery::try_from(format!("{}{path}", self.path)).ok()?;
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .ok()
    }
}
