//! `oidc-provider` of Node.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::hand::{Hand, call_tool, get, post_form, post_json, tokens};
use crate::oauth::{
    Offer, Oidc, OidcOptions, RefreshTokens, TokenFormat, sign_in_with_browser, visit,
    visit_and_refuse,
};

fn loopback_client(id: &str) -> Value {
    json!({ "client_id": id, "redirect_uris": ["http://127.0.0.1/callback"],
        "application_type": "native", "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"] })
}

#[test]
fn oidc_provider_lets_a_login_go_all_the_way() {
    let server = Oidc::start(&OidcOptions::default());
    let hand = Hand::registered(server.mcp_url());
    assert_eq!(hand.metadata["authorization_response_iss_parameter_supported"], true);
    assert_eq!(server.clients()[0]["client_name"], "by hand");
    let landed = visit(&hand.authorization("mcp:read offline_access"));
    assert_eq!(landed.parameter("iss").as_deref(), Some(server.issuer()));
    hand.goes_all_the_way(&landed);
    let first = &server.token_requests()[0];
    assert_eq!(first.field("grant_type").as_deref(), Some("authorization_code"));
    assert_eq!(first.field("resource").as_deref(), Some(server.mcp_url()));
    assert_eq!(first.field("client_id"), Some(hand.id));
    assert!(first.header("user-agent").is_some_and(|agent| agent.starts_with("ureq")));
}

#[test]
fn a_browser_signs_in_consents_and_lands_on_the_redirect() {
    let server = Oidc::start(&OidcOptions::default());
    let hand = Hand::registered(server.mcp_url());
    let landed = sign_in_with_browser(&hand.authorization("mcp:read"), "ann \"o'\" hara");
    hand.goes_all_the_way(&landed);
    let pages = server.requests();
    let filled: Vec<_> =
        pages.iter().filter(|seen| seen.route().starts_with("/interaction/")).collect();
    assert!(filled.iter().any(|seen| seen.form["login"] == "ann \"o'\" hara"), "{filled:?}");

    let mut stranger = hand;
    stranger.id = "nobody-registered-this".to_owned();
    let refused = sign_in_with_browser(&stranger.authorization("mcp:read"), "ann");
    assert!(refused.url.starts_with(server.issuer()), "{refused:?}");
    assert!(refused.text.contains("invalid_client"), "{refused:?}");
}

#[test]
fn a_person_may_refuse() {
    let server = Oidc::start(&OidcOptions::default());
    let hand = Hand::registered(server.mcp_url());
    let landed = visit_and_refuse(&hand.authorization("mcp:read"));
    assert!(landed.text.contains("you are back"), "{landed:?}");
    assert_eq!(landed.parameter("error").as_deref(), Some("access_denied"));
    assert_eq!(landed.parameter("state").as_deref(), Some("the-state"));
    assert_eq!(landed.parameter("code"), None);
}

#[test]
fn a_token_reaches_only_as_far_as_its_scope_and_its_resource() {
    let clients = vec![loopback_client("known")];
    let server = Oidc::start(&OidcOptions { clients, ..OidcOptions::default() });
    let mut hand = Hand::unregistered(server.mcp_url());
    hand.id = "known".to_owned();
    let (access, _) = tokens(&hand.exchange(&visit(&hand.authorization("mcp:read"))));
    let refused = call_tool(server.mcp_url(), &access, "write");
    assert_eq!(refused.status, 403);
    let wanted = "error=\"insufficient_scope\", scope=\"mcp:write\"";
    assert!(refused.challenge.contains(wanted), "{}", refused.challenge);
    let (access, _) = tokens(&hand.exchange(&visit(&hand.authorization("mcp:read mcp:write"))));
    assert_eq!(call_tool(server.mcp_url(), &access, "write").status, 200);

    let error = |hand: &Hand, scope: &str| visit(&hand.authorization(scope)).parameter("error");
    let mut narrow = loopback_client("");
    narrow["scope"] = "mcp:read".into();
    let narrow = post_json(hand.at("registration_endpoint"), &narrow).json();
    hand.id = narrow["client_id"].as_str().unwrap().to_owned();
    assert_eq!(error(&hand, "mcp:read"), None);
    assert_eq!(error(&hand, "mcp:write").as_deref(), Some("invalid_scope"));
    hand.resource = "http://127.0.0.1:9/elsewhere".to_owned();
    assert_eq!(error(&hand, "mcp:read").as_deref(), Some("invalid_target"));
}

#[test]
fn tokens_expire_are_revoked_and_can_be_asked_about() {
    let server = Oidc::start(&OidcOptions::default());
    server.set_access_seconds(100);
    let hand = Hand::registered(server.mcp_url());
    let first = hand.exchange(&visit(&hand.authorization("mcp:read")));
    assert_eq!(first.json()["expires_in"], 100);
    let (access, refresh) = tokens(&first);
    let ask = |token: &str| {
        let fields = [("token", token), ("client_id", hand.id.as_str())];
        post_form(hand.at("introspection_endpoint"), &fields).json()["active"].clone()
    };
    assert_eq!(ask(&access), true);
    server.expire_access_tokens();
    assert_eq!((ask(&access), ask(&refresh)), (json!(false), json!(true)));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 401);

    let (access, refresh) = tokens(&hand.refresh(&refresh));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
    let fields = [("token", refresh.as_str()), ("client_id", &hand.id)];
    assert_eq!(post_form(hand.at("revocation_endpoint"), &fields).status, 200);
    assert_eq!(hand.refresh(&refresh).error(), "invalid_grant");

    let (access, refresh) = tokens(&hand.exchange(&visit(&hand.authorization("mcp:read"))));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
    server.revoke_everything();
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 401);
    assert_eq!(hand.refresh(&refresh).error(), "invalid_grant");
}

