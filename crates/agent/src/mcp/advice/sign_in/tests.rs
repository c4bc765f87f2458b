//! Tests of `sign_in`.

use std::io;
use std::time::Duration;

use mcp_client::config::{Auth, Endpoint, HttpEndpoint};

use super::*;
use crate::mcp::advice::advice;

fn entry(auth: Auth) -> ServerEntry {
    let http = HttpEndpoint { auth, ..HttpEndpoint::new("https://example.com/mcp") };
    ServerEntry::new("docs", Endpoint::Http(Box::new(http)))
}

fn signed() -> ServerEntry {
    entry(Auth::OAuth(Box::default()))
}

#[test]
fn flows_without_a_person_never_suggest_login() {
    let flow = mcp_client::config::Flow::Workload;
    let options = mcp_client::config::OauthOptions { flow, ..Default::default() };
    let entry = entry(Auth::OAuth(Box::new(options)));
    let refused = Error::Refused { status: 400, code: "x".to_owned(), description: None };
    let scope = "Bearer error=\"insufficient_scope\", scope=\"write\"".to_owned();
    let body = String::new;
    for error in [
        mcp_client::Error::SignIn { challenge: None },
        mcp_client::Error::Forbidden { challenge: None, body: body() },
        mcp_client::Error::Forbidden { challenge: Some(scope), body: body() },
        Error::Unattended(Box::new(refused)).into(),
        Error::TokenRejected.into(),
    ] {
        let hints = advice(&error, &entry, Some("read"));
        assert!(!hints.is_empty(), "{error}");
        assert!(!hints.iter().any(|hint| hint.contains("login")), "{error}: {hints:?}");
    }
}

#[test]
fn sign_in_advice_names_the_matching_command() {
    let of = |challenge: Option<&str>, entry: &ServerEntry| {
        let challenge = challenge.map(str::to_owned);
        advice(&mcp_client::Error::SignIn { challenge }, entry, None)
    };
    assert_eq!(of(None, &signed()), ["run `agent mcp login docs`"]);
    let plain = of(None, &entry(Auth::Static));
    assert!(plain.len() == 1 && plain[0].contains("headers"), "{plain:?}");
    let basic = of(Some("Basic realm=x"), &entry(Auth::Static));
    assert_eq!(basic, plain);
    let named = "Bearer resource_metadata=\"https://example.com/x\"";
    let offered = of(Some(named), &entry(Auth::Static));
    assert!(offered[0].contains("set `auth: oauth`"), "{offered:?}");
    assert!(offered[0].contains("`agent mcp login docs`"), "{offered:?}");
}

#[test]
fn missing_scope_is_requested_in_addition_to_granted_ones() {
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"write read\"";
    let error =
        mcp_client::Error::Forbidden { challenge: Some(challenge.to_owned()), body: String::new() };
    let hints = advice(&error, &signed(), Some("read list"));
    assert!(hints[0].ends_with("`agent mcp login docs --scope \"read list write\"`"), "{hints:?}");
    assert!(advice(&error, &entry(Auth::Static), None)[0].contains("headers"));
    // A server's words never become a command of their own.
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"a $(x) `y` b;c\"";
    let error =
        mcp_client::Error::Forbidden { challenge: Some(challenge.to_owned()), body: String::new() };
    assert!(advice(&error, &signed(), None)[0].ends_with("--scope \"a b;c\"`"));
}

#[test]
fn every_oauth_error_has_advice() {
    let text = || "x".to_owned();
    let registration =
        |status| Error::Registration { issuer: text(), status, code: None, description: None };
    let refused =
        |code: &str| Error::Refused { status: 400, code: code.to_owned(), description: None };
    let source = || io::Error::other("x");
    let second = Duration::from_secs(1);
    let cases = [
        (Error::Discovery { url: text(), reason: text() }, "check `url`"),
        (Error::WrongResource { url: text(), found: text() }, "`url` of docs"),
        (Error::WrongIssuer { url: text(), found: text(), expected: text() }, "operator"),
        (Error::Insecure { what: "x", url: text() }, "https"),
        (Error::NoPkce { issuer: text() }, "PKCE"),
        (Error::NoPage { issuer: text() }, "authorization endpoint"),
        (Error::NoIdentity { issuer: text() }, "`oauth.client_id`"),
        (Error::NoDeviceCode { issuer: text() }, "`agent mcp login docs`"),
        (Error::CodeExpired { after: second }, "`agent mcp login docs --device`"),
        (refused("access_denied"), "denied on the page"),
        (Error::Moved { expected: text(), found: text() }, "`agent mcp logout docs`"),
        (registration(403), "three ways"),
        (registration(400), "by hand"),
        (registration(503), "later"),
        (Error::PortTaken { port: 1 }, "`oauth.redirect_port`"),
        (Error::NoPort { source: source() }, "127.0.0.1"),
        (Error::Redirect(RedirectError::WrongIssuer), "mixed up"),
        (Error::Redirect(RedirectError::NoCode), "`agent mcp login docs`"),
        (Error::TimedOut { after: second, suspect: LikelyCause::Unknown }, "--timeout"),
        (Error::TimedOut { after: second, suspect: LikelyCause::Document(text()) }, "`oauth.cimd"),
        (Error::TimedOut { after: second, suspect: LikelyCause::Registration }, "try again"),
        (Error::PortsTaken { issuer: text() }, "`oauth.redirect_port`"),
        (Error::TokenRejected, "`oauth.scope`"),
        (Error::Unattended(Box::new(refused("invalid_client"))), "`client_secret`"),
        (Error::Unattended(Box::new(refused("invalid_grant"))), "`oauth.assertion_file`"),
        (Error::Unattended(Box::new(refused("other"))), "automatically"),
        (Error::Unattended(Box::new(Error::NoPkce { issuer: text() })), "PKCE"),
        (Error::Cancelled, "`agent mcp login docs`"),
        (refused("invalid_client"), "`oauth.client_secret`"),
        (refused("invalid_scope"), "`oauth.scope`"),
        (refused("other"), "`agent mcp login docs`"),
        (Error::Unavailable { url: text(), status: 503, retry_after: None }, "later"),
        (Error::Silent { url: text(), after: second }, "later"),
        (Error::Malformed { url: text(), reason: text() }, "operator"),
        (Error::Assertion { reason: text() }, "key"),
        (Error::Store { path: "x".into(), what: "x", source: source() }, "disk"),
        (Error::Keychain { path: "x".into(), source: source() }, "`secrets.store: file`"),
        (Error::Busy { after: second }, "other process"),
        (Error::NoFolder, "AGENT_HOME"),
    ];
    for (error, word) in cases {
        let what = error.to_string();
        let hints = advice(&error.into(), &signed(), None);
        assert!(hints.iter().any(|hint| hint.contains(word)), "{what}: {hints:?}");
    }
    let unreached = mcp_client::Error::Unreachable { url: text(), reason: text() };
    let hints = advice(&Error::Unreached(Box::new(unreached)).into(), &signed(), None);
    assert!(hints[0].contains("network"), "{hints:?}");
}
