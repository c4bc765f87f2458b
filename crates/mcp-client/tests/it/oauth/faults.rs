//! What becomes of tokens when the authorization server fails at renewing them: only a definite
//! refusal ends a sign-in.

use agent_test_support::oauth::{Endpoint, Fault, FaultyAuthServer, Refresh};
use agent_test_support::port;
use mcp_client::Error;
use mcp_client::error::ErrorKind;
use mcp_client::oauth::Error as Why;
use serde_json::{Value, json};

use super::DOCUMENT;
use super::signed_in::{SignedIn, needs_sign_in, now, until};

/// Why signing in did not work.
fn why(error: &Error) -> &Why {
    match error {
        Error::OAuth(why) => why,
        other => panic!("not about a sign-in: {other}"),
    }
}

/// Fails at the token endpoint from now on.
fn fail(machine: &SignedIn<FaultyAuthServer>, fault: Fault) {
    machine.server.change(|script| script.token = Endpoint::failing(fault));
}

fn mend(machine: &SignedIn<FaultyAuthServer>) {
    machine.server.change(|script| script.token = Endpoint::default());
}

#[tokio::test]
async fn a_failed_renewal_keeps_the_tokens() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let refused = |status| Fault::refuse(status, "invalid_grant");
    for (fault, kind, said) in [
        (Fault::Page(200), ErrorKind::Transient, "not a JSON object"),
        (Fault::Page(500), ErrorKind::Transient, "is unavailable (HTTP status 500)"),
        (Fault::Page(404), ErrorKind::Transient, "HTTP status 404 without an error code"),
        (Fault::status(503), ErrorKind::Transient, "is unavailable (HTTP status 503)"),
        (Fault::status(429), ErrorKind::Transient, "is unavailable (HTTP status 429)"),
        (Fault::HangUp, ErrorKind::Transient, "cannot reach the authorization server"),
        (Fault::Redirect(307), ErrorKind::Transient, "HTTP status 307 without an error code"),
        (Fault::Redirect(308), ErrorKind::Transient, "HTTP status 308 without an error code"),
        (Fault::Redirect(302), ErrorKind::Transient, "HTTP status 302 without an error code"),
        // Not in the way, or not with the word, of a definite refusal.
        (refused(500), ErrorKind::Transient, "is unavailable (HTTP status 500)"),
        (refused(403), ErrorKind::SignIn, "`invalid_grant`"),
        (refused(200), ErrorKind::SignIn, "`invalid_grant`"),
        (Fault::refuse(400, "invalid_grants"), ErrorKind::Transient, "`invalid_grants`"),
        (Fault::refuse(400, "invalid_scope"), ErrorKind::SignIn, "`invalid_scope`"),
    ] {
        machine.expire_access_token();
        let (before, asked) = (machine.tokens(), machine.asked());
        fail(&machine, fault.clone());
        let error = machine.failed().await;
        assert_eq!(error.kind(), kind, "{fault:?}: {error}");
        assert!(error.to_string().contains(said), "{fault:?}: {error}");
        assert_eq!(machine.tokens(), before, "{fault:?}");
        assert_eq!(machine.asked(), asked + 1, "{fault:?}");
        mend(&machine);
        let session = machine
            .connect_unsupervised()
            .await
            .unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_ne!(machine.tokens()["refresh_token"], before["refresh_token"]);
        session.close().await;
    }
    let strangers = machine.server.requests().into_iter().filter(|seen| seen.server == "other");
    assert_eq!(strangers.count(), 0, "a redirect was followed with a refresh token");
}

#[tokio::test]
async fn a_valid_token_is_used_while_renewal_fails() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    for fault in [Fault::status(503), Fault::Page(200), Fault::HangUp, Fault::Redirect(307)] {
        machine.make_access_token_expire_soon();
        let asked = machine.asked();
        fail(&machine, fault.clone());
        machine
            .connect_unsupervised()
            .await
            .unwrap_or_else(|error| panic!("{fault:?}: {error}"))
            .close()
            .await;
        assert!(machine.asked() > asked, "{fault:?}: nobody tried to renew it");
    }
}

