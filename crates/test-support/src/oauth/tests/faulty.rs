//! The scripted server: correct without a script, and wrong only in the scripted way.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::manual_login::{
    ManualClient, call_tool, get, post_form, post_form_with, post_json, tokens, try_send,
};
use crate::oauth::{
    Challenge, Endpoint, Fault, FaultyAuthServer, Issuer, RedirectChange, Refresh, Script, visit,
};

fn start() -> FaultyAuthServer {
    FaultyAuthServer::start(Script::default()).unwrap()
}

fn metadata_address(server: &FaultyAuthServer) -> String {
    format!("{}/.well-known/oauth-authorization-server", server.issuer())
}

#[test]
fn default_script_is_a_correct_server() {
    let server = start();
    let oauth = ManualClient::registered(&server.mcp_url());
    let landed = visit(&oauth.authorization("mcp:read"));
    assert_eq!(landed.parameter("iss").as_deref(), Some(server.issuer()));
    oauth.complete_login(&landed);
    let first = &server.requests_to("/token")[0];
    assert_eq!(first.field("resource"), Some(server.mcp_url()));
    assert!(first.header("user-agent").is_some_and(|agent| agent.starts_with("ureq")));
    assert_eq!(server.requests_to("/authorize")[0].field("scope").as_deref(), Some("mcp:read"));
    server.forget_requests();
    assert!(server.requests().is_empty());
}

#[test]
fn tool_can_require_a_scope() {
    let server = start();
    let oauth = ManualClient::registered(&server.mcp_url());
    let (access, _) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    let refused = call_tool(&server.mcp_url(), &access, "write");
    assert_eq!(refused.status, 403);
    assert!(refused.challenge.contains("insufficient_scope"), "{}", refused.challenge);
    let (access, _) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:write"))));
    assert_eq!(call_tool(&server.mcp_url(), &access, "write").status, 200);
}

#[test]
fn every_fault_reaches_the_client() {
    let server = start();
    let at = metadata_address(&server);
    let correct = get(&at);
    let with = |fault| server.change(|script| script.server_metadata = Endpoint::failing(fault));

    with(Fault::refuse(500, "invalid_client"));
    assert_eq!((get(&at).status, get(&at).error().as_str()), (500, "invalid_client"));
    with(Fault::Status { status: 429, retry_after: Some(3) });
    let answer = get(&at);
    assert_eq!((answer.status, &answer.headers["retry-after"]), (429, &"3".parse().unwrap()));
    with(Fault::Page(200));
    assert!(get(&at).text.starts_with("<!doctype html>"));
    with(Fault::Redirect(307));
    let answer = get(&at);
    let location = answer.headers["location"].to_str().unwrap();
    assert_eq!(answer.status, 307);
    assert!(location.starts_with(server.other_url()), "{location}");
    assert_eq!(get(location).status, 307, "the script is that of both");
    with(Fault::Truncated);
    let answer = get(&at);
    assert!(answer.status == 200 && correct.text.starts_with(&answer.text), "{answer:?}");
    assert_eq!(answer.json(), Value::Null);
    with(Fault::Huge);
    assert!(get(&at).text.len() > 5 << 20);
    for fault in [Fault::HangUp, Fault::Lost, Fault::CutOff] {
        with(fault.clone());
        assert!(try_send("GET", &at, &[], "").is_err(), "{fault:?}");
    }
    with(Fault::Late(Duration::from_millis(50)));
    let asked = Instant::now();
    assert_eq!(get(&at).text, correct.text);
    assert!(asked.elapsed() >= Duration::from_millis(50));
}

#[test]
fn silent_fault_lasts_until_the_client_disconnects() {
    let server = start();
    server.change(|script| script.server_metadata = Endpoint::failing(Fault::Silent));
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_millis(200)))
        .proxy(None)
        .build();
    let answer = ureq::Agent::new_with_config(config).get(metadata_address(&server)).call();
    assert!(matches!(answer, Err(ureq::Error::Timeout(_))), "{answer:?}");
}

#[test]
fn fault_ends_after_its_number_of_times() {
    let server = start();
    let oauth = ManualClient::registered(&server.mcp_url());
    let (_, refresh) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    server.change(|script| script.token = Endpoint::failing_times(2, Fault::status(503)));
    let statuses = [(); 3].map(|()| oauth.refresh(&refresh).status);
    assert_eq!(statuses, [503, 503, 200]);
}

#[test]
fn lost_response_still_rotates_the_token() {
    let server = start();
    let oauth = ManualClient::registered(&server.mcp_url());
    let (_, refresh) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    server.change(|script| script.token = Endpoint::failing_times(1, Fault::Lost));
    let fields = format!("grant_type=refresh_token&refresh_token={refresh}&client_id={}", oauth.id);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert!(try_send("POST", oauth.at("token_endpoint"), &form, &fields).is_err());
    assert_eq!(oauth.refresh(&refresh).error(), "invalid_grant");
}

