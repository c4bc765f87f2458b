//! The keys of `oauth`, as a server sees them.

use std::io::{Read, Write};
use std::net::TcpStream;

use agent_test_support::oauth::{
    Challenge, Endpoint, FaultyAuthServer, Oidc, OidcOptions, PythonOauth, RecordedRequest, Script,
    SignInResult,
};
use agent_test_support::port;
use mcp_client::config::OauthOptions;
use mcp_client::error::ErrorKind;
use mcp_client::oauth::{Error, LoginOptions};
use serde_json::{Value, json};

use super::{PATIENCE, Person, Place, entry, entry_with, redirect_of, text};
use crate::support::call;

fn server() -> FaultyAuthServer {
    FaultyAuthServer::start(Script::default()).unwrap()
}

/// Signs in with these options; the one request to begin, and the one to redeem the code.
async fn login_with(
    server: &FaultyAuthServer,
    change: impl FnOnce(&mut OauthOptions),
) -> (RecordedRequest, RecordedRequest) {
    let entry = entry_with("server", &server.mcp_url(), change);
    Place::new().login(&entry, &Person::signing_in()).await.unwrap();
    let [begun] = server.requests_to("/authorize").try_into().unwrap();
    let [redeemed] = server.requests_to("/token").try_into().unwrap();
    (begun, redeemed)
}

#[tokio::test]
async fn a_configured_user_agent_is_sent_only_to_the_token_endpoint() {
    let server = server();
    let entry = entry_with("server", &server.mcp_url(), |options| {
        options.user_agent = text("Mozilla/5.0 (test)");
    });
    let place = Place::new();
    place.login(&entry, &Person::signing_in()).await.unwrap();
    server.expire_access_tokens();
    let client = place.client(entry.clone(), None);
    client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    call(&client, "mcp__server__echo", json!({ "text": "hello" })).await;
    assert!(place.account(&entry).logout().await.unwrap().revoked);

    let grants: Vec<_> = server.requests_to("/token");
    let kinds: Vec<_> = grants.iter().map(|seen| seen.field("grant_type").unwrap()).collect();
    assert_eq!(kinds, ["authorization_code", "refresh_token"]);
    let mut elsewhere = 0;
    // The person's own browser is none of our business.
    for seen in server.requests().iter().filter(|seen| seen.route() != "/authorize") {
        let agent = seen.header("user-agent").unwrap_or_default();
        if seen.route() == "/token" {
            assert_eq!(agent, "Mozilla/5.0 (test)");
        } else {
            assert!(!agent.contains("Mozilla"), "{seen:?}");
            elsewhere += 1;
        }
    }
    for route in ["/register", "/revoke", "/mcp", "/.well-known/oauth-authorization-server"] {
        assert!(!server.requests_to(route).is_empty(), "{route}");
    }
    assert!(elsewhere > 4);
}

#[tokio::test]
async fn the_default_user_agent_is_sent() {
    let (_, redeemed) = login_with(&server(), |_| {}).await;
    let agent = redeemed.header("user-agent").unwrap();
    assert!(agent.starts_with("agent/"), "{agent}");
}

#[tokio::test]
async fn an_empty_user_agent_is_unset() {
    for nothing in ["", "  "] {
        let server = server();
        let (_, redeemed) = login_with(&server, |options| options.user_agent = text(nothing)).await;
        let agent = redeemed.header("user-agent").unwrap();
        assert!(agent.starts_with("agent/"), "{agent:?}");
    }
}

#[tokio::test]
async fn the_redirect_can_use_a_proxy() {
    let server = server();
    let port = port::free().port();
    let uri = "https://tunnel.test/oauth/back?tab=1";
    let entry = entry_with("server", &server.mcp_url(), |options| {
        options.redirect_uri = text(uri);
        options.redirect_port = Some(port);
    });
    let place = Place::new();
    let person = Person::who(move |page| {
        let landed = redirect_of(&page.address);
        let path = landed.strip_prefix("https://tunnel.test").unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", page.port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: tunnel.test\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        SignInResult { url: landed, text }
    });
    place.login(&entry, &person).await.unwrap();
    assert_eq!((person.visit().port, person.visit().redirect_uri.as_str()), (port, uri));
    assert!(person.landed().await.text.contains("Signed in"));
}