/// The server has rotated and we do not know to what. The old pair stays, as a server that is kind
/// takes it once more; one that is not refuses it, and that is definite.
#[tokio::test]
async fn an_unusable_renewal_leads_to_one_definite_rejection() {
    let saying = Endpoint::saying;
    for (token, said) in [
        (Endpoint::failing(Fault::Lost), "cannot reach the authorization server"),
        (Endpoint::failing(Fault::CutOff), "cannot reach the authorization server"),
        (Endpoint::failing(Fault::Truncated), "not a JSON object"),
        (Endpoint::failing(Fault::Huge), "limit of 1048576 bytes"),
        (saying(json!({ "token_type": "mac" })), "unsupported token type `mac`"),
        (saying(json!({ "access_token": null })), "missing access token"),
        (saying(json!({ "access_token": 5 })), "missing access token"),
        (saying(json!({ "access_token": "a\r\nb" })), "cannot be sent in a header"),
        (saying(json!({ "access_token": "x".repeat(200_000) })), "missing access token"),
    ] {
        let machine = SignedIn::to_faulty(|_| {}).await;
        machine.expire_access_token();
        let (before, asked) = (machine.tokens(), machine.asked());
        machine.server.change(|script| script.token = token.clone());
        let error = machine.failed().await;
        assert!(error.to_string().contains(said), "{token:?}: {error}");
        assert_eq!((error.kind(), machine.tokens()), (ErrorKind::Transient, before), "{token:?}");
        mend(&machine);
        let error = machine.failed().await;
        assert!(matches!(error, Error::SignIn { .. }), "{token:?}: {error}");
        assert!(!machine.file().exists(), "{token:?}");
        assert_eq!(machine.asked(), asked + 2, "{token:?}");
    }
}

#[tokio::test]
async fn a_lost_renewal_is_retried_with_reusable_refresh_tokens() {
    let machine = SignedIn::to_faulty(|script| script.refresh = Refresh::Lasting).await;
    for fault in [Fault::Lost, Fault::CutOff, Fault::Truncated] {
        machine.expire_access_token();
        let before = machine.tokens();
        machine.server.change(|script| script.token = Endpoint::failing_times(1, fault));
        machine.failed().await;
        machine.connect_unsupervised().await.unwrap().close().await;
        assert_eq!(machine.tokens()["refresh_token"], before["refresh_token"]);
        assert_ne!(machine.tokens()["access_token"], before["access_token"]);
    }
}

#[tokio::test]
async fn an_unreachable_authorization_server_keeps_the_tokens() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    machine.expire_access_token();
    let closed = port::free();
    let file = machine.folder.join("shared.meta.json");
    let known = std::fs::read_to_string(&file).unwrap();
    let token = format!("{}/token", machine.server.issuer());
    assert!(known.contains(&token), "{known}");
    std::fs::write(&file, known.replace(&token, &format!("http://{closed}/token"))).unwrap();
    let before = machine.tokens();
    let error = machine.failed().await;
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    assert!(error.to_string().contains("cannot reach the authorization server"), "{error}");
    assert_eq!(machine.tokens(), before);
}

#[tokio::test]
async fn a_silent_authorization_server_times_out() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    machine.expire_access_token();
    let before = machine.tokens();
    fail(&machine, Fault::Silent);
    tokio::time::pause();
    let error = machine.failed().await;
    tokio::time::resume();
    assert!(matches!(why(&error), Why::Silent { .. }), "{error}");
    assert!(error.to_string().ends_with("/token did not respond within 30 s"), "{error}");
    assert_eq!((error.kind(), machine.tokens()), (ErrorKind::Transient, before));
}

