//! How we identify ourselves when a login begins: the decision table of the specification. Pure.
//!
//! A client document names ten redirects on five ports, and the redirect of a login must be one of
//! them. So the port is chosen before the authorization server is known: one of the five if the
//! document may be used, any free one otherwise.

use super::metadata::ServerMetadata;
use crate::config::OauthOptions;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoginFrontend {
    #[default]
    Terminal,
    /// A dashboard or desktop program, which receives the redirect itself.
    Dashboard,
}

#[derive(Debug, Clone, Copy)]
pub struct LoginFacts<'a> {
    pub options: &'a OauthOptions,
    pub default_document: Option<&'a str>,
    pub driver: LoginFrontend,
    pub registered: bool,
    pub refused: bool,
    /// `None` if the authorization server was never reached.
    pub supports_client_documents: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentExclusion {
    /// This key of `oauth`.
    Option(&'static str),
    Driver,
    Registered,
    Refused,
    /// The authorization server does not support documents.
    NotTaken,
}

impl DocumentExclusion {
    /// The option of `oauth` that excludes the document, if it is one.
    pub fn key(self) -> Option<&'static str> {
        if let Self::Option(key) = self { Some(key) } else { None }
    }
}

impl<'a> LoginFacts<'a> {
    /// The facts of a server without an earlier sign-in.
    pub fn first_time(options: &'a OauthOptions, default_document: Option<&'a str>) -> Self {
        Self {
            options,
            default_document,
            driver: LoginFrontend::Terminal,
            registered: false,
            refused: false,
            supports_client_documents: None,
        }
    }

    /// Whether the client document may be used, so that the redirect needs one of its five ports.
    pub fn check_document(&self) -> Result<(), DocumentExclusion> {
        let options = self.options;
        let is_other = |method: &str| !method.trim().is_empty() && method.trim() != "none";
        let is_named = |host: &str| {
            matches!(host.trim(), "" | "127.0.0.1") || host.trim().eq_ignore_ascii_case("localhost")
        };
        let method = options.token_endpoint_auth_method.as_ref();
        let has_method = method.is_some_and(|method| is_other(method.value()));
        // A host that the document does not name.
        let has_host = options.redirect_host.as_ref().is_some_and(|host| !is_named(host.value()));
        let option = DocumentExclusion::Option;
        let conditions = [
            (options.cimd == Some(false), option("cimd")),
            (options.client_id.is_some(), option("client_id")),
            (options.client_secret.is_some(), option("client_secret")),
            (options.client_name.is_some(), option("client_name")),
            (has_method, option("token_endpoint_auth_method")),
            (options.redirect_uri.is_some(), option("redirect_uri")),
            (options.redirect_port.is_some(), option("redirect_port")),
            (has_host, option("redirect_host")),
            (self.driver == LoginFrontend::Dashboard, DocumentExclusion::Driver),
            (self.registered, DocumentExclusion::Registered),
            (self.refused, DocumentExclusion::Refused),
            (self.supports_client_documents == Some(false), DocumentExclusion::NotTaken),
        ];
        conditions.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, why)| Err(*why))
    }

    /// The document for this authorization server, if it may be used.
    pub(super) fn document(&self, server: &ServerMetadata) -> Option<&'a str> {
        self.check_document().ok().filter(|()| server.supports_client_documents)?;
        self.configured_document()
    }

    /// The URL of our document, whether or not it may be used.
    pub fn configured_document(&self) -> Option<&'a str> {
        let own = self.options.client_metadata_url.as_ref().map(crate::config::Text::value);
        own.or(self.default_document)
    }
}

#[cfg(test)]
mod tests;
