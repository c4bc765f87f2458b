//! Logins that end well, end to end.

use std::sync::Arc;

use agent_test_support::oauth::{
    FaultyAuthServer, Oidc, OidcOptions, PythonOauth, Script, TokenFormat,
};
use serde_json::{Value, json};

use super::{PATIENCE, Person, Place, entry};
use crate::support::call;

#[tokio::test]
async fn the_first_connection_starts_a_sign_in() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let (place, person) = (Place::new(), Arc::new(Person::signing_in()));
    let client = place.client(entry("faulty", &server.mcp_url()), Some(&person));
    client.wait_until_server_settled("faulty", PATIENCE).await.unwrap();
    let said = call(&client, "mcp__faulty__echo", json!({ "text": "hello" })).await;
    assert!(said.text.contains("echo: hello"), "{said:?}");
    assert_eq!(person.visit().issuer, server.issuer());
    assert!(person.landed().await.text.contains("Signed in"));
}

/// Connects for the first time, with a person there, and calls a tool.
async fn login_works(url: &str) -> Place {
    let (place, person) = (Place::new(), Arc::new(Person::signing_in()));
    let client = place.client(entry("server", url), Some(&person));
    client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    let said = call(&client, "mcp__server__echo", json!({ "text": "hello" })).await;
    assert!(said.text.contains("hello"), "{said:?}");
    assert_eq!(person.visits().len(), 1);
    place
}

#[tokio::test]
async fn login_works_with_the_python_sdk_server() {
    let server = PythonOauth::start(&[]);
    login_works(server.mcp_url()).await;
    assert_eq!(server.clients().len(), 1);
    // What it publishes leaves a client no way without a secret.
    let redeemed = &server.token_requests()[0];
    assert_eq!(redeemed.field("client_id").as_deref(), server.clients()[0]["client_id"].as_str());
}

#[tokio::test]
async fn jwt_access_tokens_work() {
    let token_format = TokenFormat::Jwt;
    let server = Oidc::start(&OidcOptions { token_format, ..OidcOptions::default() });
    let place = login_works(server.mcp_url()).await;
    let kept: Value = serde_json::from_str(&place.kept("server.json").unwrap()).unwrap();
    assert_eq!(kept["access_token"].as_str().unwrap().split('.').count(), 3);
}
