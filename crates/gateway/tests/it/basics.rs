//! A service answers, charges, and adds up.

use agent_test_support::upstream::Upstream;
use serde_json::json;

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
fn a_service_that_starts_again_finds_what_was_there() {
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
