//! Which client document a sign-in would use: the one that the configuration names, else that of
//! the member service, else the one that was built in.

use std::time::Duration;

use mcp_client::config::{OauthOptions, Parsed, fault_of_client_document};
use mcp_client::oauth::identification::{DocumentExclusion, LoginFacts};
use serde::Deserialize;
use task_loop::member::MemberRequest;

use crate::member::Member;
use crate::member::settings::Settings;
use crate::session::Session;

/// Set at build time by distributors.
const BUILT_IN: Option<&str> = option_env!("AGENT_CLIENT_METADATA_URL");
/// Where a member service has its document, beside its API. It has one only if it is reached by
/// https.
const AT_SERVICE: &str = "/oauth/client-metadata.json";
/// How long the service may take to say so; a sign-in does not depend on it.
const MAX_WAIT: Duration = Duration::from_secs(3);
const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

/// The client document of servers whose configuration names none.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    session: Session,
}

#[derive(Debug, Deserialize)]
struct Document {
    client_id: String,
}

impl Source {
    pub(crate) fn new(session: &Session) -> Self {
        Self { session: session.clone() }
    }

    /// The document that the service announces: the one it serves says where it is.
    pub(crate) async fn address(&self) -> Option<String> {
        let announced = tokio::time::timeout(MAX_WAIT, self.announced()).await.ok().flatten();
        announced.or_else(|| sound(BUILT_IN).map(str::to_owned))
    }

    async fn announced(&self) -> Option<String> {
        // Everybody may read it: the key stays here.
        let base = Settings::load(&self.session).ok()?.base_url;
        let service = Member::of(Settings::open_to_all(base).ok()?, &self.session).ok()?;
        let base = &service.settings.base_url.value;
        let root = base.strip_suffix("/v1").unwrap_or(base);
        let target = format!("{root}{AT_SERVICE}").parse().ok()?;
        let ask = MemberRequest::get(AT_SERVICE).at_most(MAX_DOCUMENT_BYTES);
        let document: Document = service.client.ask_at(&target, ask).await.ok()?.json().ok()?;
        fault_of_client_document(&document.client_id).is_none().then_some(document.client_id)
    }
}

/// The address that the configuration names for all servers.
pub(crate) fn configured(parsed: &Parsed) -> Option<&str> {
    parsed.client_metadata_url.as_ref().map(mcp_client::config::Text::value)
}

/// The address of the document of servers that name none of their own, as far as it is known
/// without asking the service.
pub(crate) fn address_for_all(parsed: &Parsed) -> Option<&str> {
    configured(parsed).or_else(|| sound(BUILT_IN))
}

/// The address of the document that a sign-in to a server would use, if any.
pub(crate) fn address<'a>(oauth: &'a OauthOptions, parsed: &'a Parsed) -> Option<&'a str> {
    let facts = LoginFacts::first_time(oauth, address_for_all(parsed));
    facts.check_document().ok().and(facts.configured_document())
}

/// The key because of which a server is never shown a document.
pub(crate) fn in_its_place(oauth: &OauthOptions) -> Option<&'static str> {
    LoginFacts::first_time(oauth, None).check_document().err().and_then(DocumentExclusion::key)
}

/// What is wrong with the address that was built in.
pub(crate) fn built_in_fault() -> Option<(&'static str, &'static str)> {
    fault(BUILT_IN)
}

fn fault(built_in: Option<&'static str>) -> Option<(&'static str, &'static str)> {
    let address = built_in.filter(|address| !address.is_empty())?;
    fault_of_client_document(address).map(|why| (address, why))
}

fn sound(built_in: Option<&'static str>) -> Option<&'static str> {
    built_in.filter(|address| !address.is_empty() && fault(Some(address)).is_none())
}

#[cfg(test)]
mod tests {
    use mcp_client::config::Text;

    use super::*;

    const OWN: &str = "https://own.example.com/client.json";
    const ALL: &str = "https://all.example.com/client.json";

    #[test]
    fn a_server_uses_its_own_document_before_that_of_all() {
        let parsed = Parsed { client_metadata_url: Some(Text::literal(ALL)), ..Parsed::default() };
        let mut oauth = OauthOptions::default();
        assert_eq!(address(&oauth, &parsed), Some(ALL));
        oauth.client_metadata_url = Some(Text::literal(OWN));
        assert_eq!(address(&oauth, &parsed), Some(OWN));
        oauth.redirect_host = Some(Text::literal("localhost"));
        assert_eq!(address(&oauth, &parsed), Some(OWN));
    }

    #[test]
    fn every_key_that_stands_in_its_place_is_named() {
        let text = || Some(Text::literal("x"));
        let plain = OauthOptions::default;
        for (key, oauth) in [
            ("cimd", OauthOptions { cimd: Some(false), ..plain() }),
            ("client_id", OauthOptions { client_id: text(), ..plain() }),
            ("client_secret", OauthOptions { client_secret: text(), ..plain() }),
            ("client_name", OauthOptions { client_name: text(), ..plain() }),
            (
                "token_endpoint_auth_method",
                OauthOptions { token_endpoint_auth_method: text(), ..plain() },
            ),
            ("redirect_uri", OauthOptions { redirect_uri: text(), ..plain() }),
            ("redirect_port", OauthOptions { redirect_port: Some(1), ..plain() }),
            ("redirect_host", OauthOptions { redirect_host: text(), ..plain() }),
        ] {
            assert_eq!(in_its_place(&oauth), Some(key));
            let own = OauthOptions { client_metadata_url: Some(Text::literal(OWN)), ..oauth };
            assert_eq!(address(&own, &Parsed::default()), None, "{key}");
        }
        assert_eq!(in_its_place(&OauthOptions { cimd: Some(true), ..plain() }), None);
    }

    #[test]
    fn a_built_in_address_that_is_wrong_is_not_used() {
        let wrong = "http://x.example.com/client.json";
        assert_eq!(sound(Some(wrong)), None);
        assert_eq!(fault(Some(wrong)), Some((wrong, "it is not https")));
        assert_eq!((sound(Some(OWN)), fault(Some(OWN))), (Some(OWN), None));
        for nothing in [None, Some("")] {
            assert_eq!((sound(nothing), fault(nothing)), (None, None));
        }
    }
}
