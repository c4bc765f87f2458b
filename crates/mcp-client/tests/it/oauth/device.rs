//! Logins with a device code: the person signs in elsewhere while the program polls.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use agent_test_support::oauth::{
    Endpoint, Fault, FaultyAuthServer, Oidc, OidcOptions, Script, SignInResult, visit,
    visit_and_refuse,
};
use mcp_client::config::ServerEntry;
use mcp_client::oauth::{ClientKind, DeviceCode, DeviceCodeDisplay, Error, LoginOptions};
use mcp_client::{Error as ClientError, ErrorKind};
use serde_json::{Value, json};

use super::{DOCUMENT, PATIENCE, Person, Place, entry, entry_with, text};
use crate::support::call;

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Shows codes to somebody who goes to the page with the code.
#[derive(Debug, Default)]
struct Display {
    goes: Option<fn(&str) -> SignInResult>,
    shown: Mutex<Vec<DeviceCode>>,
}

impl Display {
    fn to_somebody_who(goes: fn(&str) -> SignInResult) -> Self {
        Self { goes: Some(goes), ..Self::default() }
    }

    fn shown(&self) -> Vec<DeviceCode> {
        self.shown.lock().unwrap().clone()
    }
}

impl DeviceCodeDisplay for Display {
    fn show(&self, code: &DeviceCode) {
        self.shown.lock().unwrap().push(code.clone());
        let (goes, page) = (self.goes, code.verification_uri_complete.clone());
        if let (Some(goes), Some(page)) = (goes, page) {
            tokio::task::spawn_blocking(move || goes(&page));
        }
    }
}

async fn login(place: &Place, entry: &ServerEntry, display: &Display) -> Result<(), ClientError> {
    let options = LoginOptions { device: Some(display), ..LoginOptions::default() };
    place.account(entry).login(&Person::cancelling(), options).await
}

async fn failed_login(place: &Place, entry: &ServerEntry, display: &Display) -> Error {
    match login(place, entry, display).await {
        Err(ClientError::OAuth(error)) => *error,
        other => panic!("not a failed sign-in: {other:?}"),
    }
}

/// A real server that offers device codes.
fn oidc(change: impl FnOnce(&mut OidcOptions)) -> Oidc {
    let mut options = OidcOptions { device_codes: true, ..OidcOptions::default() };
    change(&mut options);
    Oidc::start(&options)
}

fn faulty(change: impl FnOnce(&mut Script)) -> FaultyAuthServer {
    let mut script = Script { device_codes: true, ..Script::default() };
    change(&mut script);
    FaultyAuthServer::start(script).unwrap()
}

fn pending() -> Fault {
    Fault::refuse(400, "authorization_pending")
}

