//! How we identify ourselves when a login begins: the decision table of the specification. Pure.
//!
//! A client document names ten redirects on five ports, and the redirect of a login must be one of
//! them. So the port is chosen before the authorization server is known: one of the five if the
//! document may be used, any free one otherwise.

use super::metadata::ServerMetadata;
use crate::config::OauthOptions;

/// The program that runs the login.
#[expect(missing_docs, reason = "the names of the other variants say it")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoginFrontend {
    #[default]
    Terminal,
    /// A dashboard or desktop program, which receives the redirect itself.
    Dashboard,
}

/// The input of the decision.
#[expect(missing_docs, reason = "the names of the other fields say it")]
#[derive(Debug, Clone, Copy)]
pub struct LoginFacts<'a> {
    pub options: &'a OauthOptions,
    pub default_document: Option<&'a str>,
    pub driver: LoginFrontend,
    /// A client was registered for this server before.
    pub registered: bool,
    /// The document was refused before.
    pub refused: bool,
    /// `None` if the authorization server was never reached.
    pub supports_client_documents: Option<bool>,
}

/// Why the client document cannot be used.
#[expect(missing_docs, reason = "the names of the variants say it")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentExclusion {
    SwitchedOff,
    ClientId,
    ClientSecret,
    ClientName,
    AuthMethod,
    RedirectUri,
    RedirectPort,
    /// A host that the document does not name.
    RedirectHost,
    Driver,
    Registered,
    Refused,
    /// The authorization server does not support documents.
    NotTaken,
}

impl DocumentExclusion {
    /// The option of `oauth` that excludes the document, if it is one.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::SwitchedOff => Some("cimd"),
            Self::ClientId => Some("client_id"),
            Self::ClientSecret => Some("client_secret"),
            Self::ClientName => Some("client_name"),
            Self::AuthMethod => Some("token_endpoint_auth_method"),
            Self::RedirectUri => Some("redirect_uri"),
            Self::RedirectPort => Some("redirect_port"),
            Self::RedirectHost => Some("redirect_host"),
            _ => None,
        }
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
        let text = |text: &'a Option<crate::config::Text>| {
            text.as_ref().map(crate::config::Text::value).unwrap_or_default()
        };
        let conditions = [
            (options.cimd == Some(false), DocumentExclusion::SwitchedOff),
            (options.client_id.is_some(), DocumentExclusion::ClientId),
            (options.client_secret.is_some(), DocumentExclusion::ClientSecret),
            (options.client_name.is_some(), DocumentExclusion::ClientName),
            (is_other(text(&options.token_endpoint_auth_method)), DocumentExclusion::AuthMethod),
            (options.redirect_uri.is_some(), DocumentExclusion::RedirectUri),
            (options.redirect_port.is_some(), DocumentExclusion::RedirectPort),
            (!is_named(text(&options.redirect_host)), DocumentExclusion::RedirectHost),
            (self.driver == LoginFrontend::Dashboard, DocumentExclusion::Driver),
            (self.registered, DocumentExclusion::Registered),
            (self.refused, DocumentExclusion::Refused),
            (self.supports_client_documents == Some(false), DocumentExclusion::NotTaken),
        ];
        conditions.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, why)| Err(*why))
    }

    /// The document for this authorization server, if it may be used.
    pub fn document(&self, server: &ServerMetadata) -> Option<&'a str> {
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
mod tests {
    use super::*;
    use crate::config::Text;

    const DOCUMENT: &str = "https://me.example/client.json";

