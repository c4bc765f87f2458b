//! Logins at the same time. They count on which ports are free, and run alone: see
//! `.config/nextest.toml`.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use agent_test_support::oauth::{Endpoint, FaultyAuthServer, Script, visit};
use agent_test_support::wait::eventually;
use mcp_client::oauth::LoginOptions;
use mcp_client::oauth::callback::{PINNED_PORTS, bind_pinned};
use mcp_client::supervisor::ServerState;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::{PATIENCE, Person, Place, entry};
use crate::support::call;

#[tokio::test]
async fn the_five_pinned_ports_are_used_in_order() {
    let mut held = Vec::new();
    for port in PINNED_PORTS {
        let listener = bind_pinned().await.unwrap();
        assert_eq!(listener.port(), port);
        held.push(listener);
    }
    assert!(bind_pinned().await.is_none());
    let revoked = held.remove(2).port();
    let again = bind_pinned().await.unwrap();
    assert_eq!(again.port(), revoked);
    // Held from the beginning: nobody else can bind it, and nobody has to wait for a redirect.
    assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, revoked)).is_err());
}

#[tokio::test]
async fn a_sixth_concurrent_login_gets_a_random_port() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let place = Place::new();
    let mut waiting = Vec::new();
    for number in 0..6 {
        let person = Arc::new(Person::leaving());
        let account = place.account(&entry(&format!("server-{number}"), &server.mcp_url()));
        let visitor = Arc::clone(&person);
        let login =
            tokio::spawn(async move { account.login(&*visitor, LoginOptions::default()).await });
        waiting.push((person, login));
    }
    let people: Vec<Arc<Person>> = waiting.iter().map(|(person, _)| Arc::clone(person)).collect();
    spawn_blocking(move || {
        eventually("all are brought to a page", || {
            people.iter().all(|person| !person.visits().is_empty())
        });
    })
    .await
    .unwrap();
    let at: BTreeSet<u16> = waiting.iter().map(|(person, _)| person.visit().port).collect();
    assert_eq!(at.len(), 6, "{at:?}");
    assert!(PINNED_PORTS.iter().all(|port| at.contains(port)), "{at:?}");

    // Every port is held until its own redirect arrives, whatever happens at the others.
    for (person, login) in waiting {
        let page = person.visit();
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, page.port)).is_err(), "{}", page.port);
        spawn_blocking(move || visit(&page.address)).await.unwrap();
        login.await.unwrap().unwrap();
    }
    for port in PINNED_PORTS {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        assert!(free.is_ok(), "{port} is still held");
    }
    for number in 0..6 {
        assert!(place.kept(&format!("server-{number}.json")).is_some(), "{number}");
    }
}

#[tokio::test]
async fn concurrent_logins_of_one_server_open_one_page() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let seen = server.clone();
    let person = Person::who(move |page| {
        eventually("both have begun", || seen.requests_to("/mcp").len() == 2);
        visit(&page.address)
    });
    let account = Place::new().account(&entry("server", &server.mcp_url()));
    let one = account.login(&person, LoginOptions::default());
    let other = account.login(&person, LoginOptions::default());
    let (one, other) = tokio::join!(one, other);
    one.unwrap();
    other.unwrap();
    assert_eq!(person.visits().len(), 1);
    assert_eq!(server.requests_to("/token").len(), 1);
}

#[tokio::test]
async fn a_cancelled_login_frees_its_port() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let (place, person) = (Place::new(), Person::cancelling());
    let error = place.failed_login(&entry("server", &server.mcp_url()), &person).await;
    assert_eq!(error.to_string(), "the sign-in was cancelled");
    let port = person.visit().port;
    assert_eq!(port, PINNED_PORTS[0]);
    assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok(), "it is still held");
}

#[tokio::test]
async fn concurrent_logins_of_two_programs_store_a_consistent_state() {
    let server = FaultyAuthServer::start(Script::default()).unwrap();
    let secrets = json!({ "token_endpoint_auth_methods_supported": ["client_secret_basic"] });
    server.change(|script| script.server_metadata = Endpoint::saying(secrets));
    let (place, entry) = (Place::new(), entry("server", &server.mcp_url()));
    let slow = Arc::new(Person::leaving());
    let (account, person) = (place.account(&entry), Arc::clone(&slow));
    let login = tokio::spawn(async move { account.login(&*person, LoginOptions::default()).await });
    let waiting = Arc::clone(&slow);
    spawn_blocking(move || eventually("it waits", || !waiting.visits().is_empty())).await.unwrap();
    // Another program registers as another client, and is done first.
    place.login(&entry, &Person::signing_in()).await.unwrap();
    let page = slow.visit().address;
    spawn_blocking(move || visit(&page)).await.unwrap();
    login.await.unwrap().unwrap();
    assert_eq!(server.clients().len(), 2);

    // The tokens can be renewed: the secret of their client is the one that is kept.
    server.expire_access_tokens();
    let client = place.client(entry, None);
    let status = client.wait_until_server_settled("server", PATIENCE).await.unwrap();
    assert_eq!(status.state, ServerState::Ready, "{}", status.state);
    call(&client, "mcp__server__echo", json!({ "text": "hello" })).await;
}