fn keys(kept: &str) -> Vec<String> {
    let kept: Value = serde_json::from_str(kept).unwrap();
    kept.as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn device_login_works_with_a_real_server() {
    let server = oidc(|_| {});
    let (place, entry) = (Place::new(), entry("oidc", server.mcp_url()));
    let display = Display::to_somebody_who(visit);
    login(&place, &entry, &display).await.unwrap();
    let shown = display.shown();
    assert_eq!(shown.len(), 1);
    assert!(shown[0].verification_uri.starts_with(server.issuer()), "{shown:?}");
    assert_eq!((&*shown[0].server, &*shown[0].issuer), ("oidc", server.issuer()));
    let registered = server.clients();
    assert_eq!(registered[0]["grant_types"], json!([DEVICE_CODE, "refresh_token"]));
    assert_eq!(registered[0]["redirect_uris"], json!([]));

    // The tokens work, are renewed, and have the same form as those of a browser.
    server.expire_access_tokens();
    let client = place.client(entry.clone(), None);
    client.wait_until_server_settled("oidc", PATIENCE).await.unwrap();
    let said = call(&client, "mcp__oidc__echo", json!({ "text": "hello" })).await;
    assert!(said.text.contains("hello"), "{said:?}");
    client.close().await;
    let other = Place::new();
    other.login(&entry, &Person::signing_in()).await.unwrap();
    let (by_code, by_browser) = (place.kept("oidc.json"), other.kept("oidc.json"));
    assert_eq!(keys(&by_code.unwrap()), keys(&by_browser.unwrap()));

    // A browser needs a registration with a redirect, and a later code another one.
    place.login(&entry, &Person::signing_in()).await.unwrap();
    login(&place, &entry, &Display::to_somebody_who(visit)).await.unwrap();
}

#[tokio::test]
async fn a_refused_device_code_keeps_the_old_tokens() {
    let server = oidc(|_| {});
    let (place, entry) = (Place::new(), entry("oidc", server.mcp_url()));
    place.login(&entry, &Person::signing_in()).await.unwrap();
    let before = place.kept("oidc.json");
    let error = failed_login(&place, &entry, &Display::to_somebody_who(visit_and_refuse)).await;
    assert!(matches!(&error, Error::Refused { code, .. } if code == "access_denied"), "{error}");
    assert_eq!(error.kind(), ErrorKind::SignIn);
    assert_eq!(place.kept("oidc.json"), before);
}

#[tokio::test]
async fn a_document_needs_the_device_grant_to_identify_the_client() {
    let server = oidc(|options| options.client_documents = true);
    let body = |grants: Value| {
        let mut body = mcp_client::oauth::client_document::build("", "agent", None);
        (body["client_id"], body["grant_types"]) = (Value::Null, grants);
        body
    };
    let both = json!(["authorization_code", DEVICE_CODE, "refresh_token"]);
    let with = server.publish_document("/with.json", 200, body(both));
    let without = body(json!(["authorization_code", "refresh_token"]));
    let without = server.publish_document("/without.json", 200, without);
    let entry = entry("oidc", server.mcp_url());

    let place = Place::with_document(Some(&with));
    login(&place, &entry, &Display::to_somebody_who(visit)).await.unwrap();
    assert_eq!(place.account(&entry).status().client, ClientKind::Document(with));
    assert_eq!(server.clients(), Vec::<Value>::new());

    let place = Place::with_document(Some(&without));
    login(&place, &entry, &Display::to_somebody_who(visit)).await.unwrap();
    let status = place.account(&entry).status();
    assert!(matches!(status.client, ClientKind::Registered(_)), "{status:?}");
    assert!(!status.document_refused, "a browser can still use it");
}

#[tokio::test]
async fn a_rejected_document_is_replaced_by_a_registration() {
    let server = faulty(|script| {
        script.client_documents = true;
        script.device_authorization =
            Endpoint::failing_times(1, Fault::refuse(401, "invalid_client"));
    });
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    login(&place, &entry, &Display::default()).await.unwrap();
    let asked = server.requests_to("/device_authorization");
    assert_eq!(asked[0].field("client_id").as_deref(), Some(DOCUMENT));
    assert_eq!(asked[1].field("client_id").as_deref(), server.clients()[0]["client_id"].as_str());
    assert!(place.account(&entry).status().document_refused);
}

#[tokio::test]
async fn a_configured_client_sends_its_id_and_its_secret() {
    let client = json!({
        "client_id": "known",
        "client_secret": "s3cret-of-a-test",
        "grant_types": [DEVICE_CODE, "refresh_token"],
        "redirect_uris": [],
        "response_types": [],
    });
    let server = oidc(|options| options.clients = vec![client]);
    let entry = entry_with("oidc", server.mcp_url(), |options| {
        options.client_id = text("known");
        options.client_secret = text("s3cret-of-a-test");
    });
    login(&Place::new(), &entry, &Display::to_somebody_who(visit)).await.unwrap();
    assert_eq!(server.clients(), Vec::<Value>::new(), "nothing was registered");
}

#[tokio::test]
async fn polling_obeys_interval_slow_down_and_outages() {
    let server = faulty(|script| {
        script.token = Endpoint::failing_times(1, Fault::refuse(400, "slow_down"));
    });
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    let began = Instant::now();
    login(&place, &entry, &Display::default()).await.unwrap();
    // An interval of 0 is one second, and five more after the refusal.
    assert!(began.elapsed() >= Duration::from_secs(1 + 6), "{:?}", began.elapsed());
    assert_eq!(server.requests_to("/token").len(), 2);

    server.change(|script| script.token = Endpoint::failing_times(1, Fault::status(503)));
    let began = Instant::now();
    login(&place, &entry, &Display::default()).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1 + 2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_unconfirmed_code_times_out_or_expires() {
    let server = faulty(|script| script.token = Endpoint::failing(pending()));
    let place = Place::new();
    let patient = entry_with("server", &server.mcp_url(), |options| {
        options.timeout = Some(Duration::from_secs(2));
    });
    let error = failed_login(&place, &patient, &Display::default()).await;
    assert_eq!(error.to_string(), "the code was not confirmed within 2 s");
    assert_eq!(error.kind(), ErrorKind::SignIn);

    let entry = entry("server", &server.mcp_url());
    server.change(|script| {
        script.device_authorization = Endpoint::saying(json!({ "expires_in": 1 }));
    });
    let error = failed_login(&place, &entry, &Display::default()).await;
    assert_eq!(error.to_string(), "the code was not confirmed within 1 s");

    server.change(|script| {
        script.device_authorization = Endpoint::default();
        script.token = Endpoint::failing(Fault::refuse(400, "expired_token"));
    });
    let error = failed_login(&place, &entry, &Display::default()).await;
    assert!(matches!(error, Error::CodeExpired { .. }), "{error}");
    assert_eq!(place.kept("server.json"), None);
}

#[tokio::test]
async fn a_permanently_unavailable_server_is_reported() {
    let server = faulty(|script| script.token = Endpoint::failing(Fault::status(503)));
    let entry = entry_with("server", &server.mcp_url(), |options| {
        options.timeout = Some(Duration::from_secs(2));
    });
    let error = failed_login(&Place::new(), &entry, &Display::default()).await;
    assert!(matches!(error, Error::Unavailable { status: 503, .. }), "{error}");
}

#[tokio::test]
async fn hostile_device_responses_are_rejected() {
    for patch in [
        json!({ "verification_uri": "javascript:alert(1)" }),
        json!({ "verification_uri": "http://198.51.100.7/device" }),
        json!({ "verification_uri": "https://a.example/\u{1b}[2J" }),
        json!({ "user_code": "\u{1b}]0;owned\u{7}" }),
        json!({ "user_code": null }),
    ] {
        let server = faulty(|script| {
            script.device_authorization = Endpoint::saying(patch.clone());
        });
        let display = Display::default();
        let entry = entry("server", &server.mcp_url());
        let error = failed_login(&Place::new(), &entry, &display).await.to_string();
        assert_eq!(display.shown(), [], "{patch}");
        assert!(!error.contains(['\u{1b}', '\u{7}']), "{error}");
        assert!(server.requests_to("/token").is_empty(), "{patch}");
    }
}

#[tokio::test]
async fn a_server_must_offer_device_codes_but_not_pkce() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    let error = failed_login(&place, &entry, &Display::default()).await;
    assert!(matches!(error, Error::NoDeviceCode { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Configuration);
    server.change(|script| {
        script.device_codes = true;
        let patch = json!({ "grant_types_supported": ["authorization_code"] });
        script.server_metadata = Endpoint::saying(patch);
    });
    let error = failed_login(&place, &entry, &Display::default()).await;
    assert!(matches!(error, Error::NoDeviceCode { .. }), "{error}");
    server.change(|script| {
        let patch = json!({ "code_challenge_methods_supported": null });
        script.server_metadata = Endpoint::saying(patch);
    });
    login(&place, &entry, &Display::default()).await.unwrap();
}
