//! A service answers, charges, and adds up.

use agent_test_support::upstream::Upstream;
use serde_json::json;

use crate::fixture::{PLAIN, provider, with_providers};
use crate::support::{PRICE, Running, plain};

#[test]
fn a_chat_is_answered_and_charged() {
    let upstream = Upstream::start();
    let service = Running::plain(&upstream);
    let ada = service.holder("ada", 5 * PRICE);
    let ask = json!({ "model": "up/echo", "messages": [{ "role": "user", "content": "hello" }] });
    let answer = service.post("/v1/chat/completions", ada.key.as_str(), &ask);
    assert_eq!(answer.good()["choices"][0]["message"]["content"], "hello");
    assert_eq!(answer.header("x-charge-micros"), PRICE.to_string());
    assert_eq!(service.account(ada.member).balance.get(), 4 * PRICE);
    service.check_ledger();
    service.stop();
}

#[test]
fn state_survives_a_restart() {
    let upstream = Upstream::start();
    let text = plain(&upstream, &["echo"], "");
    let service = Running::start(&text);
    let ada = service.holder("ada", PRICE);
    let folder = service.folder.clone();
    service.stop();
    let service = Running::start_in(folder, &text);
    let me = service.get("/v1/me", ada.key.as_str()).good();
    assert_eq!((&me["name"], &me["balance_micros"]), (&json!("ada"), &json!(PRICE)));
}

/// Looking costs nothing unless the operator says so; then it is charged like anything else.
#[test]
fn read_operations_cost_their_listed_price() {
    let upstream = Upstream::start();
    let prices = "{chat: 100, responses: 100, models: 7, me: 5, responses_read: 3}";
    let text = with_providers(&[provider("up", &upstream, PLAIN)], "")
        .replace(&format!("{{chat: {PRICE}, responses: {PRICE}}}"), prices);
    let service = Running::start(&text);
    let ada = service.holder("ada", 1000);
    let key = ada.key.as_str();
    let left = || service.account(ada.member).balance.get();

    let listed = service.get("/v1/models", key);
    assert_eq!(listed.good()["data"][0]["id"], "up/echo");
    assert_eq!(listed.header("x-charge-micros"), "7");
    assert_eq!(left(), 993);
    // What is not there is free, and says so.
    let missing = service.get("/v1/models/up/none", key);
    assert_eq!((missing.status, left()), (404, 993));
    let receipt = service.get(&format!("/v1/requests/{}", listed.header("x-receipt-id")), key);
    let receipt = receipt.good();
    assert_eq!((&receipt["operation"], &receipt["charge_micros"]), (&json!("models"), &json!(7)));
    assert_eq!(receipt["model"], json!(null));
    assert_eq!(left(), 988);

    let made = service.post("/v1/responses", key, &json!({ "model": "up/echo", "input": "hi" }));
    let id = made.good()["id"].as_str().unwrap().to_owned();
    assert_eq!(service.get(&format!("/v1/responses/{id}"), key).header("x-charge-micros"), "3");
    assert_eq!(left(), 885);
    // A balance that does not cover it is a 402, and nothing is looked up.
    let poor = service.holder("bob", 4);
    let refused = service.get("/v1/me", poor.key.as_str());
    assert_eq!((refused.status, service.account(poor.member).balance.get()), (402, 4));
    service.check_ledger();
    service.stop();
}
