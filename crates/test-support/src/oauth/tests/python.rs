//! The authorization server of the Python SDK.

use serde_json::json;

use super::manual_login::{ManualClient, call_tool, tokens};
use crate::oauth::{PythonOauth, visit};

#[test]
fn python_server_completes_a_login() {
    let server = PythonOauth::start(&[]);
    let oauth = ManualClient::registered(server.mcp_url());
    assert_eq!(server.clients().len(), 1);
    oauth.complete_login(&visit(&oauth.authorization("mcp:read")));
    assert_eq!(server.reused_refresh_tokens(), 1);
    let kinds: Vec<_> =
        server.token_requests().iter().map(|seen| seen.field("grant_type").unwrap()).collect();
    let (code, refresh) = ("authorization_code", "refresh_token");
    assert_eq!(kinds, [code, refresh, refresh, refresh, code]);
    assert_eq!(server.token_requests()[0].field("resource").as_deref(), Some(server.mcp_url()));
}

#[test]
fn python_server_removes_tokens_and_clients() {
    let clients = [json!({ "client_id": "known", "client_secret": "its-secret",
        "redirect_uris": ["http://127.0.0.1:9/callback"], "scope": "mcp:read mcp:write",
        "token_endpoint_auth_method": "client_secret_post" })];
    let server = PythonOauth::start(&clients);
    assert_eq!(server.clients()[0]["client_id"], "known");
    let oauth = ManualClient::registered(server.mcp_url());
    let first = oauth.exchange(&visit(&oauth.authorization("mcp:read")));
    assert_eq!(first.json()["expires_in"], 3600);
    let (access, refresh) = tokens(&first);
    server.expire_access_tokens();
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 401);
    let (access, refresh) = tokens(&oauth.refresh(&refresh));
    assert_eq!(call_tool(server.mcp_url(), &access, "echo").status, 200);
    server.revoke_everything();
    assert_eq!(oauth.refresh(&refresh).error(), "invalid_grant");
    server.forget_clients();
    let refused = oauth.refresh(&refresh);
    assert_eq!((refused.status, refused.error().as_str()), (401, "invalid_client"));
}