#[test]
fn script_patches_responses() {
    let server = start();
    server.change(|script| {
        script.server_metadata = Endpoint::saying(json!({
            "issuer": "http://evil.test", "code_challenge_methods_supported": null,
            "registration_endpoint": null, "token_endpoint": "http://evil.test/token" }));
    });
    let metadata = get(&metadata_address(&server)).json();
    assert_eq!(metadata["issuer"], "http://evil.test");
    assert_eq!(metadata["code_challenge_methods_supported"], Value::Null);
    assert_eq!(metadata["registration_endpoint"], Value::Null);
    server.change(|script| script.server_metadata = Endpoint::default());

    let oauth = ManualClient::registered(&server.mcp_url());
    let patch = json!({ "token_type": "mac", "expires_in": "-1", "refresh_token": null });
    server.change(|script| script.token = Endpoint::saying(patch));
    let answer = oauth.exchange(&visit(&oauth.authorization("mcp:read"))).json();
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("mac"), &json!("-1")));
    assert_eq!(answer["refresh_token"], Value::Null);
    let resource = Endpoint::saying(json!({ "resource": "http://evil.test/mcp" }));
    server.change(|script| script.resource_metadata = resource);
    let about = format!("{}/.well-known/oauth-protected-resource/mcp", server.issuer());
    assert_eq!(get(&about).json()["resource"], "http://evil.test/mcp");
}

#[test]
fn script_changes_redirects() {
    let server = start();
    let oauth = ManualClient::registered(&server.mcp_url());
    let landed = |twists: Vec<RedirectChange>| {
        server.change(|script| script.redirect = twists);
        visit(&oauth.authorization("mcp:read"))
    };
    let refused = landed(RedirectChange::error("access_denied", "<b>no</b>"));
    assert_eq!(refused.parameter("error").as_deref(), Some("access_denied"));
    assert_eq!(refused.parameter("error_description").as_deref(), Some("<b>no</b>"));
    assert_eq!(refused.parameter("code"), None);
    assert_eq!(landed(vec![RedirectChange::remove("iss")]).parameter("iss"), None);
    let wrong = landed(vec![
        RedirectChange::set("iss", "http://evil.test"),
        RedirectChange::set("state", "other"),
    ]);
    assert_eq!(wrong.parameter("iss").as_deref(), Some("http://evil.test"));
    assert_eq!(wrong.parameter("state").as_deref(), Some("other"));
    let doubled = landed(vec![RedirectChange::add("code", "second")]);
    assert_eq!(doubled.url.matches("code=").count(), 2);
}

#[test]
fn secrets_are_checked_by_the_registered_method() {
    let server = start();
    let mut oauth = ManualClient::unregistered(&server.mcp_url());
    for (method, by_form, by_header) in [
        (Value::Null, true, true),
        (json!("client_secret_post"), true, false),
        (json!("client_secret_basic"), false, true),
    ] {
        let patch = json!({ "client_secret": "s3cret", "token_endpoint_auth_method": method });
        server.change(|script| script.registration = Endpoint::saying(patch));
        let asked = json!({ "redirect_uris": [oauth.redirect_uri],
            "token_endpoint_auth_method": "none" });
        let client = post_json(oauth.at("registration_endpoint"), &asked).json();
        assert_eq!(
            (&client["client_secret"], &client["token_endpoint_auth_method"]),
            (&json!("s3cret"), &method)
        );
        oauth.id = client["client_id"].as_str().unwrap().to_owned();
        let (_, refresh) = {
            server.change(|script| script.refresh = Refresh::Lasting);
            let basic = basic(&oauth.id, "s3cret");
            let landed = visit(&oauth.authorization("mcp:read"));
            if by_header {
                tokens(&oauth.exchange_with(&landed, &[("authorization", &basic)]))
            } else {
                let code = landed.parameter("code").unwrap();
                let fields = [
                    ("grant_type", "authorization_code"),
                    ("code", &code),
                    ("client_id", &oauth.id),
                    ("client_secret", "s3cret"),
                    ("redirect_uri", &oauth.redirect_uri),
                    ("code_verifier", super::manual_login::VERIFIER),
                ];
                tokens(&post_form(oauth.at("token_endpoint"), &fields))
            }
        };
        let status = |secret: Option<&str>, headers: &[(&str, &str)]| {
            let mut fields = vec![
                ("grant_type", "refresh_token"),
                ("refresh_token", &refresh),
                ("client_id", &oauth.id),
            ];
            fields.extend(secret.map(|secret| ("client_secret", secret)));
            post_form_with(oauth.at("token_endpoint"), &fields, headers).status
        };
        let expected = |works: bool| if works { 200 } else { 401 };
        assert_eq!(status(Some("s3cret"), &[]), expected(by_form), "{method}");
        let header = basic(&oauth.id, "s3cret");
        assert_eq!(status(None, &[("authorization", &header)]), expected(by_header), "{method}");
        assert_eq!(status(None, &[]), 401);
        assert_eq!(status(Some("wrong"), &[]), 401);
    }
}