#[tokio::test]
async fn the_challenge_scope_precedes_published_scopes() {
    let server = server();
    let (begun, _) = login_with(&server, |_| {}).await;
    assert_eq!(begun.field("scope").as_deref(), Some("mcp:write"), "what is published");
    let server = self::server();
    let scope = Some("mcp:read".to_owned());
    server.change(|script| script.challenge = Challenge::Full { scope });
    let (begun, _) = login_with(&server, |_| {}).await;
    assert_eq!(begun.field("scope").as_deref(), Some("mcp:read"), "what it asks for");
}

#[tokio::test]
async fn without_a_named_scope_none_is_requested() {
    let server = server();
    server.change(|script| {
        script.resource_metadata = Endpoint::saying(json!({ "scopes_supported": null }));
    });
    let (begun, _) = login_with(&server, |_| {}).await;
    assert_eq!(begun.field("scope"), None);
}

#[tokio::test]
async fn the_command_scope_precedes_the_configured_scope() {
    let server = server();
    let scope = Some("mcp:read".to_owned());
    server.change(|script| script.challenge = Challenge::Full { scope });
    let change = |options: &mut OauthOptions| options.scope = text("mine other");
    let (begun, _) = login_with(&server, change).await;
    assert_eq!(begun.field("scope").as_deref(), Some("mine other"));
    let registered = &server.clients()[0];
    assert_eq!(registered["scope"], "mine other");

    let entry = entry_with("server", &server.mcp_url(), change);
    let account = Place::new().account(&entry);
    let options = LoginOptions { scope: Some("now"), ..LoginOptions::default() };
    let person = Person::signing_in();
    account.login(&person, options).await.unwrap();
    assert_eq!(person.visit().scope.as_deref(), Some("now"));
    assert_eq!(server.requests_to("/authorize")[1].field("scope").as_deref(), Some("now"));
}

#[tokio::test]
async fn offline_access_is_requested_if_offered() {
    let server = Oidc::start(&OidcOptions::default());
    let person = Person::signing_in();
    let place = Place::new();
    place.login(&entry("oidc", server.mcp_url()), &person).await.unwrap();
    let begun = server.requests();
    let begun = begun.iter().find(|seen| seen.route() == "/auth").unwrap();
    assert_eq!(begun.field("scope").as_deref(), Some("mcp:read offline_access"));
    assert_eq!(begun.field("prompt").as_deref(), Some("consent"));
}

#[tokio::test]
async fn the_redirect_host_can_be_localhost() {
    let server = server();
    let (begun, redeemed) =
        login_with(&server, |options| options.redirect_host = text("localhost")).await;
    let uri = begun.field("redirect_uri").unwrap();
    assert!(uri.starts_with("http://localhost:"), "{uri}");
    assert_eq!(redeemed.field("redirect_uri"), Some(uri));
}

#[tokio::test]
async fn the_redirect_uri_can_have_another_path() {
    let server = server();
    let uri = format!("http://localhost:{}/oauth/done", port::free().port());
    let (begun, redeemed) = login_with(&server, |options| options.redirect_uri = text(&uri)).await;
    assert_eq!(begun.field("redirect_uri").as_ref(), Some(&uri));
    assert_eq!(redeemed.field("redirect_uri").as_ref(), Some(&uri));
    assert_eq!(server.clients()[0]["redirect_uris"], json!([uri]));
}

/// A client that somebody registered, and an entry for it.
fn known(method: Option<&str>) -> (Value, impl Fn(&mut OauthOptions)) {
    let port = port::free().port();
    let mut client = json!({
        "client_id": "known client",
        "client_secret": "s3cret:&+ of it",
        "redirect_uris": [format!("http://127.0.0.1:{port}/callback")],
    });
    if let Some(method) = method {
        client["token_endpoint_auth_method"] = method.into();
    }
    let method = method.and_then(text);
    (client, move |options: &mut OauthOptions| {
        options.client_id = text("known client");
        options.client_secret = text("s3cret:&+ of it");
        options.redirect_port = Some(port);
        options.token_endpoint_auth_method.clone_from(&method);
    })
}

