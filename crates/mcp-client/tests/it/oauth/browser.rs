//! A person at a real browser, on the pages of a real authorization server.

use std::sync::{Arc, Mutex};

use agent_test_support::browser::{Browser, ColorScheme};
use agent_test_support::oauth::{
    FaultyAuthServer, Oidc, OidcOptions, RedirectChange, Script, SignInResult, sign_in_with_browser,
};
use mcp_client::oauth::Error;
use mcp_client::oauth::redirect::RedirectError;
use mcp_client::supervisor::ServerState;
use serde_json::json;

use super::{PATIENCE, Person, Place, entry};
use crate::support::{call, names};

#[tokio::test]
async fn a_browser_sign_in_makes_the_tools_available() {
    let server = Oidc::start(&OidcOptions::default());
    let place = Place::new();
    let person = Arc::new(Person::who(|page| sign_in_with_browser(&page.address, "ann")));
    let entry = entry("oidc", server.mcp_url());
    let client = place.client(entry.clone(), Some(&person));
    let status = client.wait_until_server_settled("oidc", PATIENCE).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
    assert_eq!(names(&client), ["mcp__oidc__echo", "mcp__oidc__write"]);
    let said = call(&client, "mcp__oidc__echo", json!({ "text": "hello" })).await;
    assert!(said.text.contains("hello"), "{said:?}");
    let page = person.landed().await;
    assert!(page.text.contains("Signed in to oidc"), "{page:?}");
    assert!(page.url.starts_with(&person.visit().redirect_uri), "{page:?}");
    drop(client);

    // Another program finds what is kept, and brings nobody anywhere.
    let client = place.client(entry.clone(), None);
    let status = client.wait_until_server_settled("oidc", PATIENCE).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
    call(&client, "mcp__oidc__echo", json!({ "text": "again" })).await;
    let granted = place.account(&entry).status().granted.unwrap();
    assert_eq!(granted.issuer, server.issuer());
    assert!(granted.renewable);
    let asked = server.requests();
    let pages = asked.iter().filter(|seen| seen.route() == "/auth").count();
    assert_eq!(pages, 1);
}

#[tokio::test]
async fn a_refused_consent_is_shown_and_stores_no_token() {
    let server = Oidc::start(&OidcOptions::default());
    let place = Place::new();
    let person = Person::who(|page| {
        let browser = Browser::start(900, 700, ColorScheme::Light);
        browser.goto(&page.address);
        browser.eventually("a way out", "return !!document.querySelector('a[href$=\"/abort\"]')");
        browser.click("a[href$=\"/abort\"]");
        browser.eventually("the way back", "return location.pathname === '/callback'");
        let text = browser.eval("return document.body.innerText");
        SignInResult { url: browser.address(), text: text.as_str().unwrap().to_owned() }
    });
    let error = place.failed_login(&entry("oidc", server.mcp_url()), &person).await;
    let refused = matches!(&error, Error::Redirect(RedirectError::Refused { error, .. }) if error == "access_denied");
    assert!(refused, "{error}");
    let page = person.landed().await;
    assert_eq!(page.parameter("error").as_deref(), Some("access_denied"));
    assert!(page.text.contains("Sign-in to oidc failed"), "{page:?}");
    assert!(page.text.contains("access_denied"), "{page:?}");
    assert_eq!(place.kept("oidc.json"), None);
    assert_eq!(server.token_requests(), []);
}

#[tokio::test]
async fn markup_in_server_text_is_escaped_in_the_browser() {
    let words = "<img src=x onerror=\"document.title='taken'\"><h1>pay here</h1>";
    let redirect = RedirectChange::error("access_denied", words);
    let server = FaultyAuthServer::start(Script { redirect, ..Script::default() }).unwrap();
    let looked: Arc<Mutex<Vec<serde_json::Value>>> = Arc::default();
    let notes = Arc::clone(&looked);
    let person = Person::who(move |page| {
        let browser = Browser::start(900, 700, ColorScheme::Dark);
        browser.goto(&page.address);
        let text = browser.eval("return document.body.innerText");
        let found = browser.eval(
            "return [document.querySelectorAll('img, script').length,
                     document.querySelectorAll('h1').length, document.title]",
        );
        notes.lock().unwrap().push(found);
        SignInResult { url: browser.address(), text: text.as_str().unwrap().to_owned() }
    });
    let place = Place::new();
    let error = place.failed_login(&entry("server", &server.mcp_url()), &person).await;
    assert!(error.to_string().contains(words), "{error}");
    let page = person.landed().await;
    assert!(page.text.contains(words), "{page:?}");
    let found = looked.lock().unwrap()[0].clone();
    assert_eq!((&found[0], &found[1]), (&json!(0), &json!(1)), "{found}");
    assert_ne!(found[2], "taken");
}
