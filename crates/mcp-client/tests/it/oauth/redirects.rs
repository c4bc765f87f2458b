//! What comes back from the browser, right and wrong.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use agent_test_support::oauth::{
    Endpoint, FaultyAuthServer, Oidc, OidcOptions, RedirectChange, Script, SignInResult, visit,
};
use mcp_client::host::SignInPage;
use mcp_client::oauth::Error;
use mcp_client::oauth::redirect::RedirectError;
use serde_json::json;

use super::{Person, Place, entry, entry_with, redirect_of};

/// The response of a local address.
fn knock(address: &str) -> SignInResult {
    let rest = address.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(authority).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {authority}\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    SignInResult { url: address.to_owned(), text }
}

/// The address with another value of a parameter.
fn with(address: &str, name: &str, value: &str) -> String {
    let (before, after) = address.split_once(&format!("{name}=")).unwrap();
    let rest = after.split_once('&').map_or(String::new(), |(_, rest)| format!("&{rest}"));
    format!("{before}{name}={value}{rest}")
}

fn server() -> FaultyAuthServer {
    FaultyAuthServer::start(Script::default()).unwrap()
}

fn twisted(redirect: Vec<RedirectChange>) -> FaultyAuthServer {
    FaultyAuthServer::start(Script { redirect, ..Script::default() }).unwrap()
}

/// A login that must fail because of its redirect: why, and what the page says.
async fn fault(server: &FaultyAuthServer) -> (RedirectError, String) {
    let (place, person) = (Place::new(), Person::signing_in());
    let error = place.failed_login(&entry("server", &server.mcp_url()), &person).await;
    let Error::Redirect(fault) = error else { panic!("{error}") };
    assert_eq!(place.kept("server.json"), None);
    assert_eq!(server.requests_to("/token"), [], "the code goes nowhere");
    (fault, person.landed().await.text)
}

#[tokio::test]
async fn a_wrong_state_is_rejected_and_the_right_one_still_works() {
    let server = server();
    let person = Person::who(|page| {
        let right = redirect_of(&page.address);
        let strangers = [
            with(&right, "state", "guessed"),
            with(&right, "state", ""),
            format!("{right}&state=guessed"),
            right.replace("state=", "other="),
            format!("{}?error=access_denied", page.redirect_uri),
            format!("{}?error=access_denied&state=guessed", page.redirect_uri),
            right.replace("/callback", "/favicon.ico"),
            page.redirect_uri.clone(),
        ];
        for stranger in strangers {
            let page = knock(&stranger);
            assert!(page.text.starts_with("HTTP/1.1 404"), "{stranger}: {}", page.text);
        }
        knock(&right)
    });
    let place = Place::new();
    place.login(&entry("server", &server.mcp_url()), &person).await.unwrap();
    assert!(person.landed().await.text.contains("Signed in to server"));
}

#[tokio::test]
async fn a_wrong_issuer_ends_the_login() {
    let other = "https://elsewhere.test";
    let (fault, page) = fault(&twisted(vec![RedirectChange::set("iss", other)])).await;
    assert_eq!(fault, RedirectError::WrongIssuer);
    assert!(page.contains("Sign-in to server failed"), "{page}");
    assert!(!page.contains("elsewhere"), "{page}");
}

#[tokio::test]
async fn an_announced_issuer_must_be_sent() {
    assert_eq!(
        fault(&twisted(vec![RedirectChange::remove("iss")])).await.0,
        RedirectError::MissingIssuer
    );
}

#[tokio::test]
async fn an_unannounced_issuer_may_be_missing_but_not_wrong() {
    let silent = json!({ "authorization_response_iss_parameter_supported": null });
    let quiet = |redirect| {
        let server_metadata = Endpoint::saying(silent.clone());
        FaultyAuthServer::start(Script { redirect, server_metadata, ..Script::default() }).unwrap()
    };
    let server = quiet(vec![RedirectChange::set("iss", "https://elsewhere.test")]);
    assert_eq!(fault(&server).await.0, RedirectError::WrongIssuer);
    let server = quiet(vec![RedirectChange::remove("iss")]);
    let place = Place::new();
    place.login(&entry("server", &server.mcp_url()), &Person::signing_in()).await.unwrap();
}

