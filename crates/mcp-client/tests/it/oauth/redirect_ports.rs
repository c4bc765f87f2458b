//! Which port a login waits at, and who it says we are: the table of the specification, one test a
//! row and a condition. They count on which ports are free, and run alone: see
//! `.config/nextest.toml`.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use agent_test_support::oauth::{
    Endpoint, Fault, FaultyAuthServer, Oidc, OidcOptions, RecordedRequest, Script,
};
use agent_test_support::port;
use mcp_client::config::OauthOptions;
use mcp_client::host::{BoxFuture, Browser, SignInPage, SignInReply};
use mcp_client::oauth::callback::PINNED_PORTS;
use mcp_client::oauth::identification::LoginFrontend;
use mcp_client::oauth::{ClientKind, Error, LikelyCause, LoginOptions, client_document};
use serde_json::{Value, json};

use super::{DOCUMENT, PATIENCE, Person, Place, entry, entry_with, text};
use crate::support::call;

/// A server that takes documents.
fn with_document_support() -> FaultyAuthServer {
    FaultyAuthServer::start(Script { client_documents: true, ..Script::default() }).unwrap()
}

/// The last login that the server saw begin.
fn asked(server: &FaultyAuthServer) -> RecordedRequest {
    server.requests_to("/authorize").pop().unwrap()
}

fn client_of(seen: &RecordedRequest) -> String {
    seen.field("client_id").unwrap()
}

fn port_of(seen: &RecordedRequest) -> u16 {
    let uri = seen.field("redirect_uri").unwrap();
    let port =
        uri.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/callback"));
    port.unwrap_or_else(|| panic!("{uri}")).parse().unwrap()
}

fn is_pinned(seen: &RecordedRequest) -> bool {
    PINNED_PORTS.contains(&port_of(seen))
}

/// Signs in to a server that would take the document, with these options.
async fn login_with(change: impl FnOnce(&mut OauthOptions)) -> RecordedRequest {
    let server = with_document_support();
    let entry = entry_with("server", &server.mcp_url(), change);
    Place::new().login(&entry, &Person::signing_in()).await.unwrap();
    asked(&server)
}

/// Not the document, and a port that it does not name.
fn assert_random_port(seen: &RecordedRequest) {
    assert!(!is_pinned(seen), "{seen:?}");
    assert_ne!(client_of(seen), DOCUMENT);
}

#[tokio::test]
async fn an_unknown_server_gets_a_pinned_port_and_a_registration() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let place = Place::new();
    place.login(&entry("server", &server.mcp_url()), &Person::signing_in()).await.unwrap();
    let seen = asked(&server);
    assert!(is_pinned(&seen), "{seen:?}");
    let registered = server.clients();
    assert_eq!(registered[0]["client_id"], client_of(&seen), "by registration: {registered:?}");
    assert_eq!(registered[0]["redirect_uris"], json!([seen.field("redirect_uri").unwrap()]));
    assert_eq!(registered[0]["application_type"], "native");
}

#[tokio::test]
async fn a_server_without_document_support_gets_a_random_port() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    place.login(&entry, &Person::signing_in()).await.unwrap();
    // Only what is known of the authorization server is left.
    for file in ["server.json", "server.client.json"] {
        std::fs::remove_file(place.tokens().join(file)).unwrap();
    }
    place.login(&entry, &Person::signing_in()).await.unwrap();
    assert_random_port(&asked(&server));
    assert_eq!(server.requests_to("/register").len(), 2);
}

#[tokio::test]
async fn a_refused_consent_can_be_repeated() {
    let server = Oidc::start(&OidcOptions::default());
    let (place, entry) = (Place::new(), entry("oidc", server.mcp_url()));
    let error = place.failed_login(&entry, &Person::refusing()).await;
    assert!(error.to_string().contains("access_denied"), "{error}");
    place.login(&entry, &Person::signing_in()).await.unwrap();
    assert_eq!(server.clients().len(), 2, "the new port is registered");
}