#[tokio::test]
async fn client_honors_retry_after() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    fail(&machine, Fault::Status { status: 429, retry_after: Some(3600) });
    machine.server.expire_access_tokens();
    let (before, asked) = (machine.tokens(), machine.asked());
    for _ in 0..3 {
        let error = machine.call(&client, "echo").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
        assert!(error.to_string().contains("retry after 3"), "{error}");
    }
    assert_eq!(machine.asked(), asked + 1);
    assert_eq!(machine.tokens(), before);
    client.close().await;
}

#[tokio::test]
async fn renewal_is_retried_after_retry_after() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    machine.at_rest(&client).await;
    let once = Endpoint::failing_times(1, Fault::Status { status: 503, retry_after: Some(1) });
    machine.server.change(|script| script.token = once);
    machine.server.expire_access_tokens();
    let asked = machine.asked();
    machine.call(&client, "echo").await.unwrap_err();
    machine.call(&client, "echo").await.unwrap_err();
    assert_eq!(machine.asked(), asked + 1);
    // sleep: the second that the server asked for.
    tokio::time::sleep(std::time::Duration::from_millis(1010)).await;
    machine.echo(&client).await;
    assert_eq!(machine.asked(), asked + 2);
    client.close().await;
}

#[tokio::test]
async fn a_definite_rejection_deletes_the_tokens_once() {
    for status in [400, 401] {
        let machine = SignedIn::to_faulty(|_| {}).await;
        let client = machine.client().await;
        fail(&machine, Fault::refuse(status, "invalid_grant"));
        machine.server.expire_access_tokens();
        let asked = machine.asked();
        let error = machine.call(&client, "echo").await.unwrap_err();
        assert!(matches!(error, Error::SignIn { .. }), "{error}");
        until(&client, "signed out", needs_sign_in).await;
        for _ in 0..3 {
            machine.call(&client, "echo").await.unwrap_err();
        }
        assert_eq!(machine.asked(), asked + 1, "what is over is not asked for again");
        assert!(!machine.file().exists());
        let told = "the saved sign-in has expired: the authorization server rejected the request: \
                    `invalid_grant`";
        assert!(machine.warnings().iter().any(|text| text.starts_with(told)));
        client.close().await;
    }
}

#[tokio::test]
async fn the_next_login_renews_a_forgotten_registration() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let first = machine.account().status().granted.unwrap().client_id;
    machine.server.expire_access_tokens();
    machine.server.forget_clients();
    let error = machine.failed().await;
    assert!(matches!(error, Error::SignIn { .. }), "{error}");
    machine.sign_in().await;
    let second = machine.account().status().granted.unwrap().client_id;
    assert_ne!(first, second);
    machine.expire_access_token();
    machine.connect_unsupervised().await.unwrap().close().await;
}

#[tokio::test]
async fn a_document_rejected_at_renewal_is_retried_by_login() {
    let script = agent_test_support::oauth::Script { client_documents: true, ..Default::default() };
    let mut machine = SignedIn::not_yet(FaultyAuthServer::start(script).unwrap());
    machine.document = Some(DOCUMENT.to_owned());
    machine.sign_in().await;
    assert_eq!(machine.account().status().granted.unwrap().client_id, DOCUMENT);
    machine.server.expire_access_tokens();
    fail(&machine, Fault::refuse(401, "invalid_client"));
    let error = machine.failed().await;
    assert!(matches!(error, Error::SignIn { .. }), "{error}");
    assert!(machine.account().status().document_refused);
    assert!(machine.folder.join("shared.cimd-off").exists());
    assert!(machine.warnings().iter().any(|text| text.contains("rejected the client document")));
    mend(&machine);
    machine.sign_in().await;
    assert!(!machine.account().status().document_refused);
    assert_eq!(machine.account().status().granted.unwrap().client_id, DOCUMENT);
}