#[tokio::test]
async fn a_trailing_slash_makes_another_issuer() {
    let server = server();
    let slash = format!("{}/", server.issuer());
    server.change(|script| script.redirect = vec![RedirectChange::set("iss", &slash)]);
    assert_eq!(fault(&server).await.0, RedirectError::WrongIssuer);
}

#[tokio::test]
async fn the_issuer_of_a_real_server_is_checked() {
    let server = Oidc::start(&OidcOptions::default());
    let (place, entry) = (Place::new(), entry("oidc", server.mcp_url()));
    for (iss, expected) in
        [("https://elsewhere.test", RedirectError::WrongIssuer), ("", RedirectError::MissingIssuer)]
    {
        server.set_redirect_iss(Some(iss));
        let error = place.failed_login(&entry, &Person::signing_in()).await;
        assert!(matches!(&error, Error::Redirect(fault) if *fault == expected), "{error}");
    }
    assert_eq!(server.token_requests(), []);
    server.set_redirect_iss(None);
    place.login(&entry, &Person::signing_in()).await.unwrap();
}

#[tokio::test]
async fn a_repeated_code_is_rejected() {
    let (fault, _) = fault(&twisted(vec![RedirectChange::add("code", "another")])).await;
    assert_eq!(fault, RedirectError::Repeated { name: "code" });
}

#[tokio::test]
async fn a_redirect_without_a_code_ends_the_login() {
    assert_eq!(
        fault(&twisted(vec![RedirectChange::remove("code")])).await.0,
        RedirectError::NoCode
    );
    assert_eq!(
        fault(&twisted(vec![RedirectChange::set("code", "")])).await.0,
        RedirectError::NoCode
    );
}

#[tokio::test]
async fn an_error_without_our_state_is_ignored() {
    let mut redirect = RedirectChange::error("access_denied", "no");
    redirect.push(RedirectChange::remove("state"));
    let server = twisted(redirect);
    let entry = entry_with("server", &server.mcp_url(), |options| {
        options.timeout = Some(Duration::from_secs(1));
    });
    let person = Person::signing_in();
    let error = Place::new().failed_login(&entry, &person).await;
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    assert!(person.landed().await.text.contains("Page not found"));
}