#[tokio::test]
async fn a_server_with_document_support_gets_a_pinned_port() {
    let server = with_document_support();
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    for _ in 0..2 {
        place.login(&entry, &Person::signing_in()).await.unwrap();
        let seen = asked(&server);
        assert!(is_pinned(&seen), "{seen:?}");
        assert_eq!(client_of(&seen), DOCUMENT);
    }
    assert!(server.requests_to("/register").is_empty());
    assert_eq!(place.account(&entry).status().client, ClientKind::Document(DOCUMENT.to_owned()));
    let exchanged = &server.requests_to("/token")[0];
    assert_eq!(exchanged.field("client_id").as_deref(), Some(DOCUMENT));
    assert_eq!(exchanged.field("client_secret"), None);
}

#[tokio::test]
async fn a_client_id_uses_a_random_port() {
    // Its redirect is registered beforehand: this server holds it to a port, so nobody gets through.
    let server = with_document_support();
    let entry = entry_with("server", &server.mcp_url(), |options| {
        options.client_id = text("known");
        options.timeout = Some(Duration::from_secs(1));
    });
    let error = Place::new().failed_login(&entry, &Person::signing_in()).await;
    assert!(matches!(error, Error::TimedOut { suspect: LikelyCause::Unknown, .. }), "{error}");
    let seen = asked(&server);
    assert!(!is_pinned(&seen), "{seen:?}");
    assert_eq!(client_of(&seen), "known");
    assert!(server.requests_to("/register").is_empty());
}

#[tokio::test]
async fn a_client_secret_uses_a_random_port() {
    assert_random_port(
        &login_with(|options| options.client_secret = text("s3cret-of-a-test")).await,
    );
}

#[tokio::test]
async fn a_client_name_uses_a_random_port() {
    assert_random_port(&login_with(|options| options.client_name = text("Somebody")).await);
}

#[tokio::test]
async fn an_auth_method_uses_a_random_port() {
    let method = text("client_secret_post");
    assert_random_port(&login_with(|options| options.token_endpoint_auth_method = method).await);
}

#[tokio::test]
async fn a_redirect_uri_is_used_unchanged() {
    let uri = format!("http://127.0.0.1:{}/callback", port::free().port());
    let seen = login_with(|options| options.redirect_uri = text(&uri)).await;
    assert_random_port(&seen);
    assert_eq!(seen.field("redirect_uri"), Some(uri));
}

#[tokio::test]
async fn a_redirect_port_is_used_unchanged() {
    let port = port::free().port();
    let seen = login_with(|options| options.redirect_port = Some(port)).await;
    assert_random_port(&seen);
    assert_eq!(port_of(&seen), port);
}

#[tokio::test]
async fn a_redirect_port_in_use_is_an_error() {
    let server = with_document_support();
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let taken = held.local_addr().unwrap().port();
    let entry =
        entry_with("server", &server.mcp_url(), |options| options.redirect_port = Some(taken));
    let error = Place::new().failed_login(&entry, &Person::signing_in()).await;
    assert!(matches!(error, Error::PortTaken { port } if port == taken), "{error}");
}

#[tokio::test]
async fn a_dashboard_uses_a_random_port() {
    let server = with_document_support();
    let account = Place::new().account(&entry("server", &server.mcp_url()));
    let options = LoginOptions { driver: LoginFrontend::Dashboard, ..LoginOptions::default() };
    account.login(&Person::signing_in(), options).await.unwrap();
    assert_random_port(&asked(&server));
}

#[tokio::test]
async fn disabled_documents_use_a_random_port_and_a_registration() {
    let seen = login_with(|options| options.cimd = Some(false)).await;
    assert_random_port(&seen);
}

