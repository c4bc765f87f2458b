//! Usage, as members and operators ask for it.

use agent_test_support::upstream::Upstream;
use serde_json::{Value, json};

use crate::support::{ADMIN_TOKEN, PRICE, Running};

fn chat(service: &Running, key: &str, model: &str) {
    let ask = json!({ "model": model, "messages": [{ "role": "user", "content": "hi" }] });
    service.post("/v1/chat/completions", key, &ask).good();
}

/// The values of a dimension with the requests of each.
fn by<'a>(list: &'a Value, dimension: &str) -> Vec<(&'a str, i64)> {
    let lines = list["data"].as_array().unwrap().iter();
    let text = |line: &'a Value| match &line[dimension] {
        Value::Object(owner) => owner["name"].as_str().unwrap(),
        value => value.as_str().unwrap(),
    };
    lines.map(|line| (text(line), line["requests"].as_i64().unwrap())).collect()
}

#[test]
fn members_see_their_own_usage_and_operators_all_usage() {
    let upstream = Upstream::start();
    let service = Running::plain(&upstream);
    let ada = service.holder("ada", 10 * PRICE);
    let bob = service.holder("bob", 10 * PRICE);
    chat(&service, ada.key.as_str(), "up/echo");
    chat(&service, ada.key.as_str(), "up/echo");
    chat(&service, ada.key.as_str(), "up/drip-3-1");
    chat(&service, bob.key.as_str(), "up/echo");

    let me = |query: &str| service.get(&format!("/v1/me/usage{query}"), ada.key.as_str()).good();
    let days = me("");
    assert_eq!((&days["object"], &days["by"]), (&json!("usage"), &json!(["day"])));
    assert_eq!(by(&days, "day"), [(days["to"].as_str().unwrap(), 3)]);
    assert_eq!(days["total"]["charged_micros"], 3 * PRICE);
    assert_eq!(by(&me("?by=model"), "model"), [("up/echo", 2), ("up/drip-3-1", 1)]);
    let both = me("?by=key,operation");
    assert_eq!(
        (by(&both, "operation"), both["data"][0]["key"]["id"].as_str()),
        (vec![("chat", 3)], Some(ada.key.public_id()))
    );
    assert_eq!(both["data"][0].get("model"), None);
    let first = me("?by=model&limit=1");
    assert_eq!((by(&first, "model"), &first["has_more"]), (vec![("up/echo", 2)], &json!(true)));
    assert_eq!(first["total"]["requests"], 3);
    assert_eq!(me("?from=2020-01-01&to=2020-12-31")["data"], json!([]));

    let all = |query: &str| service.get(&format!("/admin/v1/usage{query}"), ADMIN_TOKEN).good();
    assert_eq!(by(&all("?by=member"), "member"), [("ada", 3), ("bob", 1)]);
    assert_eq!(by(&all("?by=provider"), "provider"), [("up", 4)]);
    assert_eq!(by(&all("?by=key"), "key").len(), 2);
    assert_eq!(by(&all("?by=model&member=mem_2"), "model"), [("up/echo", 1)]);
    assert_eq!(all("")["total"]["charged_micros"], 4 * PRICE);
    let repaired = service.post("/admin/v1/ledger/repair-usage", ADMIN_TOKEN, &json!({})).good();
    assert_eq!(repaired["ok"], true);
    assert_eq!(by(&all("?by=member"), "member"), [("ada", 3), ("bob", 1)]);
    service.check_ledger();
}

#[test]
fn invalid_usage_queries_name_the_parameter() {
    let upstream = Upstream::start();
    let service = Running::plain(&upstream);
    let ada = service.holder("ada", PRICE);
    for (path, bearer) in [("/v1/me/usage", ada.key.as_str()), ("/admin/v1/usage", ADMIN_TOKEN)] {
        for (query, param) in [
            ("from=today", "from"),
            ("to=2026-02-30", "to"),
            ("by=week", "by"),
            ("limit=0", "limit"),
            ("limit=many", "limit"),
            ("colour=red", "colour"),
        ] {
            let answer = service.get(&format!("{path}?{query}"), bearer);
            let error = &answer.json()["error"];
            assert_eq!((answer.status, &error["param"]), (400, &json!(param)), "{path} {query}");
        }
    }
    let answer = service.get("/admin/v1/usage?member=ada", ADMIN_TOKEN);
    assert_eq!(answer.json()["error"]["param"], "member");
    assert_eq!(service.get("/v1/me/usage?member=mem_1", ada.key.as_str()).status, 400);
    assert_eq!(service.get("/v1/me/usage", ADMIN_TOKEN).status, 401);
    assert_eq!(service.get("/admin/v1/usage", ada.key.as_str()).status, 401);
}
