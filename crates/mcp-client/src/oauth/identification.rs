//! Who we say we are when a login begins: the table of the specification, as code. Pure.
//!
//! A client document names ten redirects on five ports, and the redirect of a login must be one
//! of them. So the port is chosen first, before the authorization server is known: one of the five
//! wherever the document could come into use, any free one otherwise.

use super::metadata::ServerMetadata;
use crate::config::OauthOptions;

/// Who brings the person to the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Driver {
    /// A command in a terminal.
    #[default]
    Terminal,
    /// A dashboard or a desktop program, which has its own way back.
    Dashboard,
}

/// What is known when a login begins.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What the entry says.
    pub options: &'a OauthOptions,
    /// The document of this program, if it has one.
    pub default_document: Option<&'a str>,
    /// Who drives the login.
    pub driver: Driver,
    /// A client was registered for this server before.
    pub registered: bool,
    /// The document was refused here before.
    pub refused: bool,
    /// Whether the authorization server takes documents; none if it was never reached.
    pub takes_documents: Option<bool>,
}

/// Why the document cannot come into use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// `oauth.cimd: false`.
    SwitchedOff,
    /// `oauth.client_id` is given.
    ClientId,
    /// `oauth.client_secret` is given.
    ClientSecret,
    /// `oauth.client_name` is given.
    ClientName,
    /// `oauth.token_endpoint_auth_method` is given.
    AuthMethod,
    /// `oauth.redirect_uri` is given.
    RedirectUri,
    /// `oauth.redirect_port` is given.
    RedirectPort,
    /// `oauth.redirect_host` is none that the document names.
    RedirectHost,
    /// A dashboard or desktop program drives the login.
    Driver,
    /// A client is registered already.
    Registered,
    /// The document was refused before.
    Refused,
    /// The authorization server is known, and does not take documents.
    NotTaken,
}

impl Without {
    /// The key of `oauth` that stands in its place, if it is one.
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

impl<'a> Facts<'a> {
    /// What is known of a server that nobody has signed in to.
    pub fn first_time(options: &'a OauthOptions, default_document: Option<&'a str>) -> Self {
        Self {
            options,
            default_document,
            driver: Driver::Terminal,
            registered: false,
            refused: false,
            takes_documents: None,
        }
    }

