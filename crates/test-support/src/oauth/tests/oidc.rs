//! `oidc-provider` of Node.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::manual_login::{ManualClient, call_tool, get, post_form, post_json, tokens};
use crate::oauth::{Oidc, OidcOptions, TokenFormat, sign_in_with_browser, visit, visit_and_refuse};

fn loopback_client(id: &str) -> Value {
    json!({ "client_id": id, "redirect_uris": ["http://127.0.0.1/callback"],
        "application_type": "native", "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"] })
}

#[test]
fn oidc_provider_completes_a_login() {
    let server = Oidc::start(&OidcOptions::default());
    let oauth = ManualClient::registered(server.mcp_url());
    assert_eq!(oauth.metadata["authorization_response_iss_parameter_supported"], true);
    assert_eq!(server.clients()[0]["client_name"], "by hand");
    let landed = visit(&oauth.authorization("mcp:read offline_access"));
    assert_eq!(landed.parameter("iss").as_deref(), Some(server.issuer()));
    oauth.complete_login(&landed);
    let first = &server.token_requests()[0];
    assert_eq!(first.field("grant_type").as_deref(), Some("authorization_code"));
    assert_eq!(first.field("resource").as_deref(), Some(server.mcp_url()));
    assert_eq!(first.field("client_id"), Some(oauth.id));
    assert!(first.header("user-agent").is_some_and(|agent| agent.starts_with("ureq")));
}

#[test]
fn browser_signs_in_and_ends_at_the_redirect() {
    let server = Oidc::start(&OidcOptions::default());
    let oauth = ManualClient::registered(server.mcp_url());
    let landed = sign_in_with_browser(&oauth.authorization("mcp:read"), "ann \"o'\" hara");
    oauth.complete_login(&landed);
    let pages = server.requests();
    let filled: Vec<_> =
        pages.iter().filter(|seen| seen.route().starts_with("/interaction/")).collect();
    assert!(filled.iter().any(|seen| seen.form["login"] == "ann \"o'\" hara"), "{filled:?}");

    let mut stranger = oauth;
    stranger.id = "nobody-registered-this".to_owned();
    let refused = sign_in_with_browser(&stranger.authorization("mcp:read"), "ann");
    assert!(refused.url.starts_with(server.issuer()), "{refused:?}");
    assert!(refused.text.contains("invalid_client"), "{refused:?}");
}

#[test]
fn user_can_refuse_consent() {
    let server = Oidc::start(&OidcOptions::default());
    let oauth = ManualClient::registered(server.mcp_url());
    let landed = visit_and_refuse(&oauth.authorization("mcp:read"));
    assert!(landed.text.contains("you are back"), "{landed:?}");
    assert_eq!(landed.parameter("error").as_deref(), Some("access_denied"));
    assert_eq!(landed.parameter("state").as_deref(), Some("the-state"));
    assert_eq!(landed.parameter("code"), None);
}

#[test]
fn token_is_limited_to_its_scope_and_resource() {
    let clients = vec![loopback_client("known")];
    let server = Oidc::start(&OidcOptions { clients, ..OidcOptions::default() });
    let mut oauth = ManualClient::unregistered(server.mcp_url());
    oauth.id = "known".to_owned();
    let (access, _) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    let refused = call_tool(server.mcp_url(), &access, "write");
    assert_eq!(refused.status, 403);
    let wanted = "error=\"insufficient_scope\", scope=\"mcp:write\"";
    assert!(refused.challenge.contains(wanted), "{}", refused.challenge);
    let (access, _) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read mcp:write"))));
    assert_eq!(call_tool(server.mcp_url(), &access, "write").status, 200);

    let error =
        |oauth: &ManualClient, scope: &str| visit(&oauth.authorization(scope)).parameter("error");
    let mut narrow = loopback_client("");
    narrow["scope"] = "mcp:read".into();
    let narrow = post_json(oauth.at("registration_endpoint"), &narrow).json();
    oauth.id = narrow["client_id"].as_str().unwrap().to_owned();
    assert_eq!(error(&oauth, "mcp:read"), None);
    assert_eq!(error(&oauth, "mcp:write").as_deref(), Some("invalid_scope"));
    oauth.resource = "http://127.0.0.1:9/elsewhere".to_owned();
    assert_eq!(error(&oauth, "mcp:read").as_deref(), Some("invalid_target"));
}