#[tokio::test]
async fn a_rejected_configured_client_is_reported_and_kept() {
    let client = json!({ "client_id": "own", "client_secret": "s3cret-of-the-entry",
        "redirect_uris": ["http://127.0.0.1:39517/callback"] });
    let script = agent_test_support::oauth::Script { clients: vec![client], ..Default::default() };
    let mut machine = SignedIn::not_yet(FaultyAuthServer::start(script).unwrap());
    machine.entry = super::entry_with("shared", &machine.server.mcp_url(), |options| {
        options.client_id = super::text("own");
        options.client_secret = super::text("s3cret-of-the-entry");
        options.redirect_port = Some(39517);
    });
    machine.sign_in().await;
    machine.expire_access_token();
    let before = machine.tokens();
    machine.server.forget_clients();
    let error = machine.failed().await;
    assert!(error.to_string().contains("`invalid_client`"), "{error}");
    assert_eq!((error.kind(), machine.tokens()), (ErrorKind::SignIn, before));
}

/// What a running program shows follows what its calls meet.
#[tokio::test]
async fn unrecoverable_rejections_require_a_sign_in() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let client = machine.client().await;
    fail(&machine, Fault::refuse(400, "unauthorized_client"));
    machine.server.expire_access_tokens();
    let error = machine.call(&client, "echo").await.unwrap_err();
    assert!(error.to_string().contains("`unauthorized_client`"), "{error}");
    until(&client, "signed out", needs_sign_in).await;
    assert!(machine.file().exists());
    client.close().await;
}

#[tokio::test]
async fn token_lifetime_is_accepted_in_every_format() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    for (said, life) in [
        (json!(60), Some(60)),
        (json!("60"), Some(60)),
        (json!(59.9), Some(59)),
        (json!(0), None),
        (json!(-5), None),
        (json!(1e300), Some(315_360_000)),
        (json!(u64::MAX), Some(315_360_000)),
        (Value::Null, None),
        (json!("soon"), None),
        (json!(""), None),
        (json!([60]), None),
        (json!(true), None),
    ] {
        machine.expire_access_token();
        machine.server.change(|script| {
            script.token = Endpoint::saying(json!({ "expires_in": said }));
        });
        let began = now();
        let session =
            machine.connect_unsupervised().await.unwrap_or_else(|error| panic!("{said}: {error}"));
        assert_eq!(session.list_tools().await.unwrap().tools.len(), 2, "{said}");
        session.close().await;
        let found = machine.tokens()["expires_at"].as_u64();
        let right = match (found, life) {
            (Some(found), Some(life)) => (began + life..=now() + life).contains(&found),
            (found, life) => found == life,
        };
        assert!(right, "{said}: {found:?}");
    }
}

#[tokio::test]
async fn fields_missing_in_a_renewal_are_kept() {
    let machine = SignedIn::to_faulty(|script| {
        script.challenge =
            agent_test_support::oauth::Challenge::Full { scope: Some("mcp:read".to_owned()) };
        script.refresh = Refresh::Lasting;
    })
    .await;
    let before = machine.tokens();
    machine.expire_access_token();
    machine.server.change(|script| script.token = Endpoint::saying(json!({ "scope": null })));
    machine.connect_unsupervised().await.unwrap().close().await;
    let after = machine.tokens();
    assert_ne!(after["access_token"], before["access_token"]);
    for key in ["refresh_token", "scope", "requested_scope", "issuer", "client_id", "resource"] {
        assert!(after[key].is_string(), "{key}: {after}");
        assert_eq!(after[key], before[key], "{key}");
    }
}

#[tokio::test]
async fn secrets_in_oauth_errors_are_redacted() {
    let machine = SignedIn::to_faulty(|_| {}).await;
    let token = machine.tokens()["refresh_token"].as_str().unwrap().to_owned();
    for error in ["invalid_grant", "invalid_scope"] {
        machine.sign_in().await;
        machine.expire_access_token();
        let token = machine.tokens()["refresh_token"].as_str().unwrap().to_owned();
        let description = format!("the token {token} is not good");
        let error = error.to_owned();
        fail(&machine, Fault::Refuse { status: 400, error, description });
        machine.failed().await;
        mend(&machine);
    }
    assert!(machine.warnings().iter().any(|text| text.contains("[redacted")), "{token}");
}