#[tokio::test]
async fn error_descriptions_are_shown_as_plain_text() {
    let words = "<script>alert(1)</script> & \"more\"";
    let (fault, page) = fault(&twisted(RedirectChange::error("access_denied", words))).await;
    let RedirectError::Refused { error, description } = fault else { panic!("{fault}") };
    assert_eq!((error.as_str(), description.as_deref()), ("access_denied", Some(words)));
    assert!(!page.contains("<script"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp;"), "{page}");
}

#[tokio::test]
async fn a_repeated_redirect_sends_its_code_once() {
    let server = server();
    // The answer to the exchange takes a while: both requests are there when it comes.
    let late = agent_test_support::oauth::Fault::Late(Duration::from_millis(300));
    server.change(|script| script.token = Endpoint::failing(late));
    let seen = server.clone();
    let person = Person::who(move |page| {
        let right = redirect_of(&page.address);
        let first = std::thread::spawn({
            let right = right.clone();
            move || knock(&right)
        });
        agent_test_support::wait::eventually("the code is on its way", || {
            !seen.requests_to("/token").is_empty()
        });
        let second = knock(&right).text;
        let first = first.join().unwrap().text;
        SignInResult { url: right, text: format!("{first}\n---\n{second}") }
    });
    let place = Place::new();
    place.login(&entry("server", &server.mcp_url()), &person).await.unwrap();
    let pages = person.landed().await.text;
    let (first, second) = pages.split_once("\n---\n").unwrap();
    assert!(first.contains("Signed in"), "{first}");
    assert!(second.contains("already been used"), "{second}");
    assert_eq!(server.requests_to("/token").len(), 1);
}

#[tokio::test]
async fn a_code_of_an_earlier_login_is_rejected_and_tokens_kept() {
    let server = server();
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    let first = Person::signing_in();
    place.login(&entry, &first).await.unwrap();
    let code = first.landed().await.parameter("code").unwrap();
    let before = place.kept("server.json").unwrap();

    server.change(|script| script.redirect = vec![RedirectChange::set("code", &code)]);
    let second = Person::signing_in();
    let error = place.failed_login(&entry, &second).await;
    assert!(error.is_refusal("invalid_grant"), "{error}");
    let page = second.landed().await.text;
    assert!(page.contains("Sign-in to server failed") && page.contains("invalid_grant"), "{page}");
    assert_eq!(place.kept("server.json"), Some(before));
    let exchanges = server.requests_to("/token");
    assert_eq!(exchanges.len(), 2);
    assert_eq!(exchanges[1].field("code"), Some(code));
}

/// What a login by pasting ends in, and every visit.
async fn pasted(
    words: impl Fn(&SignInPage, usize) -> String + Send + Sync + 'static,
) -> (Result<(), mcp_client::Error>, Vec<SignInPage>) {
    let (server, person) = (server(), Person::pasting(words));
    let place = Place::new();
    let done = place.login(&entry("server", &server.mcp_url()), &person).await;
    assert_eq!(place.kept("server.json").is_some(), done.is_ok());
    (done, person.visits())
}

#[tokio::test]
async fn the_redirect_url_can_be_pasted() {
    let (done, visits) = pasted(|page, _| format!("  '{}'\n", redirect_of(&page.address))).await;
    done.unwrap();
    assert_eq!(visits.len(), 1);
    assert_eq!(visits[0].problem, None);
}

#[tokio::test]
async fn the_redirect_query_alone_can_be_pasted() {
    let query = |page: &SignInPage, _| {
        let whole = redirect_of(&page.address);
        whole.split_once('?').unwrap().1.to_owned()
    };
    pasted(query).await.0.unwrap();
}

#[tokio::test]
async fn an_invalid_paste_prompts_again() {
    let (done, visits) = pasted(|page, before| match before {
        0 => "what?".to_owned(),
        1 => with(&redirect_of(&page.address), "state", "of-another"),
        _ => redirect_of(&page.address),
    })
    .await;
    done.unwrap();
    let problems: Vec<Option<&str>> = visits.iter().map(|page| page.problem.as_deref()).collect();
    let expected = [
        None,
        Some("not a redirect URL of this sign-in"),
        Some("the URL belongs to another sign-in"),
    ];
    assert_eq!(problems, expected);
    assert!(visits.iter().all(|page| page.address == visits[0].address));
}

#[tokio::test]
async fn a_pasted_error_ends_the_login() {
    let (done, visits) = pasted(|page, _| {
        let whole = redirect_of(&page.address);
        with(&whole, "code", "").replace("code=&", "error=access_denied&")
    })
    .await;
    let error = done.unwrap_err().to_string();
    assert!(error.contains("access_denied"), "{error}");
    assert_eq!(visits.len(), 1);
}

#[tokio::test]
async fn a_redirect_is_accepted_while_a_paste_is_awaited() {
    let server = server();
    // Pastes nonsense, and then the browser comes back by itself.
    let person = Person::pasting(|page, before| {
        if before == 1 {
            visit(&page.address);
        }
        "what?".to_owned()
    });
    let place = Place::new();
    place.login(&entry("server", &server.mcp_url()), &person).await.unwrap();
    assert!(place.kept("server.json").is_some());
}

#[tokio::test]
async fn a_login_can_be_cancelled() {
    let (server, place) = (server(), Place::new());
    let error =
        place.failed_login(&entry("server", &server.mcp_url()), &Person::cancelling()).await;
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(server.requests_to("/token"), []);
}
