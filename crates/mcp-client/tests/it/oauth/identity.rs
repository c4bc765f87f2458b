//! Credentials belong to an issuer and to a server, and go nowhere else.

use std::sync::Arc;

use agent_test_support::oauth::{
    FaultyAuthServer, Issuer, Oidc, OidcOptions, RecordedRequest, Script,
};
use agent_test_support::port;
use mcp_client::error::ErrorKind;
use mcp_client::oauth::Error;
use mcp_client::supervisor::ServerState;
use serde_json::{Value, json};

use super::{PATIENCE, Person, Place, entry, entry_with, text};
use crate::support::call;

/// Every secret and every name of a kept file that must not travel: tokens, and our client.
fn words(place: &Place, file: &str) -> Vec<String> {
    let kept: Value = serde_json::from_str(&place.kept(file).unwrap()).unwrap();
    let word = |name: &str| kept[name].as_str().unwrap().to_owned();
    vec![word("access_token"), word("refresh_token"), word("client_id")]
}

fn assert_never_sent(requests: &[RecordedRequest], words: &[String]) {
    for request in requests {
        let said = format!("{request:?}");
        for word in words {
            assert!(!said.contains(word.as_str()), "`{word}` went along: {said}");
        }
    }
}

#[tokio::test]
async fn a_changed_issuer_gets_a_new_registration() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let (place, person) = (Place::new(), Arc::new(Person::signing_in()));
    let entry = entry("server", &server.mcp_url());
    place.login(&entry, &person).await.unwrap();
    let old = words(&place, "server.json");
    server.change(|script| script.issuer = Issuer::Other);
    server.forget_requests();

    let client = place.client(entry.clone(), Some(&person));
    client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    let said = call(&client, "mcp__server__echo", json!({ "text": "hello" })).await;
    assert!(said.text.contains("echo: hello"), "{said:?}");
    let mut to_other = server.requests();
    to_other.retain(|seen| seen.server == "other");
    let route = |route: &str| to_other.iter().filter(|seen| seen.route() == route).count();
    assert_eq!((route("/register"), route("/authorize"), route("/token")), (1, 1, 1));
    assert_never_sent(&to_other, &old);
    // The old one is left in peace, and the new tokens are kept as those of the new one.
    let mut to_main = server.requests_to("/token");
    to_main.retain(|seen| seen.server == "main");
    assert_eq!(to_main, []);
    let granted = place.account(&entry).status().granted.unwrap();
    assert_eq!(granted.issuer, server.other_url());
    assert_ne!(granted.client_id, old[2]);
}

#[tokio::test]
async fn a_changed_issuer_deletes_tokens_and_requires_sign_in() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let place = Place::new();
    let entry = entry("server", &server.mcp_url());
    place.login(&entry, &Person::signing_in()).await.unwrap();
    let old = words(&place, "server.json");
    server.change(|script| script.issuer = Issuer::Other);
    server.forget_requests();
    let client = place.client(entry, None);
    let status = client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    assert!(matches!(status.state, ServerState::NeedsSignIn { .. }), "{}", status.state);
    assert_eq!(place.kept("server.json"), None);
    let told = place.warnings();
    assert!(told.iter().any(|text| text.contains("switched")), "{told:?}");
    let mut to_other = server.requests();
    to_other.retain(|seen| seen.server == "other");
    assert_never_sent(&to_other, &old);
}

#[tokio::test]
async fn a_changed_issuer_of_a_real_server_is_followed() {
    let (old_home, new_home) =
        (Oidc::start(&OidcOptions::default()), Oidc::start(&OidcOptions::default()));
    let (place, person) = (Place::new(), Arc::new(Person::signing_in()));
    let entry = entry("oidc", old_home.mcp_url());
    place.login(&entry, &person).await.unwrap();
    let old = words(&place, "oidc.json");
    new_home.allow_resource(old_home.mcp_url());
    old_home.move_to_issuer(new_home.issuer());

    let client = place.client(entry.clone(), Some(&person));
    client.wait_until_server_settled("oidc", PATIENCE).await.unwrap();
    call(&client, "mcp__oidc__echo", json!({ "text": "hello" })).await;
    assert_eq!(new_home.clients().len(), 1);
    assert_eq!(new_home.token_requests().len(), 1);
    // The MCP server itself asks its new authorization server about the old token.
    let mut ours = new_home.requests();
    ours.retain(|seen| seen.route() != "/token/introspection");
    assert_never_sent(&ours, &old);
    assert_eq!(place.account(&entry).status().granted.unwrap().issuer, new_home.issuer());
}