#[tokio::test]
async fn a_stored_registration_uses_a_random_port() {
    let server = with_document_support();
    let place = Place::new();
    let without = entry_with("server", &server.mcp_url(), |options| options.cimd = Some(false));
    place.login(&without, &Person::signing_in()).await.unwrap();
    let first = asked(&server);
    assert_random_port(&first);
    // The document could be used now, but for the registration. This server compares redirects
    // strictly, so the new port is registered.
    let entry = entry("server", &server.mcp_url());
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, port_of(&first))).unwrap();
    place.login(&entry, &Person::signing_in()).await.unwrap();
    let again = asked(&server);
    assert_random_port(&again);
    assert_ne!(port_of(&again), port_of(&first));
    assert_ne!(client_of(&again), client_of(&first));
    assert_eq!(server.requests_to("/register").len(), 2);
    drop(held);
    // Where nothing can be registered any more, the client that is known uses another port.
    let fault = Fault::Refuse {
        status: 403,
        error: "access_denied".to_owned(),
        description: "no more clients".to_owned(),
    };
    server.change(|script| script.registration = Endpoint::failing(fault));
    let person = Person::cancelling();
    place.failed_login(&entry, &person).await;
    let visit = person.visit();
    assert!(visit.address.contains(&format!("client_id={}", client_of(&again))), "{visit:?}");
    assert!(!PINNED_PORTS.contains(&visit.port) && visit.port != port_of(&again), "{visit:?}");
}

#[tokio::test]
async fn the_document_of_the_host_is_the_default() {
    let server = with_document_support();
    let place = Place::with_document(None);
    let named = "https://service.test/oauth/client-metadata.json";
    let person = Person::signing_in().with_document(named);
    place.login(&entry("server", &server.mcp_url()), &person).await.unwrap();
    let seen = asked(&server);
    assert_eq!(client_of(&seen), named);
    assert!(is_pinned(&seen));
    // What is configured comes first.
    let place = Place::new();
    let person = Person::signing_in().with_document(named);
    place.login(&entry("server", &server.mcp_url()), &person).await.unwrap();
    assert_eq!(client_of(&asked(&server)), DOCUMENT);
    let without = entry_with("server", &server.mcp_url(), |options| options.cimd = Some(false));
    Place::with_document(None).login(&without, &person).await.unwrap();
    assert_random_port(&asked(&server));
}

#[tokio::test]
async fn with_all_pinned_ports_in_use_a_random_one_is_used() {
    let held = PINNED_PORTS.map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
    assert_random_port(&login_with(|_| {}).await);
    drop(held);
}

#[tokio::test]
async fn a_document_is_used_only_if_the_metadata_flag_is_true() {
    for flag in [json!(false), json!("true"), json!(1), Value::Null] {
        let server = with_document_support();
        let flagged = json!({ "client_id_metadata_document_supported": flag });
        server.change(|script| script.server_metadata = Endpoint::saying(flagged));
        let place = Place::new();
        place.login(&entry("server", &server.mcp_url()), &Person::signing_in()).await.unwrap();
        assert_ne!(client_of(&asked(&server)), DOCUMENT, "{flag}");
        assert_eq!(server.requests_to("/register").len(), 1, "{flag}");
    }
}

#[tokio::test]
async fn without_a_document_the_client_registers() {
    let server = with_document_support();
    let place = Place::with_document(None);
    place.login(&entry("server", &server.mcp_url()), &Person::signing_in()).await.unwrap();
    assert_eq!(client_of(&asked(&server)), server.clients()[0]["client_id"]);
}

#[tokio::test]
async fn the_configured_document_precedes_the_default() {
    let own = "https://own.test/me.json";
    let seen = login_with(|options| options.client_metadata_url = text(own)).await;
    assert_eq!(client_of(&seen), own);
    assert!(is_pinned(&seen), "{seen:?}");
}

/// The document that a server would fetch, without its own address.
fn body() -> Value {
    let mut body = client_document::build(DOCUMENT, "Agent", None);
    body["client_id"] = Value::Null;
    body
}

fn documents() -> Oidc {
    Oidc::start(&OidcOptions { client_documents: true, ..OidcOptions::default() })
}