#[test]
fn tokens_expire_can_be_revoked_and_introspected() {
    let server = Oidc::start(&OidcOptions::default());
    let oauth = ManualClient::registered(server.mcp_url());
    let first = oauth.exchange(&visit(&oauth.authorization("mcp:read")));
    assert_eq!(first.json()["expires_in"], 3600);
    let (access, refresh) = tokens(&first);
    let ask = |token: &str| {
        let fields = [("token", token), ("client_id", oauth.id.as_str())];
        post_form(oauth.at("introspection_endpoint"), &fields).json()["active"].clone()
    };
    assert_eq!(ask(&access), true);
    server.expire_access_tokens();
    assert_eq!((ask(&access), ask(&refresh)), (json!(false), json!(true)));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 401);

    let (access, refresh) = tokens(&oauth.refresh(&refresh));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
    let fields = [("token", refresh.as_str()), ("client_id", &oauth.id)];
    assert_eq!(post_form(oauth.at("revocation_endpoint"), &fields).status, 200);
    assert_eq!(oauth.refresh(&refresh).error(), "invalid_grant");

    let (access, refresh) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
    server.revoke_everything();
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 401);
    assert_eq!(oauth.refresh(&refresh).error(), "invalid_grant");
}

#[test]
fn signed_tokens_are_valid_until_they_expire() {
    let token_format = TokenFormat::Jwt;
    let server = Oidc::start(&OidcOptions { token_format, ..OidcOptions::default() });
    let oauth = ManualClient::registered(server.mcp_url());
    let (access, refresh) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    assert_eq!(access.split('.').count(), 3, "{access}");
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
    server.expire_access_tokens();
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 401);
    let (access, _) = tokens(&oauth.refresh(&refresh));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
}

#[test]
fn metadata_documents_are_off_by_default() {
    let server = Oidc::start(&OidcOptions::default());
    let metadata = get(&format!("{}/.well-known/openid-configuration", server.issuer())).json();
    assert_eq!(metadata["client_id_metadata_document_supported"], Value::Null);
}

#[test]
fn metadata_document_url_is_a_client_id() {
    let server = Oidc::start(&OidcOptions { client_documents: true, ..OidcOptions::default() });
    let mut oauth = ManualClient::unregistered(server.mcp_url());
    assert_eq!(oauth.metadata["client_id_metadata_document_supported"], true);
    let mut document = loopback_client("");
    document["client_id"] = Value::Null;
    document["redirect_uris"] = json!([oauth.redirect_uri]);
    document["client_name"] = "by document".into();
    oauth.id = server.publish_document("/client.json", 200, document);
    oauth.complete_login(&visit(&oauth.authorization("mcp:read")));
    assert!(server.requests().iter().any(|seen| seen.server == "documents"));

    // A document that is gone is refused on the page, not by a redirect.
    server.publish_document("/client.json", 404, json!({}));
    let refused = visit(&oauth.authorization("mcp:read"));
    assert!(refused.url.starts_with(server.issuer()), "{refused:?}");
    assert!(refused.text.contains("invalid_client"), "{}", refused.text);
}

#[test]
fn mcp_server_switches_to_another_issuer() {
    let (old, new) = (Oidc::start(&OidcOptions::default()), Oidc::start(&OidcOptions::default()));
    let oauth = ManualClient::registered(old.mcp_url());
    let (access, _) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));
    new.allow_resource(old.mcp_url());
    old.move_to_issuer(new.issuer());
    assert_eq!(call_tool(old.mcp_url(), &access, "echo").status, 401);
    let moved = ManualClient::registered(old.mcp_url());
    assert_eq!(moved.metadata["issuer"], new.issuer());
    let (access, _) = tokens(&moved.exchange(&visit(&moved.authorization("mcp:read"))));
    assert_eq!(call_tool(old.mcp_url(), &access, "echo").status, 200);
}

#[test]
fn redirect_iss_can_be_overridden() {
    let server = Oidc::start(&OidcOptions::default());
    let oauth = ManualClient::registered(server.mcp_url());
    for (said, seen) in [
        (Some("http://evil.test"), Some("http://evil.test")),
        (Some(""), None),
        (None, Some(server.issuer())),
    ] {
        server.set_redirect_iss(said);
        let landed = visit(&oauth.authorization("mcp:read"));
        assert_eq!(landed.parameter("iss").as_deref(), seen);
    }
    assert_eq!(oauth.refresh("any").error(), "invalid_grant");
    server.forget_clients();
    assert_eq!(oauth.refresh("any").error(), "invalid_client");
}

#[test]
fn sse_transport_requires_a_token() {
    let server = Oidc::start(&OidcOptions::default());
    assert_eq!(get(server.sse_url()).status, 401);
    let mut oauth = ManualClient::registered(server.mcp_url());
    oauth.resource = server.sse_url().to_owned();
    let (access, _) = tokens(&oauth.exchange(&visit(&oauth.authorization("mcp:read"))));

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
    let taken = super::manual_login::try_send("POST", &endpoint, &headers, &ping).unwrap();
    assert_eq!(taken.status, 202);
    assert_eq!(data().unwrap(), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
}