    /// Whether the way back is one of the five ports; if not, why.
    pub fn pins(&self) -> Result<(), Without> {
        let options = self.options;
        let is_other = |method: &str| !method.trim().is_empty() && method.trim() != "none";
        let is_named = |host: &str| {
            matches!(host.trim(), "" | "127.0.0.1") || host.trim().eq_ignore_ascii_case("localhost")
        };
        let text = |text: &'a Option<crate::config::Text>| {
            text.as_ref().map(crate::config::Text::value).unwrap_or_default()
        };
        let conditions = [
            (options.cimd == Some(false), Without::SwitchedOff),
            (options.client_id.is_some(), Without::ClientId),
            (options.client_secret.is_some(), Without::ClientSecret),
            (options.client_name.is_some(), Without::ClientName),
            (is_other(text(&options.token_endpoint_auth_method)), Without::AuthMethod),
            (options.redirect_uri.is_some(), Without::RedirectUri),
            (options.redirect_port.is_some(), Without::RedirectPort),
            (!is_named(text(&options.redirect_host)), Without::RedirectHost),
            (self.driver == Driver::Dashboard, Without::Driver),
            (self.registered, Without::Registered),
            (self.refused, Without::Refused),
            (self.takes_documents == Some(false), Without::NotTaken),
        ];
        conditions.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, why)| Err(*why))
    }

    /// The document that identifies us at this authorization server, on a way back that it names.
    pub fn document(&self, server: &ServerMetadata) -> Option<&'a str> {
        self.pins().ok().filter(|()| server.takes_documents)?;
        self.configured_document()
    }

    /// The address of the document that is ours, whether or not it comes into use.
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

    fn facts(options: &OauthOptions) -> Facts<'_> {
        Facts::first_time(options, Some(DOCUMENT))
    }

    fn server(takes_documents: bool) -> ServerMetadata {
        ServerMetadata { takes_documents, ..ServerMetadata::guess("https://a.example") }
    }

    #[test]
    fn a_server_never_reached_before_is_pinned_because_nobody_knows_what_it_can() {
        let options = OauthOptions::default();
        assert_eq!(facts(&options).pins(), Ok(()));
        assert_eq!(facts(&options).document(&server(true)), Some(DOCUMENT));
        assert_eq!(facts(&options).document(&server(false)), None);
    }

    #[test]
    fn a_server_known_to_take_documents_is_pinned_and_one_known_not_to_is_not() {
        let options = OauthOptions::default();
        let known = |takes| Facts { takes_documents: Some(takes), ..facts(&options) };
        assert_eq!(known(true).pins(), Ok(()));
        assert_eq!(known(false).pins(), Err(Without::NotTaken));
        // It may have learned since: the way back is no longer one the document names.
        assert_eq!(known(false).document(&server(true)), None);
    }

    #[test]
    fn each_option_that_makes_us_another_client_unpins() {
        let text = || Some(Text::literal("x"));
        let with = |change: fn(&mut OauthOptions, Option<Text>)| {
            let mut options = OauthOptions::default();
            change(&mut options, text());
            facts(&options).pins()
        };
        assert_eq!(with(|options, text| options.client_id = text), Err(Without::ClientId));
        assert_eq!(with(|options, text| options.client_secret = text), Err(Without::ClientSecret));
        assert_eq!(with(|options, text| options.client_name = text), Err(Without::ClientName));
        assert_eq!(
            with(|options, text| options.token_endpoint_auth_method = text),
            Err(Without::AuthMethod)
        );
        assert_eq!(with(|options, text| options.redirect_uri = text), Err(Without::RedirectUri));
        assert_eq!(
            with(|options, _| options.redirect_port = Some(5000)),
            Err(Without::RedirectPort)
        );
        assert_eq!(with(|options, text| options.redirect_host = text), Err(Without::RedirectHost));
        assert_eq!(with(|options, _| options.cimd = Some(false)), Err(Without::SwitchedOff));
        // What changes nothing for the document leaves it in use.
        assert_eq!(with(|options, _| options.cimd = Some(true)), Ok(()));
        assert_eq!(with(|options, text| options.scope = text), Ok(()));
        assert_eq!(with(|options, text| options.user_agent = text), Ok(()));
        let method = Some(Text::literal("none"));
        let options =
            OauthOptions { token_endpoint_auth_method: method, ..OauthOptions::default() };
        assert_eq!(facts(&options).pins(), Ok(()));
        for host in ["localhost", "LOCALHOST", "127.0.0.1"] {
            let redirect_host = Some(Text::literal(host));
            let options = OauthOptions { redirect_host, ..OauthOptions::default() };
            assert_eq!(facts(&options).pins(), Ok(()), "{host}");
        }
    }

    #[test]
    fn a_dashboard_a_registration_and_a_refusal_unpin() {
        let options = OauthOptions::default();
        let base = facts(&options);
        assert_eq!(Facts { driver: Driver::Dashboard, ..base }.pins(), Err(Without::Driver));
        assert_eq!(Facts { registered: true, ..base }.pins(), Err(Without::Registered));
        assert_eq!(Facts { refused: true, ..base }.pins(), Err(Without::Refused));
    }

    #[test]
    fn a_servers_own_document_goes_before_that_of_the_program() {
        let own = "https://other.example/me.json";
        let client_metadata_url = Some(Text::literal(own));
        let options = OauthOptions { client_metadata_url, ..OauthOptions::default() };
        assert_eq!(facts(&options).document(&server(true)), Some(own));
        let options = OauthOptions::default();
        let none = Facts { default_document: None, ..facts(&options) };
        assert_eq!(none.document(&server(true)), None);
        assert_eq!(none.pins(), Ok(()));
    }
}
