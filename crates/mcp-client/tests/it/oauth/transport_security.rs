//! How the requests of a sign-in travel: whose certificates are believed, which headers go where,
//! which redirects are followed, and what becomes of answers that want nobody to sign in.

use agent_test_support::oauth::{
    Challenge, Endpoint as Answers, Fault, FaultyAuthServer, RedirectChange, Script,
};
use mcp_client::Error as ClientError;
use mcp_client::config::{
    ClientCert, Endpoint, HttpEndpoint, Scope, ServerEntry, Text, Verify, parse,
};
use mcp_client::oauth::Error;
use mcp_client::supervisor::ServerState;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::{PATIENCE, Person, Place, entry, entry_with, text};
use crate::support::call;
use crate::tls::{Authority, Files, Identity, terminate, trusting};

fn endpoint(entry: &mut ServerEntry) -> &mut HttpEndpoint {
    let Endpoint::Http(endpoint) = &mut entry.endpoint else { panic!("not http") };
    endpoint
}

/// Makes a server name an authorization server at another of its addresses.
fn trusts(server: &FaultyAuthServer, issuer: &str) {
    server.change(|script| {
        script.resource_metadata = Answers::saying(json!({ "authorization_servers": [issuer] }));
        script.server_metadata = Answers::saying(json!({
            "issuer": issuer,
            "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"),
        }));
        script.redirect = vec![RedirectChange::set("iss", issuer)];
    });
}

/// A server of plain http, and its authorization server behind TLS.
async fn behind_tls(identity: &Identity, clients: Option<&Authority>) -> FaultyAuthServer {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let port = terminate(identity, clients, &server.mcp_url()).await;
    trusts(&server, &format!("https://127.0.0.1:{port}"));
    server
}

/// Whether a sign-in failed because of certificates, before anything was asked for.
async fn is_untrusted(entry: &ServerEntry, server: &FaultyAuthServer) -> bool {
    let error = Place::new().failed_login(entry, &Person::signing_in()).await;
    let by_tls =
        matches!(&error, Error::Unreached(cause) if matches!(**cause, ClientError::Tls { .. }));
    assert!(by_tls, "{error:?}");
    let asked = ["/token", "/register", "/.well-known/oauth-authorization-server"];
    asked.iter().all(|route| server.requests_to(route).is_empty())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_authorization_server_is_always_verified() {
    let authority = Authority::new();
    let identity = authority.issue(&["127.0.0.1"]);
    let server = behind_tls(&identity, None).await;
    let entry = entry("docs", &server.mcp_url());
    assert!(is_untrusted(&trusting(entry.clone(), Verify::Off), &server).await);
    let files = Files::new();
    let other = files.put("other.pem", &Authority::new().pem());
    assert!(is_untrusted(&trusting(entry.clone(), Verify::Bundle(other)), &server).await);
    let bundle = files.put("ca.pem", &authority.pem());
    let entry = trusting(entry, Verify::Bundle(bundle));
    Place::new().login(&entry, &Person::signing_in()).await.unwrap();
    assert_eq!(server.requests_to("/token").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_same_origin_authorization_server_uses_the_entry_settings() {
    let authority = Authority::new();
    let identity = authority.issue(&["127.0.0.1"]);
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let port = terminate(&identity, None, &server.mcp_url()).await;
    let origin = format!("https://127.0.0.1:{port}");
    trusts(&server, &origin);
    let resource =
        json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] });
    server.change(|script| {
        script.resource_metadata = Answers::saying(resource);
        script.challenge = Challenge::Bare;
    });
    let entry = trusting(entry("docs", &format!("{origin}/mcp")), Verify::Off);
    Place::new().login(&entry, &Person::signing_in()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_certificate_is_sent_only_to_the_server() {
    let (authority, clients, files) = (Authority::new(), Authority::new(), Files::new());
    let identity = authority.issue(&["127.0.0.1"]);
    let mine = clients.issue(&["me"]);
    let bundle = files.put("ca.pem", &authority.pem());
    let cert = ClientCert {
        cert: files.put("me.pem", &mine.cert),
        key: Some(files.put("me.key", &mine.key)),
        password: None,
    };
    let showing = |url: &str| {
        let mut entry = trusting(entry("docs", url), Verify::Bundle(bundle.clone()));
        endpoint(&mut entry).client_cert = Some(cert.clone());
        entry
    };
    let server = behind_tls(&identity, Some(&clients)).await;
    assert!(is_untrusted(&showing(&server.mcp_url()), &server).await);

    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let port = terminate(&identity, Some(&clients), &server.mcp_url()).await;
    let origin = format!("https://127.0.0.1:{port}");
    trusts(&server, &origin);
    let resource =
        json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] });
    server.change(|script| {
        script.resource_metadata = Answers::saying(resource);
        script.challenge = Challenge::Bare;
    });
    let entry = showing(&format!("{origin}/mcp"));
    Place::new().login(&entry, &Person::signing_in()).await.unwrap();
}

