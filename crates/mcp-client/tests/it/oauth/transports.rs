//! Tokens on every transport and in both eras: renewed in silence, stepped up with a person, and
//! never in circles.

use std::sync::Arc;

use agent_test_support::oauth::Script;
use agent_test_support::oauth::{
    Dpop, Endpoint, Fault, FaultyAuthServer, Oidc, OidcOptions, PythonOauth,
};
use mcp_client::Error;
use mcp_client::config::Protocol;
use mcp_client::error::ErrorKind;
use mcp_client::protocol::Era;

use super::signed_in::{SignedIn, is_ready, needs_sign_in};
use super::{Person, entry};
use crate::support;

#[tokio::test]
async fn a_token_is_renewed_without_a_user_in_both_protocols() {
    let mut machine = SignedIn::not_yet(PythonOauth::start(&[]));
    machine.sign_in().await;
    for (protocol, era) in [(Protocol::Legacy, Era::Legacy), (Protocol::Stateless, Era::Stateless)]
    {
        machine.entry.protocol = protocol;
        let client = machine.client().await;
        assert!(is_ready(&client.status()[0].state), "{}", client.status()[0].state);
        assert_eq!(client.status()[0].era, Some(era));
        machine.echo(&client).await;
        let before = machine.server.token_requests().len();
        machine.server.expire_access_tokens();
        machine.echo(&client).await;
        assert_eq!(machine.server.token_requests().len(), before + 1, "{era:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn the_sse_transport_signs_in_and_renews() {
    let mut machine = SignedIn::not_yet(Oidc::start(&OidcOptions::default()));
    let mut old = support::sse("shared", machine.server.sse_url());
    let signed = entry("shared", machine.server.sse_url());
    if let (mcp_client::config::Endpoint::Http(old), mcp_client::config::Endpoint::Http(signed)) =
        (&mut old.endpoint, &signed.endpoint)
    {
        old.auth = signed.auth.clone();
    }
    machine.entry = old;
    machine.sign_in().await;
    let client = machine.client().await;
    assert_eq!(client.status()[0].transport, "sse");
    machine.echo(&client).await;
    let before = machine.server.token_requests().len();
    machine.server.expire_access_tokens();
    machine.echo(&client).await;
    assert_eq!(machine.server.token_requests().len(), before + 1);
    client.close().await;
}

#[tokio::test]
async fn a_step_up_requests_more_scopes_and_keeps_the_old_ones() {
    let machine = SignedIn::not_yet(Oidc::start(&OidcOptions::default()));
    machine.sign_in().await;
    let person = Arc::new(Person::signing_in());
    let client = machine.client_with(Some(&person)).await;
    machine.echo(&client).await;
    assert_eq!(person.visits().len(), 0);
    machine.call(&client, "write").await.unwrap_or_else(|error| panic!("{error}"));
    let scope = person.visit().scope.unwrap();
    for wanted in ["mcp:read", "mcp:write"] {
        assert!(scope.split(' ').any(|word| word == wanted), "{scope}");
    }
    machine.call(&client, "write").await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(person.visits().len(), 1);
    client.close().await;
}

#[tokio::test]
async fn without_a_user_the_missing_scope_is_named() {
    let machine = SignedIn::not_yet(Oidc::start(&OidcOptions::default()));
    machine.sign_in().await;
    let client = machine.client().await;
    let error = machine.call(&client, "write").await.unwrap_err();
    assert!(matches!(error, Error::Forbidden { .. }), "{error}");
    assert!(error.to_string().contains("required scope: `mcp:write`"), "{error}");
    // The rest of the server is as good as before.
    machine.echo(&client).await;
    client.close().await;
}

/// Whatever it is granted, it says that it is not enough.
#[tokio::test]
async fn an_insufficient_scope_is_requested_only_once() {
    let machine = SignedIn::to_faulty(|script| {
        script.challenge =
            agent_test_support::oauth::Challenge::Full { scope: Some("mcp:read".to_owned()) };
        script.tool_scopes = vec![("write".to_owned(), "mcp:never".to_owned())];
        script.token = Endpoint::saying(serde_json::json!({ "scope": "mcp:read" }));
    })
    .await;
    machine.server.change(|script| {
        script.tool_scopes = vec![("write".to_owned(), "mcp:write mcp:more".to_owned())];
    });
    let person = Arc::new(Person::signing_in());
    let client = machine.client_with(Some(&person)).await;
    for _ in 0..3 {
        let error = machine.call(&client, "write").await.unwrap_err();
        assert!(matches!(error, Error::Forbidden { .. }), "{error}");
    }
    assert_eq!(person.visits().len(), 1, "what was asked for once is not asked for again");
    client.close().await;
}

#[tokio::test]
async fn sign_ins_per_request_are_limited() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    machine.server.change(|script| script.mcp = Endpoint::failing(Fault::status(401)));
    let asked = machine.asked();
    let client = machine.client().await;
    assert!(needs_sign_in(&client.status()[0].state), "{}", client.status()[0].state);
    assert!(machine.asked() <= asked + 2, "{} renewals", machine.asked() - asked);
    client.close().await;

    let person = Arc::new(Person::signing_in());
    let client = machine.client_with(Some(&person)).await;
    assert!(needs_sign_in(&client.status()[0].state), "{}", client.status()[0].state);
    assert_eq!(person.visits().len(), 2, "the limit for one request");
    client.close().await;
}

#[tokio::test]
async fn without_a_browser_a_sign_in_is_only_reported() {
    let machine = SignedIn::not_yet(FaultyAuthServer::start(Script::default()).unwrap());
    let client = machine.client().await;
    assert!(needs_sign_in(&client.status()[0].state), "{}", client.status()[0].state);
    let error = machine.call(&client, "echo").await.unwrap_err();
    machine.heard(&error);
    for seen in machine.server.requests() {
        assert!(!["/authorize", "/register", "/token"].contains(&seen.route()), "{seen:?}");
    }
    assert_eq!(
        machine.connect_unsupervised().await.map(drop).unwrap_err().kind(),
        ErrorKind::SignIn
    );
    client.close().await;
}

#[tokio::test]
async fn a_dpop_bound_token_remains_bound() {
    for dpop in [Dpop::On, Dpop::Nonce] {
        let machine = SignedIn::not_yet(Oidc::start(&OidcOptions { dpop, ..Default::default() }));
        machine.sign_in().await;
        assert!(machine.account().status().granted.unwrap().bound, "{dpop:?}");
        let key = machine.tokens()["key"].clone();
        assert!(key.is_string());
        // Each program is another one, which finds the key on disk.
        for _ in 0..2 {
            let client = machine.client().await;
            machine.echo(&client).await;
            let before = machine.tokens();
            machine.server.expire_access_tokens();
            machine.echo(&client).await;
            assert_ne!(machine.tokens()["access_token"], before["access_token"]);
            assert_eq!(machine.tokens()["key"], key, "{dpop:?}");
            client.close().await;
        }
        let proofs = machine.server.requests().into_iter().filter(|seen| {
            seen.header("authorization").is_some_and(|header| header.starts_with("DPoP "))
        });
        assert!(proofs.into_iter().all(|seen| seen.header("dpop").is_some()));
    }
}
