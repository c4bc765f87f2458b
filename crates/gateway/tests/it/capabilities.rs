//! `GET /v1/capabilities` matches what requests get.

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use gateway_store::Scope;
use serde_json::{Value, json};

use crate::fixture::{PLAIN, chat, paid, provider, with_providers};
use crate::support::{PRICE, Running};

fn list(service: &Running, key: &str) -> Value {
    service.get("/v1/capabilities", key).good()
}

fn of<'a>(list: &'a Value, id: &str) -> &'a Value {
    list["data"].as_array().unwrap().iter().find(|entry| entry["id"] == id).unwrap()
}

#[test]
fn capabilities_list_their_models_with_prices() {
    let upstream = Upstream::start();
    let service = Running::start(&with_providers(
        &[provider("up", &upstream, PLAIN), "  docs: {kind: index, folder: .}\n".to_owned()],
        "",
    ));
    let ada = service.holder("ada", PRICE);
    let key = ada.key.as_str();
    eventually("the index is ready", || of(&list(&service, key), "web_search")["usable"] == true);
    let listed = list(&service, key);
    assert_eq!(listed["object"], "list");
    let model = |id: &str, price: i64| json!({"id": id, "usable": true, "price_micros": price});
    for (id, models) in [
        ("chat", json!([model("up/echo", PRICE)])),
        ("responses", json!([model("up/echo", PRICE)])),
        ("web_search", json!([model("docs", 1000)])),
        ("web_fetch", json!([model("builtin/reader", 1000)])),
    ] {
        let expected = json!({"id": id, "usable": true, "reason": null, "models": models});
        assert_eq!(of(&listed, id), &expected);
    }
}

#[test]
fn media_and_research_need_suitable_models() {
    let upstream = Upstream::start();
    let models = "kind: openai, health: false, models: {echo: {}, \
                  paint: {capabilities: [image], price_micros: 7}}";
    let index = "  docs: {kind: index, folder: .}\n".to_owned();
    let service = Running::start(&with_providers(&[provider("up", &upstream, models), index], ""));
    let key = service.holder("ada", PRICE).key;
    let is = |id: &str| of(&list(&service, key.as_str()), id).clone();
    eventually("the index is ready", || is("research")["usable"] == true);
    assert_eq!(is("research")["models"][0]["id"], "up/echo");
    let paint = json!([{"id": "up/paint", "usable": true, "price_micros": 7}]);
    assert_eq!(is("image")["models"], paint);
    let speech = is("speech");
    assert_eq!((&speech["usable"], &speech["models"]), (&json!(false), &json!([])));
    assert_eq!(speech["reason"], "no model or service that this key may use is configured for it");
    let blind = Running::start(&with_providers(&[provider("up", &upstream, models)], ""));
    let key = blind.holder("ada", PRICE).key;
    let research = of(&list(&blind, key.as_str()), "research").clone();
    assert_eq!(research["usable"], false, "there is nothing to search");
}

#[test]
fn capabilities_forbidden_to_a_key_are_unusable_with_a_reason() {
    let upstream = Upstream::start();
    let service = Running::start(&with_providers(
        &[provider("up", &upstream, "kind: openai, models: [echo, other], health: false")],
        "",
    ));
    let ada = service.member("ada");
    let key = service.key_with(ada, |key| {
        key.scopes = vec![Scope::Chat];
        key.models = Some(vec!["up/other".to_owned()]);
    });
    let listed = list(&service, key.as_str());
    let models = json!([{"id": "up/other", "usable": true, "price_micros": PRICE}]);
    assert_eq!(of(&listed, "chat")["models"], models);
    let fetch = of(&listed, "web_fetch");
    assert_eq!(fetch["usable"], false);
    assert_eq!(fetch["reason"], "this key lacks the scope `fetch`");
    let search = of(&listed, "web_search");
    assert_eq!(search["reason"], "this key lacks the scope `search`");
    let nobody = service.send(http::Method::GET, "/v1/capabilities", None, None);
    assert_eq!(nobody.failure(), (401, "invalid_key".to_owned()));
}

#[test]
fn a_capability_without_a_usable_model_opens_no_hold() {
    let upstream = Upstream::start();
    let health = "kind: openai, models: [echo], health: {interval: 0.05, failures: 3}";
    let service = Running::start(&with_providers(&[provider("up", &upstream, health)], ""));
    let ada = service.holder("ada", 1000 * PRICE);
    let key = ada.key.as_str();
    upstream.go_down();
    let ask = || service.post("/v1/chat/completions", key, &chat("hello"));
    eventually("the provider is out", || of(&list(&service, key), "chat")["usable"] == false);
    let chat = of(&list(&service, key), "chat").clone();
    assert_eq!(
        chat["reason"],
        "all configured models and services for it are currently unavailable"
    );
    assert_eq!(chat["models"][0]["usable"], false);
    let (asked, answer) = (upstream.requests().len(), ask());
    assert_eq!(answer.failure(), (503, "capability_unavailable".to_owned()));
    assert_eq!(answer.header("x-receipt-id"), "", "nothing was held");
    assert_eq!((upstream.requests().len(), paid(&service, &ada)), (asked, 0));
}