#[tokio::test]
async fn a_configured_client_is_not_sent_to_another_issuer() {
    let port = port::free().port();
    let client = json!({
        "client_id": "known-client",
        "client_secret": "s3cret-of-the-client",
        "redirect_uris": [format!("http://127.0.0.1:{port}/callback")],
    });
    let server =
        FaultyAuthServer::start(Script { clients: vec![client], ..Script::default() }).unwrap();
    let entry = entry_with("server", &server.mcp_url(), |options| {
        options.client_id = text("known-client");
        options.client_secret = text("s3cret-of-the-client");
        options.redirect_port = Some(port);
    });
    let place = Place::new();
    place.login(&entry, &Person::signing_in()).await.unwrap();
    server.change(|script| script.issuer = Issuer::Other);
    server.forget_requests();
    let person = Person::signing_in();
    let error = place.failed_login(&entry, &person).await;
    let (from, to) = (server.issuer(), server.other_url());
    let moved =
        matches!(&error, Error::Moved { expected, found } if expected == from && found == to);
    assert!(moved, "{error}");
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(
        error.to_string(),
        format!("the configured client belongs to {from}, but the server now uses {to}")
    );
    assert_eq!(person.visits(), []);
    let mut to_other = server.requests();
    to_other.retain(|seen| seen.server == "other");
    assert_never_sent(&to_other, &["known-client".to_owned(), "s3cret-of-the-client".to_owned()]);
}

#[tokio::test]
async fn tokens_are_not_sent_to_a_changed_url() {
    let (first, second) = (
        FaultyAuthServer::start(Script::default()).unwrap(),
        FaultyAuthServer::start(Script::default()).unwrap(),
    );
    let place = Place::new();
    place.login(&entry("server", &first.mcp_url()), &Person::signing_in()).await.unwrap();
    let old = words(&place, "server.json");
    first.forget_requests();

    let client = place.client(entry("server", &second.mcp_url()), None);
    let status = client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    assert!(matches!(status.state, ServerState::NeedsSignIn { .. }), "{}", status.state);
    drop(client);
    let person = Arc::new(Person::signing_in());
    let client = place.client(entry("server", &second.mcp_url()), Some(&person));
    client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    call(&client, "mcp__server__echo", json!({ "text": "hello" })).await;
    assert_never_sent(&second.requests(), &old);
    assert_eq!(first.requests(), [], "the old server is not asked either");
}

#[tokio::test]
async fn servers_with_similar_names_share_no_files() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let place = Place::new();
    let names = ["my/api", "my_api", "my api", "my.api", "my-api", "../my_api"];
    for name in names {
        place.login(&entry(name, &server.mcp_url()), &Person::signing_in()).await.unwrap();
    }
    let standings = names.map(|name| place.account(&entry(name, &server.mcp_url())).status());
    let count = |of: &dyn Fn(&mcp_client::oauth::SignInStatus) -> String| {
        standings.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(count(&|standing| standing.file.display().to_string()), names.len());
    assert_eq!(count(&|standing| standing.granted.clone().unwrap().client_id), names.len());
    for standing in &standings {
        assert_eq!(standing.file.parent(), Some(place.tokens().as_path()));
    }
    // One that ends leaves the others.
    place.account(&entry("my/api", &server.mcp_url())).logout().await.unwrap();
    let left =
        names.map(|name| place.account(&entry(name, &server.mcp_url())).status().granted.is_some());
    assert_eq!(left, [false, true, true, true, true, true]);
}