#[tokio::test]
async fn the_client_secret_is_sent_in_header_or_form() {
    for (method, in_form) in
        [(Some("client_secret_basic"), false), (Some("client_secret_post"), true), (None, false)]
    {
        let (client, change) = known(method);
        let server =
            FaultyAuthServer::start(Script { clients: vec![client], ..Script::default() }).unwrap();
        let (_, redeemed) = login_with(&server, change).await;
        let header = redeemed.header("authorization").unwrap_or_default();
        assert_eq!(header.starts_with("Basic "), !in_form, "{redeemed:?}");
        assert_eq!(redeemed.field("client_secret").is_some(), in_form, "{redeemed:?}");
        assert!(server.requests_to("/register").is_empty());
    }
}

#[tokio::test]
async fn the_configured_auth_method_is_registered() {
    let server = server();
    let method = text("client_secret_post");
    let (_, redeemed) =
        login_with(&server, |options| options.token_endpoint_auth_method = method).await;
    let registered = &server.clients()[0];
    assert_eq!(registered["token_endpoint_auth_method"], "client_secret_post");
    assert_eq!(redeemed.field("client_secret").as_deref(), registered["client_secret"].as_str());
}

#[tokio::test]
async fn the_python_server_accepts_both_secret_methods() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let (mut client, change) = known(Some(method));
        client["grant_types"] = json!(["authorization_code", "refresh_token"]);
        client["scope"] = json!("mcp:read");
        let server = PythonOauth::start(&[client]);
        let (place, entry) = (Place::new(), entry_with("py", server.mcp_url(), change));
        place.login(&entry, &Person::signing_in()).await.unwrap();
        let redeemed = &server.token_requests()[0];
        assert_eq!(redeemed.header("authorization").is_some(), method == "client_secret_basic");
    }
}

#[tokio::test]
async fn every_token_request_names_its_resource() {
    let server = server();
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    place.login(&entry, &Person::signing_in()).await.unwrap();
    server.expire_access_tokens();
    let client = place.client(entry, None);
    client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    call(&client, "mcp__server__echo", json!({ "text": "hello" })).await;
    let [redeemed, renewed] = server.requests_to("/token").try_into().unwrap();
    assert_eq!(renewed.field("grant_type").as_deref(), Some("refresh_token"));
    let begun = &server.requests_to("/authorize")[0];
    for seen in [begun, &redeemed, &renewed] {
        assert_eq!(seen.field("resource"), Some(server.mcp_url()), "{seen:?}");
    }
    assert_eq!(begun.field("code_challenge_method").as_deref(), Some("S256"));
    assert!(redeemed.field("code_verifier").is_some_and(|verifier| verifier.len() >= 43));
}

#[tokio::test]
async fn missing_pkce_support_is_rejected_before_any_page() {
    for methods in [Value::Null, json!(["plain"]), json!([])] {
        let server = server();
        let said = json!({ "code_challenge_methods_supported": methods });
        server.change(|script| script.server_metadata = Endpoint::saying(said));
        let (place, person) = (Place::new(), Person::signing_in());
        let error = place.failed_login(&entry("server", &server.mcp_url()), &person).await;
        let named = matches!(&error, Error::NoPkce { issuer } if issuer == server.issuer());
        assert!(named, "{methods}: {error}");
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert_eq!(person.visits(), []);
        assert!(server.requests_to("/register").is_empty());
    }
}

#[tokio::test]
async fn a_server_without_registration_is_reported() {
    let server = server();
    let said = json!({ "registration_endpoint": null });
    server.change(|script| script.server_metadata = Endpoint::saying(said));
    let (place, person) = (Place::new(), Person::signing_in());
    let error = place.failed_login(&entry("server", &server.mcp_url()), &person).await;
    let named = matches!(&error, Error::NoIdentity { issuer } if issuer == server.issuer());
    assert!(named, "{error}");
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(person.visits(), []);
}
