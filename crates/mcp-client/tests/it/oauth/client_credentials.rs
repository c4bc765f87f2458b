//! Programs that sign in by themselves: with their own credentials, or with a statement about them
//! that somebody renews.

use agent_test_support::oauth::{Endpoint, Fault, FaultyAuthServer, Script};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_client::config::{Flow, OauthOptions, Text};
use mcp_client::error::ErrorKind;
use serde_json::{Value, json};

use super::signed_in::SignedIn;
use super::{entry_with, text};

/// A machine whose entry signs in by itself as the client `robot`.
fn alone(change: impl FnOnce(&mut OauthOptions)) -> SignedIn<FaultyAuthServer> {
    let robot = json!({ "client_id": "robot", "client_secret": "s3cret-of-robot",
        "redirect_uris": [] });
    let agent = json!({ "client_id": "agent", "redirect_uris": [],
        "token_endpoint_auth_method": "none" });
    let script = Script { clients: vec![robot, agent], ..Script::default() };
    let mut machine = SignedIn::not_yet(FaultyAuthServer::start(script).unwrap());
    machine.entry = entry_with("shared", &machine.server.mcp_url(), change);
    machine
}

fn with_credentials() -> SignedIn<FaultyAuthServer> {
    alone(|options| {
        options.flow = Flow::ClientCredentials;
        options.client_id = text("robot");
        options.client_secret = text("s3cret-of-robot");
    })
}

#[tokio::test]
async fn client_credentials_sign_in_and_renew() {
    let machine = with_credentials();
    let client = machine.client().await;
    machine.echo(&client).await;
    let kinds = || -> Vec<String> {
        let requests = machine.server.requests_to("/token");
        requests.iter().filter_map(|seen| seen.field("grant_type")).collect()
    };
    assert_eq!(kinds(), ["client_credentials"]);
    machine.server.expire_access_tokens();
    machine.echo(&client).await;
    assert_eq!(kinds(), ["client_credentials", "client_credentials"]);
    client.close().await;
    // Another program finds what is kept.
    machine.connect_unsupervised().await.unwrap().close().await;
    assert_eq!(kinds().len(), 2);
    assert!(machine.server.requests_to("/authorize").is_empty());
}

#[tokio::test]
async fn rejected_client_credentials_are_not_retried() {
    let machine = with_credentials();
    machine.server.forget_clients();
    let error = machine.failed().await;
    assert!(error.to_string().contains("`invalid_client`"), "{error}");
    // No person can help a program: what is configured must change.
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(machine.asked(), 1);
}

#[tokio::test]
async fn client_credentials_honor_retry_after() {
    let machine = with_credentials();
    let busy = Fault::Status { status: 429, retry_after: Some(3600) };
    machine.server.change(|script| script.token = Endpoint::failing(busy.clone()));
    let client = machine.client().await;
    assert_eq!(machine.asked(), 1, "{}", client.status()[0].state);
    let state = client.status()[0].state.to_string();
    assert!(state.contains("retry after 3"), "{state}");
    client.close().await;

    machine.server.change(|script| script.token = Endpoint::default());
    let client = machine.client().await;
    machine.echo(&client).await;
    machine.server.change(|script| script.token = Endpoint::failing(busy));
    machine.server.expire_access_tokens();
    let asked = machine.asked();
    for _ in 0..3 {
        machine.call(&client, "echo").await.unwrap_err();
    }
    assert_eq!(machine.asked(), asked + 1);
    client.close().await;
}

#[tokio::test]
async fn assertion_files_are_read_for_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("statement");
    let machine = alone(|options| {
        options.flow = Flow::Workload;
        options.assertion_file = Some(Text::literal(file.to_str().unwrap()));
    });
    for name in ["first", "second"] {
        let statement = statement(name);
        std::fs::write(&file, format!("{statement}\n")).unwrap();
        machine.server.expire_access_tokens();
        machine.connect_unsupervised().await.unwrap().close().await;
        let last = machine.server.requests_to("/token").pop().unwrap();
        assert_eq!(last.field("assertion"), Some(statement));
    }
    assert_eq!(machine.asked(), 2);
}

#[tokio::test]
async fn an_unreadable_assertion_file_sends_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("statement");
    let machine = alone(|options| {
        options.flow = Flow::Workload;
        options.assertion_file = Some(Text::literal(file.to_str().unwrap()));
    });
    let limit = 64 * 1024;
    for (bytes, why) in [
        (None, "cannot be read: No such file"),
        (Some(vec![b'x'; limit + 1]), "exceeds the limit of 65536 bytes"),
        (Some(vec![0xff, 0xfe]), "is not UTF-8 text"),
        (Some(b"-----BEGIN OPENSSH PRIVATE KEY-----".to_vec()), "is not a JSON Web Token"),
        (Some(vec![b'x'; limit]), "is not a JSON Web Token"),
    ] {
        if let Some(bytes) = bytes {
            std::fs::write(&file, bytes).unwrap();
        }
        let error = machine.failed().await;
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    }
    assert_eq!(machine.asked(), 0);
    let mut longest = statement("");
    longest.push_str(&"x".repeat(limit - longest.len()));
    std::fs::write(&file, longest).unwrap();
    machine.connect_unsupervised().await.unwrap().close().await;
}

/// A JSON Web Token that says nothing but its name.
fn statement(name: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.signature", part(&json!({ "alg": "ES256" })), part(&json!({ "sub": name })))
}