/// A server that wants a sign-in, and sends everybody who gets a document elsewhere; gives its
/// origin.
async fn redirecting_server(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut lines = BufReader::new(stream).lines();
            let first = lines.next_line().await.unwrap().unwrap_or_default();
            while lines.next_line().await.unwrap().is_some_and(|line| !line.is_empty()) {}
            let path = first.split(' ').nth(1).unwrap_or_default();
            let answer = if first.starts_with("GET") {
                format!("302 Found\r\nLocation: {to}{path}")
            } else {
                "401 Unauthorized\r\nWWW-Authenticate: Bearer".to_owned()
            };
            let head =
                format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let mut stream = lines.into_inner().into_inner();
            let _ = stream.write_all(head.as_bytes()).await;
        }
    });
    origin
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_from_an_unverified_server_is_verified() {
    let authority = Authority::new();
    let identity = authority.issue(&["127.0.0.1"]);
    let stranger = FaultyAuthServer::start(Script::default()).unwrap();
    let port = terminate(&identity, None, &stranger.mcp_url()).await;
    let inside = redirecting_server(format!("https://127.0.0.1:{port}")).await;
    let port = terminate(&identity, None, &inside).await;
    let entry = trusting(entry("docs", &format!("https://127.0.0.1:{port}/mcp")), Verify::Off);
    let error = Place::new().failed_login(&entry, &Person::signing_in()).await;
    let by_tls =
        matches!(&error, Error::Unreached(cause) if matches!(**cause, ClientError::Tls { .. }));
    assert!(by_tls, "{error:?}");
    assert_eq!(stranger.requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_from_loopback_to_http_is_rejected() {
    // Nobody is there, and nobody is asked.
    let origin = redirecting_server("http://192.0.2.1".to_owned()).await;
    let entry = entry("docs", &format!("{origin}/mcp"));
    let error = Place::new().failed_login(&entry, &Person::signing_in()).await;
    assert_eq!(
        error.to_string(),
        "the redirect to http://192.0.2.1/.well-known/oauth-protected-resource/mcp does not use \
         https, so secrets would be sent unencrypted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn server_headers_are_sent_only_to_its_metadata() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let mut entry = entry_with("docs", &server.mcp_url(), |options| {
        options.user_agent = text("token-agent");
    });
    endpoint(&mut entry).headers = vec![
        ("User-Agent".to_owned(), Text::literal("mcp-agent")),
        ("X-Api-Key".to_owned(), Text::literal("for-mcp-alone")),
        ("Authorization".to_owned(), Text::literal("Bearer for-mcp-alone")),
    ];
    let place = Place::new();
    place.login(&entry, &Person::signing_in()).await.unwrap();
    place.account(&entry).logout().await.unwrap();
    for (route, key, agent) in [
        ("/.well-known/oauth-protected-resource/mcp", Some("for-mcp-alone"), "agent/"),
        ("/.well-known/oauth-authorization-server", None, "agent/"),
        ("/register", None, "agent/"),
        ("/token", None, "token-agent"),
        ("/revoke", None, "agent/"),
    ] {
        let requests = server.requests_to(route);
        assert!(!requests.is_empty(), "{route}");
        for seen in requests {
            assert_eq!(seen.header("x-api-key"), key, "{route} {:?}", seen.headers);
            assert_eq!(seen.header("authorization"), None, "{route} {:?}", seen.headers);
            let found = seen.header("user-agent").unwrap();
            assert!(found.starts_with(agent) && !found.contains("mcp-agent"), "{route} {found}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn url_credentials_do_not_replace_client_credentials() {
    let patch = json!({ "token_endpoint_auth_methods_supported": ["client_secret_basic"] });
    let server_metadata = Answers::saying(patch);
    let server = FaultyAuthServer::start(Script { server_metadata, ..Script::default() }).unwrap();
    let entry = entry("docs", &server.mcp_url().replace("http://", "http://user:word@"));
    Place::new().login(&entry, &Person::signing_in()).await.unwrap();
    let sent = server.requests_to("/token").remove(0);
    let login = sent.header("authorization").unwrap();
    assert_eq!(login.matches("Basic ").count(), 1, "{login}");
    for route in ["/register", "/.well-known/oauth-authorization-server"] {
        assert_eq!(server.requests_to(route)[0].header("authorization"), None, "{route}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_endpoints_must_be_secure() {
    let server_metadata = Answers::saying(json!({ "revocation_endpoint": "http://a.test/x" }));
    let server = FaultyAuthServer::start(Script { server_metadata, ..Script::default() }).unwrap();
    let entry = entry("docs", &server.mcp_url());
    let error = Place::new().failed_login(&entry, &Person::signing_in()).await;
    assert_eq!(
        error.to_string(),
        "the revocation endpoint http://a.test/x does not use https, so secrets would be sent \
         unencrypted"
    );
}

#[test]
fn redirect_hosts_must_be_loopback() {
    let with = |host: &str| {
        let text = format!(
            "mcp_servers:\n  docs:\n    url: https://a.test/mcp\n    auth: oauth\n    \
             oauth: {{redirect_host: '{host}'}}\n"
        );
        parse(&text, &Scope::default())
    };
    let refused = with("agent.example.com");
    assert!(refused.servers.is_empty(), "{refused:?}");
    let said = refused.problems[0].to_string();
    assert!(said.contains("`[::1]`") && said.contains("`redirect_uri`"), "{said}");
    assert_eq!(with("[::1]").servers.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lifetime_of_zero_does_not_renew_before_every_request() {
    let token = Answers::saying(json!({ "expires_in": 0 }));
    let server = FaultyAuthServer::start(Script { token, ..Script::default() }).unwrap();
    let (place, entry) = (Place::new(), entry("docs", &server.mcp_url()));
    place.login(&entry, &Person::signing_in()).await.unwrap();
    let client = place.client(entry, None);
    let status = client.wait_until_server_settled("docs", PATIENCE).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
    server.forget_requests();
    for _ in 0..10 {
        call(&client, "mcp__docs__echo", json!({ "text": "x" })).await;
    }
    assert_eq!(server.requests_to("/token").len(), 0);
    client.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_token_endpoint_requires_no_sign_in() {
    for code in ["temporarily_unavailable", "server_error", "slow_down", "something_new"] {
        let server = FaultyAuthServer::start(Script::default()).unwrap();
        let (place, entry) = (Place::new(), entry("docs", &server.mcp_url()));
        place.login(&entry, &Person::signing_in()).await.unwrap();
        server.expire_access_tokens();
        server.change(|script| script.token = Answers::failing(Fault::refuse(400, code)));
        let client = place.client(entry, None);
        let status = client.wait_until_server_settled("docs", PATIENCE).await.unwrap();
        assert!(
            !matches!(status.state, ServerState::NeedsSignIn { .. }),
            "{code}: {}",
            status.state
        );
        assert!(place.kept("docs.json").is_some());
        client.close().await;
    }
}