fn basic(id: &str, secret: &str) -> String {
    use base64::Engine;
    format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

#[test]
fn refresh_tokens_can_be_lasting_or_absent() {
    let server = start();
    server.change(|script| script.refresh = Refresh::Lasting);
    let oauth = ManualClient::registered(&server.mcp_url());
    let (_, refresh) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    for _ in 0..2 {
        let again = oauth.refresh(&refresh);
        assert_eq!((again.status, &again.json()["refresh_token"]), (200, &Value::Null));
    }
    server.change(|script| script.refresh = Refresh::Never);
    let (_, refresh) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    assert_eq!(refresh, "");
}

#[test]
fn access_ends_by_expiry_revocation_and_issuer_change() {
    let server = start();
    let oauth = ManualClient::registered(&server.mcp_url());
    let login = || tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    let status = |access: &str| call_tool(&server.mcp_url(), access, "echo").status;
    server.change(|script| script.access_seconds = 0);
    assert_eq!(status(&login().0), 401);
    server.change(|script| script.access_seconds = 3600);

    let (access, refresh) = login();
    server.expire_access_tokens();
    assert_eq!((status(&access), oauth.refresh(&refresh).status), (401, 200));
    let (access, refresh) = login();
    let fields = [("token", refresh.as_str()), ("client_id", &oauth.id)];
    assert_eq!(post_form(oauth.at("revocation_endpoint"), &fields).status, 200);
    assert_eq!((status(&access), oauth.refresh(&refresh).status), (401, 400));

    let (access, refresh) = login();
    assert_eq!(status(&access), 200);
    server.change(|script| script.issuer = Issuer::Other);
    assert_eq!(status(&access), 401);
    let moved = ManualClient::registered(&server.mcp_url());
    assert_eq!(moved.metadata["issuer"], server.other_url());
    let misplaced = post_form(
        moved.at("token_endpoint"),
        &[("grant_type", "refresh_token"), ("refresh_token", &refresh), ("client_id", &oauth.id)],
    );
    assert_eq!(misplaced.error(), "invalid_grant");
    let (access, _) = tokens(&moved.exchange(&visit(&moved.authorization("mcp:read"))));
    assert_eq!(status(&access), 200);
    server.revoke_everything();
    assert_eq!(status(&access), 401);
}

#[test]
fn clients_come_from_registration_script_or_document() {
    let redirect_uri = "http://127.0.0.1:9/callback";
    let known = json!({ "client_id": "known", "redirect_uris": [redirect_uri] });
    let script = Script { clients: vec![known], client_documents: true, ..Script::default() };
    let server = FaultyAuthServer::start(script).unwrap();
    let mut oauth = ManualClient::unregistered(&server.mcp_url());
    assert_eq!(oauth.metadata["client_id_metadata_document_supported"], true);
    oauth.id = "https://somewhere.test/client.json".to_owned();
    oauth.complete_login(&visit(&oauth.authorization("mcp:read")));
    redirect_uri.clone_into(&mut oauth.redirect_uri);
    oauth.id = "known".to_owned();
    let landed = visit(&oauth.authorization("mcp:read"));
    assert_eq!((oauth.exchange(&landed).status, landed.text.as_str()), (200, ""));
    server.forget_clients();
    assert!(server.clients().is_empty());
    let refused = visit(&oauth.authorization("mcp:read"));
    assert!(refused.url.starts_with(server.issuer()) && refused.text.contains("invalid_client"));
    assert_eq!(
        (oauth.refresh("x").status, oauth.refresh("x").error().as_str()),
        (401, "invalid_client")
    );
}

#[test]
fn challenge_follows_the_script() {
    let server = start();
    let said = |challenge| {
        server.change(|script| script.challenge = challenge);
        call_tool(&server.mcp_url(), "none", "echo").challenge
    };
    let about = format!("{}/.well-known/oauth-protected-resource/mcp", server.issuer());
    let full = said(Challenge::Full { scope: Some("a b".to_owned()) });
    assert_eq!(full, format!("Bearer resource_metadata=\"{about}\", scope=\"a b\""));
    assert_eq!(said(Challenge::Bare), "Bearer");
    assert_eq!(said(Challenge::Absent), "");
    assert_eq!(said(Challenge::Text("Basic realm=x".to_owned())), "Basic realm=x");
}