    fn facts(options: &OauthOptions) -> LoginFacts<'_> {
        LoginFacts::first_time(options, Some(DOCUMENT))
    }

    fn server(supports_client_documents: bool) -> ServerMetadata {
        ServerMetadata { supports_client_documents, ..ServerMetadata::guess("https://a.example") }
    }

    #[test]
    fn a_server_never_reached_before_is_pinned_because_nobody_knows_what_it_can() {
        let options = OauthOptions::default();
        assert_eq!(facts(&options).check_document(), Ok(()));
        assert_eq!(facts(&options).document(&server(true)), Some(DOCUMENT));
        assert_eq!(facts(&options).document(&server(false)), None);
    }

    #[test]
    fn a_server_known_to_take_documents_is_pinned_and_one_known_not_to_is_not() {
        let options = OauthOptions::default();
        let known =
            |takes| LoginFacts { supports_client_documents: Some(takes), ..facts(&options) };
        assert_eq!(known(true).check_document(), Ok(()));
        assert_eq!(known(false).check_document(), Err(DocumentExclusion::NotTaken));
        // It may support documents by now, but the redirect port is no longer a pinned one.
        assert_eq!(known(false).document(&server(true)), None);
    }

    #[test]
    fn each_option_that_makes_us_another_client_unpins() {
        let text = || Some(Text::literal("x"));
        let with = |change: fn(&mut OauthOptions, Option<Text>)| {
            let mut options = OauthOptions::default();
            change(&mut options, text());
            facts(&options).check_document()
        };
        assert_eq!(
            with(|options, text| options.client_id = text),
            Err(DocumentExclusion::ClientId)
        );
        assert_eq!(
            with(|options, text| options.client_secret = text),
            Err(DocumentExclusion::ClientSecret)
        );
        assert_eq!(
            with(|options, text| options.client_name = text),
            Err(DocumentExclusion::ClientName)
        );
        assert_eq!(
            with(|options, text| options.token_endpoint_auth_method = text),
            Err(DocumentExclusion::AuthMethod)
        );
        assert_eq!(
            with(|options, text| options.redirect_uri = text),
            Err(DocumentExclusion::RedirectUri)
        );
        assert_eq!(
            with(|options, _| options.redirect_port = Some(5000)),
            Err(DocumentExclusion::RedirectPort)
        );
        assert_eq!(
            with(|options, text| options.redirect_host = text),
            Err(DocumentExclusion::RedirectHost)
        );
        assert_eq!(
            with(|options, _| options.cimd = Some(false)),
            Err(DocumentExclusion::SwitchedOff)
        );
        // Options without influence on the document.
        assert_eq!(with(|options, _| options.cimd = Some(true)), Ok(()));
        assert_eq!(with(|options, text| options.scope = text), Ok(()));
        assert_eq!(with(|options, text| options.user_agent = text), Ok(()));
        let method = Some(Text::literal("none"));
        let options =
            OauthOptions { token_endpoint_auth_method: method, ..OauthOptions::default() };
        assert_eq!(facts(&options).check_document(), Ok(()));
        for host in ["localhost", "LOCALHOST", "127.0.0.1"] {
            let redirect_host = Some(Text::literal(host));
            let options = OauthOptions { redirect_host, ..OauthOptions::default() };
            assert_eq!(facts(&options).check_document(), Ok(()), "{host}");
        }
    }

    #[test]
    fn a_dashboard_a_registration_and_a_refusal_unpin() {
        let options = OauthOptions::default();
        let base = facts(&options);
        assert_eq!(
            LoginFacts { driver: LoginFrontend::Dashboard, ..base }.check_document(),
            Err(DocumentExclusion::Driver)
        );
        assert_eq!(
            LoginFacts { registered: true, ..base }.check_document(),
            Err(DocumentExclusion::Registered)
        );
        assert_eq!(
            LoginFacts { refused: true, ..base }.check_document(),
            Err(DocumentExclusion::Refused)
        );
    }

    #[test]
    fn a_servers_own_document_goes_before_that_of_the_program() {
        let own = "https://other.example/me.json";
        let client_metadata_url = Some(Text::literal(own));
        let options = OauthOptions { client_metadata_url, ..OauthOptions::default() };
        assert_eq!(facts(&options).document(&server(true)), Some(own));
        let options = OauthOptions::default();
        let none = LoginFacts { default_document: None, ..facts(&options) };
        assert_eq!(none.document(&server(true)), None);
        assert_eq!(none.check_document(), Ok(()));
    }
}