#[tokio::test]
async fn a_real_server_accepts_the_document() {
    let server = documents();
    let address = server.publish_document("/client.json", 200, body());
    let place = Place::with_document(Some(&address));
    let person = Arc::new(Person::signing_in());
    let client = place.client(entry("oidc", server.mcp_url()), Some(&person));
    client.wait_until_server_settled("oidc", PATIENCE).await.unwrap();
    let said = call(&client, "mcp__oidc__echo", json!({ "text": "hello" })).await;
    assert!(said.text.contains("hello"), "{said:?}");
    assert_eq!(server.token_requests()[0].field("client_id"), Some(address));
    assert_eq!(server.clients(), Vec::<Value>::new());
    assert!(PINNED_PORTS.contains(&person.visit().port));
}

#[tokio::test]
async fn an_unfetchable_document_is_named_in_the_error() {
    let server = documents();
    let address = server.publish_document("/client.json", 404, body());
    let place = Place::with_document(Some(&address));
    let entry = entry_with("oidc", server.mcp_url(), |options| {
        options.timeout = Some(Duration::from_secs(2));
    });
    let person = Person::signing_in();
    let error = place.failed_login(&entry, &person).await;
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("within 2 s"), "{message}");
    assert!(message.contains(&address) && message.contains("`cimd: false`"), "{message}");
    let page = person.landed().await;
    assert!(page.url.starts_with(server.issuer()), "{page:?}");
    assert!(page.text.contains("invalid_client"), "{page:?}");
    assert_eq!(place.kept("oidc.cimd-off"), None, "nobody refused it at the token endpoint");

    // What the message says helps.
    let without = entry_with("oidc", server.mcp_url(), |options| options.cimd = Some(false));
    place.login(&without, &Person::signing_in()).await.unwrap();
}

#[tokio::test]
async fn a_login_timeout_without_a_document_names_none() {
    let server = with_document_support();
    let entry = entry_with("server", &server.mcp_url(), |options| {
        options.timeout = Some(Duration::from_secs(1));
        options.cimd = Some(false);
    });
    let error = Place::new().failed_login(&entry, &Person::leaving()).await;
    assert_eq!(error.to_string(), "the browser did not return within 1 s");
}

/// From the moment somebody is asked to come, hours pass like nothing.
#[derive(Debug)]
struct NeverReturningBrowser;

