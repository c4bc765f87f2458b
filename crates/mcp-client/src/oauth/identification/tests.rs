//! Tests of `identification`.

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
fn an_unknown_server_gets_a_pinned_port() {
    let options = OauthOptions::default();
    assert_eq!(facts(&options).check_document(), Ok(()));
    assert_eq!(facts(&options).document(&server(true)), Some(DOCUMENT));
    assert_eq!(facts(&options).document(&server(false)), None);
}

#[test]
fn only_servers_with_document_support_are_pinned() {
    let options = OauthOptions::default();
    let known = |takes| LoginFacts { supports_client_documents: Some(takes), ..facts(&options) };
    assert_eq!(known(true).check_document(), Ok(()));
    assert_eq!(known(false).check_document(), Err(DocumentExclusion::NotTaken));
    // It may support documents by now, but the redirect port is no longer a pinned one.
    assert_eq!(known(false).document(&server(true)), None);
}

#[test]
fn options_that_change_the_client_disable_pinning() {
    let text = || Some(Text::literal("x"));
    let with = |change: fn(&mut OauthOptions, Option<Text>)| {
        let mut options = OauthOptions::default();
        change(&mut options, text());
        facts(&options).check_document()
    };
    assert_eq!(
        with(|options, text| options.client_id = text),
        Err(DocumentExclusion::Option("client_id"))
    );
    assert_eq!(
        with(|options, text| options.client_secret = text),
        Err(DocumentExclusion::Option("client_secret"))
    );
    assert_eq!(
        with(|options, text| options.client_name = text),
        Err(DocumentExclusion::Option("client_name"))
    );
    assert_eq!(
        with(|options, text| options.token_endpoint_auth_method = text),
        Err(DocumentExclusion::Option("token_endpoint_auth_method"))
    );
    assert_eq!(
        with(|options, text| options.redirect_uri = text),
        Err(DocumentExclusion::Option("redirect_uri"))
    );
    assert_eq!(
        with(|options, _| options.redirect_port = Some(5000)),
        Err(DocumentExclusion::Option("redirect_port"))
    );
    assert_eq!(
        with(|options, text| options.redirect_host = text),
        Err(DocumentExclusion::Option("redirect_host"))
    );
    assert_eq!(
        with(|options, _| options.cimd = Some(false)),
        Err(DocumentExclusion::Option("cimd"))
    );
    // Options without influence on the document.
    assert_eq!(with(|options, _| options.cimd = Some(true)), Ok(()));
    assert_eq!(with(|options, text| options.scope = text), Ok(()));
    assert_eq!(with(|options, text| options.user_agent = text), Ok(()));
    let method = Some(Text::literal("none"));
    let options = OauthOptions { token_endpoint_auth_method: method, ..OauthOptions::default() };
    assert_eq!(facts(&options).check_document(), Ok(()));
    for host in ["localhost", "LOCALHOST", "127.0.0.1"] {
        let redirect_host = Some(Text::literal(host));
        let options = OauthOptions { redirect_host, ..OauthOptions::default() };
        assert_eq!(facts(&options).check_document(), Ok(()), "{host}");
    }
}

#[test]
fn dashboards_registrations_and_rejections_disable_pinning() {
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
fn the_document_of_an_entry_precedes_the_default() {
    let own = "https://other.example/me.json";
    let client_metadata_url = Some(Text::literal(own));
    let options = OauthOptions { client_metadata_url, ..OauthOptions::default() };
    assert_eq!(facts(&options).document(&server(true)), Some(own));
    let options = OauthOptions::default();
    let none = LoginFacts { default_document: None, ..facts(&options) };
    assert_eq!(none.document(&server(true)), None);
    assert_eq!(none.check_document(), Ok(()));
}