#[test]
fn signed_tokens_are_believed_until_they_are_expired() {
    let token_format = TokenFormat::Jwt;
    let server = Oidc::start(&OidcOptions { token_format, ..OidcOptions::default() });
    let hand = Hand::registered(server.mcp_url());
    let (access, refresh) = tokens(&hand.exchange(&visit(&hand.authorization("mcp:read"))));
    assert_eq!(access.split('.').count(), 3, "{access}");
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
    server.expire_access_tokens();
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 401);
    let (access, _) = tokens(&hand.refresh(&refresh));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
}

#[test]
fn refresh_tokens_may_need_their_scope() {
    let refresh_tokens = RefreshTokens::WithOfflineAccess;
    let server = Oidc::start(&OidcOptions { refresh_tokens, ..OidcOptions::default() });
    let hand = Hand::registered(server.mcp_url());
    let without = hand.exchange(&visit(&hand.authorization("mcp:read")));
    assert_eq!(without.json()["refresh_token"], Value::Null);
    let with = hand.exchange(&visit(&hand.authorization("mcp:read offline_access")));
    assert!(with.json()["refresh_token"].is_string(), "{}", with.text);

    let server = Oidc::start(&OidcOptions { registration: Offer::No, ..OidcOptions::default() });
    let metadata = get(&format!("{}/.well-known/openid-configuration", server.issuer())).json();
    assert_eq!(metadata["registration_endpoint"], Value::Null);
    assert_eq!(metadata["client_id_metadata_document_supported"], Value::Null);
}

#[test]
fn the_address_of_a_document_is_a_client() {
    let client_documents = Offer::Yes;
    let server = Oidc::start(&OidcOptions { client_documents, ..OidcOptions::default() });
    let mut hand = Hand::unregistered(server.mcp_url());
    assert_eq!(hand.metadata["client_id_metadata_document_supported"], true);
    let mut document = loopback_client("");
    document["client_id"] = Value::Null;
    document["redirect_uris"] = json!([hand.redirect_uri]);
    document["client_name"] = "by document".into();
    hand.id = server.publish_document("/client.json", 200, document);
    assert!(server.document_authority().is_some_and(|authority| authority.exists()));
    hand.goes_all_the_way(&visit(&hand.authorization("mcp:read")));
    assert!(server.requests().iter().any(|seen| seen.server == "documents"));

    // One that is gone is a refusal on the page, not a redirect.
    server.publish_document("/client.json", 404, json!({}));
    let refused = visit(&hand.authorization("mcp:read"));
    assert!(refused.url.starts_with(server.issuer()), "{refused:?}");
    assert!(refused.text.contains("invalid_client"), "{}", refused.text);
}

#[test]
fn a_server_moves_to_another_issuer() {
    let (old, new) = (Oidc::start(&OidcOptions::default()), Oidc::start(&OidcOptions::default()));
    let hand = Hand::registered(old.mcp_url());
    let (access, _) = tokens(&hand.exchange(&visit(&hand.authorization("mcp:read"))));
    new.allow_resource(old.mcp_url());
    old.move_to_issuer(new.issuer());
    assert_eq!(call_tool(old.mcp_url(), &access, "echo").status, 401);
    let moved = Hand::registered(old.mcp_url());
    assert_eq!(moved.metadata["issuer"], new.issuer());
    let (access, _) = tokens(&moved.exchange(&visit(&moved.authorization("mcp:read"))));
    assert_eq!(call_tool(old.mcp_url(), &access, "echo").status, 200);
}

#[test]
fn redirects_and_token_answers_can_be_made_wrong() {
    let server = Oidc::start(&OidcOptions::default());
    let hand = Hand::registered(server.mcp_url());
    for (said, seen) in [
        (Some("http://evil.test"), Some("http://evil.test")),
        (Some(""), None),
        (None, Some(server.issuer())),
    ] {
        server.set_redirect_iss(said);
        let landed = visit(&hand.authorization("mcp:read"));
        assert_eq!(landed.parameter("iss").as_deref(), seen);
    }
    server.set_token_answer(Some((500, json!({ "error": "invalid_client" }))));
    let refused = hand.refresh("any");
    assert_eq!((refused.status, refused.error().as_str()), (500, "invalid_client"));
    server.set_token_answer(None);
    assert_eq!(hand.refresh("any").error(), "invalid_grant");
    server.set_challenge_scope(None);
    assert!(!call_tool(server.mcp_url(), "any", "echo").challenge.contains("scope="));
    server.forget_clients();
    assert_eq!(hand.refresh("any").error(), "invalid_client");
}

#[test]
fn the_old_transport_is_behind_the_same_guard() {
    let server = Oidc::start(&OidcOptions::default());
    assert_eq!(get(server.sse_url()).status, 401);
    let mut hand = Hand::registered(server.mcp_url());
    hand.resource = server.sse_url().to_owned();
    let (access, _) = tokens(&hand.exchange(&visit(&hand.authorization("mcp:read"))));

    let address = server.sse_url().strip_prefix("http://").unwrap();
    let (authority, _) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(authority).unwrap();
    let request =
        format!("GET /sse HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {access}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut data = || lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let endpoint = format!("http://{authority}{}", data().unwrap());
    let bearer = format!("Bearer {access}");
    let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string();
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let taken = super::hand::try_send("POST", &endpoint, &headers, &ping).unwrap();
    assert_eq!(taken.status, 202);
    assert_eq!(data().unwrap(), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
}