impl Browser for NeverReturningBrowser {
    fn open_sign_in(&self, _: SignInPage) -> BoxFuture<SignInReply> {
        tokio::time::pause();
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn login_timeout_is_five_minutes() {
    let server = with_document_support();
    let account = Place::new().account(&entry("server", &server.mcp_url()));
    let begin = tokio::time::Instant::now();
    let error = account.login(&NeverReturningBrowser, LoginOptions::default()).await.unwrap_err();
    let passed = begin.elapsed();
    assert!((300..330).contains(&passed.as_secs()), "{passed:?}");
    let message = error.to_string();
    assert!(message.contains("within 300 s"), "{message}");
    assert!(message.contains(DOCUMENT) && message.contains("`cimd: false`"), "{message}");
}

#[tokio::test]
async fn a_document_rejected_at_the_token_endpoint_is_replaced() {
    for status in [400, 401] {
        let server = with_document_support();
        let refusal = Fault::refuse(status, "invalid_client");
        server.change(|script| script.token = Endpoint::failing_times(1, refusal));
        let (place, person) = (Place::new(), Person::signing_in());
        let entry = entry("server", &server.mcp_url());
        place.login(&entry, &person).await.unwrap();

        let logins = server.requests_to("/authorize");
        assert_eq!(client_of(&logins[0]), DOCUMENT);
        let registered = client_of(&logins[1]);
        assert_eq!(server.clients()[0]["client_id"], registered);
        assert_eq!(person.visits().len(), 1, "the tab was sent on");
        assert!(person.landed().await.text.contains("Signed in to server"));
        assert!(place.kept("server.cimd-off").is_some());
        let told = place.warnings();
        assert!(
            told.iter().any(|text| text.contains(DOCUMENT) && text.contains("rejected")),
            "{told:?}"
        );
        let standing = place.account(&entry).status();
        assert!(standing.document_refused);
        assert_eq!(standing.client, ClientKind::Registered(registered));
    }
}

#[tokio::test]
async fn a_rejected_document_is_retried_only_by_an_explicit_login() {
    let server = with_document_support();
    let refusal = Fault::refuse(401, "invalid_client");
    server.change(|script| script.token = Endpoint::failing_times(1, refusal));
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    place.login(&entry, &Person::signing_in()).await.unwrap();
    // Not even where nothing else is known of us.
    for file in ["server.json", "server.client.json"] {
        std::fs::remove_file(place.tokens().join(file)).unwrap();
    }
    let person = Arc::new(Person::signing_in());
    let client = place.client(entry.clone(), Some(&person));
    client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    call(&client, "mcp__server__echo", json!({ "text": "hello" })).await;
    assert_random_port(&asked(&server));
    assert!(place.kept("server.cimd-off").is_some());

    place.login(&entry, &Person::signing_in()).await.unwrap();
    let seen = asked(&server);
    assert_eq!(client_of(&seen), DOCUMENT, "it got another chance");
    assert!(is_pinned(&seen), "{seen:?}");
    assert_eq!(place.kept("server.cimd-off"), None);
}

#[tokio::test]
async fn only_invalid_client_with_400_or_401_rejects_a_document() {
    for (status, code) in [
        (500, "invalid_client"),
        (403, "invalid_client"),
        (400, "invalid_client_metadata"),
        (401, "unauthorized_client"),
        (400, "INVALID_CLIENT"),
    ] {
        let server = with_document_support();
        let refusal = Fault::refuse(status, code);
        server.change(|script| script.token = Endpoint::failing_times(1, refusal));
        let place = Place::new();
        let entry = entry("server", &server.mcp_url());
        let error = place.failed_login(&entry, &Person::signing_in()).await;
        match error {
            Error::Refused { status: found, code: said, .. } => {
                assert_eq!((found, said.as_str()), (status, code));
            }
            Error::Unavailable { status: found, .. } => assert_eq!((found, status), (500, 500)),
            other => panic!("{status} {code}: {other}"),
        }
        assert_eq!(place.kept("server.cimd-off"), None, "{status} {code}");
        assert!(server.requests_to("/register").is_empty(), "{status} {code}");
    }
}

#[tokio::test]
async fn a_server_that_now_only_supports_documents_gets_one() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    place.login(&entry, &Person::signing_in()).await.unwrap();
    std::fs::remove_file(place.tokens().join("server.client.json")).unwrap();
    server.change(|script| {
        script.client_documents = true;
        script.server_metadata = Endpoint::saying(json!({ "registration_endpoint": null }));
    });
    place.login(&entry, &Person::signing_in()).await.unwrap();
    let seen = asked(&server);
    assert_eq!(client_of(&seen), DOCUMENT);
    assert!(is_pinned(&seen), "{seen:?}");
}

#[tokio::test]
async fn a_rejected_document_without_registration_ends_the_login() {
    let server = with_document_support();
    server.change(|script| {
        script.token = Endpoint::failing(Fault::refuse(401, "invalid_client"));
        script.server_metadata = Endpoint::saying(json!({ "registration_endpoint": null }));
    });
    let (place, person) = (Place::new(), Person::signing_in());
    let error = place.failed_login(&entry("server", &server.mcp_url()), &person).await;
    assert!(matches!(error, Error::NoIdentity { .. }), "{error}");
    assert!(person.landed().await.text.contains("Sign-in to server failed"));
    assert!(place.kept("server.cimd-off").is_some());
    assert_eq!(person.visits().len(), 1);
}

#[tokio::test]
async fn registration_errors_do_not_reject_the_document() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let refusal = Fault::refuse(401, "invalid_client");
    server.change(|script| script.registration = Endpoint::failing(refusal));
    let (place, person) = (Place::new(), Person::signing_in());
    let error = place.failed_login(&entry("server", &server.mcp_url()), &person).await;
    let refused = matches!(&error, Error::Registration { status: 401, code: Some(code), .. } if code == "invalid_client");
    assert!(refused, "{error}");
    assert_eq!(person.visits(), [], "nobody is brought to a page for nothing");
    assert_eq!(place.kept("server.cimd-off"), None);
}
