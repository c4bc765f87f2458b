//! Logins that end well, end to end.

use std::sync::Arc;

use agent_test_support::oauth::{Faulty, Script};
use agent_test_support::ports;
use serde_json::json;

use super::{Person, Place, entry};
use crate::support::call;

#[tokio::test]
async fn the_first_connect_of_a_server_brings_a_person_to_sign_in() {
    let _ports = ports::shared();
    let server = Faulty::start(Script::default()).unwrap();
    let (place, person) = (Place::new(), Arc::new(Person::who_visits()));
    let client = place.client(entry("faulty", &server.mcp_url()), Some(&person));
    client.server_settled("faulty", super::PATIENCE).await.unwrap();
    let said = call(&client, "mcp__faulty__echo", json!({ "text": "hello" })).await;
    assert!(said.text.contains("echo: hello"), "{said:?}");
    assert_eq!(person.visit().issuer, server.issuer());
    assert!(person.landed().await.text.contains("signed in"));
}
