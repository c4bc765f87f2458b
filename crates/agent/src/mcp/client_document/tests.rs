//! Tests of `client_document`.

use mcp_client::config::Text;

use super::*;

const OWN: &str = "https://own.example.com/client.json";
const ALL: &str = "https://all.example.com/client.json";

#[test]
fn document_of_a_server_precedes_the_global_one() {
    let parsed = Parsed { client_metadata_url: Some(Text::literal(ALL)), ..Parsed::default() };
    let mut oauth = OauthOptions::default();
    assert_eq!(address(&oauth, &parsed), Some(ALL));
    oauth.client_metadata_url = Some(Text::literal(OWN));
    assert_eq!(address(&oauth, &parsed), Some(OWN));
    oauth.redirect_host = Some(Text::literal("localhost"));
    assert_eq!(address(&oauth, &parsed), Some(OWN));
}

#[test]
fn every_option_that_disables_the_document_is_reported() {
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
fn invalid_built_in_address_is_ignored() {
    let wrong = "http://x.example.com/client.json";
    assert_eq!(sound(Some(wrong)), None);
    assert_eq!(fault(Some(wrong)), Some((wrong, "it does not use https")));
    assert_eq!((sound(Some(OWN)), fault(Some(OWN))), (Some(OWN), None));
    for nothing in [None, Some("")] {
        assert_eq!((sound(nothing), fault(nothing)), (None, None));
    }
}
