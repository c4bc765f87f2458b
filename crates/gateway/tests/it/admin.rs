//! The admin API: who may use it, what it does, and that it does it at once.

use agent_test_support::upstream::Upstream;
use http::Method;
use serde_json::{Value, json};

use crate::raw::{Raw, request};
use crate::support::{ADMIN_TOKEN, Answer, PRICE, Running, plain};

/// A service and its operator.
struct AdminFixture {
    service: Running,
    _upstream: Upstream,
}

impl AdminFixture {
    fn open() -> Self {
        let upstream = Upstream::start();
        Self { service: Running::plain(&upstream), _upstream: upstream }
    }

    fn get(&self, path: &str) -> Answer {
        self.service.get(&format!("/admin/v1{path}"), ADMIN_TOKEN)
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.service.post(&format!("/admin/v1{path}"), ADMIN_TOKEN, body)
    }

    fn patch(&self, path: &str, body: &Value) -> Answer {
        let path = format!("/admin/v1{path}");
        self.service.send(Method::PATCH, &path, Some(ADMIN_TOKEN), Some(body))
    }

    /// A member with money, and a key of it: their ids and the key.
    fn member_with_key(&self, name: &str) -> (String, String, String) {
        let member = self.post("/members", &json!({ "name": name })).good();
        let member = member["id"].as_str().unwrap().to_owned();
        let paid = json!({ "amount_micros": 10 * PRICE, "reason": "paid" });
        self.post(&format!("/members/{member}/top-ups"), &paid).good();
        let issued = self.post(&format!("/members/{member}/keys"), &json!({})).good();
        let text = |field: &str| issued[field].as_str().unwrap().to_owned();
        (member, text("id"), text("key"))
    }

    fn chat(&self, key: &str) -> Answer {
        let ask = json!({ "model": "up/echo", "messages": [{ "role": "user", "content": "hi" }] });
        self.service.post("/v1/chat/completions", key, &ask)
    }

    fn actions(&self) -> Vec<String> {
        let audit = self.get("/audit").good();
        let entries = audit["data"].as_array().unwrap();
        entries.iter().map(|entry| entry["action"].as_str().unwrap().to_owned()).collect()
    }
}

fn wrong(param: &str) -> (u16, Value, Value) {
    (400, json!("invalid_request"), json!(param))
}

fn said(answer: &Answer) -> (u16, Value, Value) {
    let error = &answer.json()["error"];
    (answer.status, error["code"].clone(), error["param"].clone())
}

#[test]
fn admin_api_requires_the_token() {
    let office = AdminFixture::open();
    let (_, _, key) = office.member_with_key("ada");
    let invalid = (401, "invalid_key".to_owned());
    for bearer in [None, Some(key.as_str()), Some("another-token-of-at-least-32-characters")] {
        let answer = office.service.send(Method::GET, "/admin/v1/members", bearer, None);
        assert_eq!(answer.failure(), invalid, "{bearer:?}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    for path in ["/v1/models", "/v1/me"] {
        assert_eq!(office.service.get(path, ADMIN_TOKEN).failure(), invalid, "{path}");
    }
    let ask = json!({ "model": "up/echo", "messages": [{ "role": "user", "content": "hi" }] });
    let answer = office.service.post("/v1/chat/completions", ADMIN_TOKEN, &ask);
    assert_eq!(answer.failure(), invalid);
}

#[test]
fn without_a_token_the_admin_api_is_disabled() {
    let upstream = Upstream::start();
    let text = plain(&upstream, &["echo"], "").replace("admin_token: ${ADMIN_TOKEN}\n", "");
    let service = Running::start(&text);
    for path in ["/members", "/members/mem_1", "/keys/abc", "/audit", "/ledger/check", "/models"] {
        for (method, bearer) in [(Method::GET, None), (Method::POST, Some(ADMIN_TOKEN))] {
            let answer = service.send(method.clone(), &format!("/admin/v1{path}"), bearer, None);
            assert_eq!(answer.failure(), (404, "not_found".to_owned()), "{method} {path}");
        }
    }
}

#[test]
fn members_are_created_found_renamed_and_listed() {
    let office = AdminFixture::open();
    let made = office.post("/members", &json!({ "name": "ada" }));
    assert_eq!(made.status, 201);
    let made = made.json();
    assert_eq!(made["name"], "ada");
    assert_eq!((&made["balance_micros"], &made["blocked"]), (&json!(0), &json!(false)));
    let again = office.post("/members", &json!({ "name": "ada" }));
    assert_eq!(again.failure(), (409, "conflict".to_owned()));
    for name in ["bob", "cat"] {
        office.post("/members", &json!({ "name": name })).good();
    }
    let id = made["id"].as_str().unwrap();
    assert_eq!(office.get(&format!("/members/{id}")).good(), made);
    let renamed = office.patch(&format!("/members/{id}"), &json!({ "name": "eve" })).good();
    assert_eq!(renamed["name"], "eve");
    let taken = office.patch(&format!("/members/{id}"), &json!({ "name": "bob" }));
    assert_eq!(taken.failure(), (409, "conflict".to_owned()));

    let first = office.get("/members?limit=2").good();
    assert_eq!((first["data"].as_array().unwrap().len(), &first["has_more"]), (2, &json!(true)));
    let last = first["data"][1]["id"].as_str().unwrap();
    let rest = office.get(&format!("/members?limit=2&after={last}")).good();
    assert_eq!((&rest["data"][0]["name"], &rest["has_more"]), (&json!("cat"), &json!(false)));
    assert_eq!(rest["data"].as_array().unwrap().len(), 1);
}

#[test]
fn invalid_requests_name_the_parameter() {
    let office = AdminFixture::open();
    let (member, key, _) = office.member_with_key("ada");
    let long = "x".repeat(201);
    for (body, param) in [
        (json!({}), "name"),
        (json!({ "name": 5 }), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": long }), "name"),
        (json!({ "name": "a\u{7}" }), "name"),
        (json!({ "name": "a", "balance_micros": 5 }), "balance_micros"),
    ] {
        assert_eq!(said(&office.post("/members", &body)), wrong(param), "{body}");
    }
    let top_ups = format!("/members/{member}/top-ups");
    for (body, param) in [
        (json!({ "amount_micros": 1.5, "reason": "a" }), "amount_micros"),
        (json!({ "amount_micros": "1", "reason": "a" }), "amount_micros"),
        (json!({ "amount_micros": 0, "reason": "a" }), "amount_micros"),
        (json!({ "amount_micros": -1, "reason": "a" }), "amount_micros"),
        (json!({ "amount_micros": 1_000_000_000_000_001_i64, "reason": "a" }), "amount_micros"),
        (json!({ "amount_micros": 1 }), "reason"),
        (json!({ "amount_micros": 1, "reason": "" }), "reason"),
    ] {
        assert_eq!(said(&office.post(&top_ups, &body)), wrong(param), "{body}");
    }
    for (body, param) in [
        (json!({ "scopes": ["flying"] }), "scopes[0]"),
        (json!({ "scopes": [] }), "scopes"),
        (json!({ "scopes": vec!["chat"; 9] }), "scopes"),
        (json!({ "models": [] }), "models"),
        (json!({ "models": ["a\u{7}"] }), "models"),
        (json!({ "expires_at": "soon" }), "expires_at"),
        (json!({ "requests_per_minute": -1 }), "requests_per_minute"),
        (json!({ "spend_limit_micros": -1 }), "spend_limit_micros"),
        (json!({ "secret": "mine" }), "secret"),
    ] {
        assert_eq!(said(&office.patch(&format!("/keys/{key}"), &body)), wrong(param), "{body}");
        assert_eq!(
            said(&office.post(&format!("/members/{member}/keys"), &body)),
            wrong(param),
            "{body}"
        );
    }
    for (path, param) in [
        ("/members?limit=0", "limit"),
        ("/members?limit=201", "limit"),
        ("/members?after=5", "after"),
        ("/members?page=2", "page"),
        ("/audit?before=x", "before"),
        ("/audit?after=1", "after"),
    ] {
        assert_eq!(said(&office.get(path)), wrong(param), "{path}");
    }
}

#[test]
fn unknown_ids_return_404() {
    let office = AdminFixture::open();
    let missing = (404, "not_found".to_owned());
    let no_request = "/receipts/req_00000000000000000000000000000000";
    for path in ["/members/mem_9", "/members/9", "/members/mem_9/statement", "/members/mem_9/keys"]
        .into_iter()
        .chain(["/keys/nothing", "/keys/%00", "/keys/%FF", "/receipts/x", no_request, "/unknown"])
    {
        assert_eq!(office.get(path).failure(), missing, "{path}");
    }
    let paid = json!({ "amount_micros": 1, "reason": "paid" });
    assert_eq!(office.post("/members/mem_9/top-ups", &paid).failure(), missing);
    assert_eq!(office.post("/members/mem_9/adjustments", &paid).failure(), missing);
    assert_eq!(office.post("/members/mem_9/keys", &json!({})).failure(), missing);
    assert_eq!(office.post("/keys/nothing/rotate", &json!({})).failure(), missing);
    assert_eq!(office.post("/keys/nothing/revoke", &json!({})).failure(), missing);
    assert_eq!(office.patch("/keys/nothing", &json!({})).failure(), missing);
    assert_eq!(office.patch("/members/mem_9", &json!({})).failure(), missing);
}

#[test]
fn transfers_need_a_reason_and_never_overdraw() {
    let office = AdminFixture::open();
    let (member, _, _) = office.member_with_key("ada");
    let adjust = |amount: i64| {
        let body = json!({ "amount_micros": amount, "reason": "a mistake of ours" });
        office.post(&format!("/members/{member}/adjustments"), &body)
    };
    let posting = adjust(-PRICE);
    assert_eq!(posting.status, 201);
    assert_eq!(posting.json()["balance_micros"], 9 * PRICE);
    assert_eq!(adjust(-10 * PRICE).failure(), (409, "conflict".to_owned()));
    assert_eq!(said(&adjust(0)), wrong("amount_micros"));
    let shown = office.get(&format!("/members/{member}")).good();
    assert_eq!(shown["available_micros"], 9 * PRICE);

    let statement = office.get(&format!("/members/{member}/statement?limit=1")).good();
    let line = &statement["data"][0];
    assert_eq!((&line["kind"], &line["amount_micros"]), (&json!("adjustment"), &json!(-PRICE)));
    assert_eq!(
        (&line["reason"], &statement["has_more"]),
        (&json!("a mistake of ours"), &json!(true))
    );
    let path = format!("/members/{member}/statement?before={}", line["id"]);
    let rest = office.get(&path).good();
    assert_eq!((&rest["data"][0]["kind"], &rest["has_more"]), (&json!("top_up"), &json!(false)));
    let check = office.get("/ledger/check").good();
    assert_eq!((&check["ok"], &check["sum_micros"]), (&json!(true), &json!(0)));
    assert_eq!(check["members_total_micros"], 9 * PRICE);
}

#[test]
fn a_transfer_with_a_reference_is_executed_once() {
    let office = AdminFixture::open();
    let (member, _, _) = office.member_with_key("ada");
    let top_ups = format!("/members/{member}/top-ups");
    let adjustments = format!("/members/{member}/adjustments");
    let body = |amount: i64, reason: &str| {
        let reference = "invoice 17";
        json!({ "amount_micros": amount, "reason": reason, "reference": reference })
    };
    let first = office.post(&top_ups, &body(PRICE, "paid"));
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, ""));
    assert_eq!(first.json()["reference"], "invoice 17");
    for _ in 0..2 {
        let again = office.post(&top_ups, &body(PRICE, "paid"));
        assert_eq!((again.status, again.header("idempotent-replayed")), (200, "true"));
        assert_eq!(again.text(), first.text());
    }
    for (path, amount, reason, differing) in [
        (&top_ups, PRICE + 1, "paid", "with another amount;"),
        (&top_ups, PRICE, "paid late", "with another reason;"),
        (&adjustments, -PRICE, "paid", "with another kind and another amount;"),
    ] {
        let refused = office.post(path, &body(amount, reason));
        assert_eq!(refused.failure(), (409, "conflict".to_owned()));
        assert_eq!(refused.json()["error"]["param"], "reference");
        assert!(refused.text().contains(differing), "{}", refused.text());
    }
    let shown = office.get(&format!("/members/{member}")).good();
    assert_eq!(shown["balance_micros"], 11 * PRICE);
    let statement = office.get(&format!("/members/{member}/statement")).good();
    assert_eq!(statement["data"].as_array().unwrap().len(), 2);
    assert_eq!(statement["data"][0]["reference"], "invoice 17");
    for reference in [json!(""), json!("x".repeat(201)), json!("a\u{7}"), json!(5)] {
        let body = json!({ "amount_micros": 1, "reason": "a", "reference": reference });
        assert_eq!(said(&office.post(&top_ups, &body)), wrong("reference"), "{body}");
    }
    let most = json!({ "amount_micros": 1, "reason": "a", "reference": "x".repeat(200) });
    assert_eq!(office.post(&top_ups, &most).status, 201);
    assert_eq!(office.get("/ledger/check").good()["ok"], true);
}

#[test]
fn concurrent_patches_of_a_key_are_all_applied() {
    let office = AdminFixture::open();
    let (_, id, _) = office.member_with_key("ada");
    let path = format!("/keys/{id}");
    let bearer = format!("Bearer {ADMIN_TOKEN}");
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    for round in 1..=10 {
        let patches = [
            ("spend_limit_micros", json!(round)),
            ("requests_per_minute", json!(round + 1)),
            ("concurrency", json!(round + 2)),
            ("name", json!(format!("round {round}"))),
        ];
        // All are sent before any answer is read.
        let sent: Vec<Raw> = patches
            .iter()
            .map(|(field, value)| {
                let body = json!({ *field: value }).to_string();
                let mut raw = Raw::open(office.service.address);
                raw.send(&request("PATCH", &format!("/admin/v1{path}"), &headers, &body));
                raw
            })
            .collect();
        for mut raw in sent {
            assert_eq!(raw.head().status, 200);
        }
        let shown = office.get(&path).good();
        for (field, value) in &patches {
            assert_eq!(&shown[*field], value, "{field}");
        }
    }
}

#[test]
fn a_top_up_beyond_the_maximum_balance_is_rejected() {
    let office = AdminFixture::open();
    let (member, _, _) = office.member_with_key("ada");
    let most = json!({ "amount_micros": 1_000_000_000_000_000_i64, "reason": "much" });
    let path = format!("/members/{member}/top-ups");
    let statuses: Vec<u16> = (0..10).map(|_| office.post(&path, &most).status).collect();
    assert_eq!(statuses, [[201; 9].as_slice(), &[409]].concat());
    assert_eq!(office.get("/ledger/check").good()["ok"], true);
}

#[test]
fn a_key_is_shown_once_and_changes_apply_immediately() {
    let office = AdminFixture::open();
    let (member, id, key) = office.member_with_key("ada");
    assert_eq!(office.chat(&key).status, 200);
    let shown = office.get(&format!("/keys/{id}"));
    assert!(!shown.text().contains(&key[20..]), "the secret is not in {}", shown.text());
    assert_eq!(shown.good()["spent_micros"], PRICE);

    let changed = office.patch(&format!("/keys/{id}"), &json!({ "scopes": ["models"] })).good();
    assert_eq!(changed["scopes"], json!(["models"]));
    assert_eq!(office.chat(&key).failure(), (403, "scope_missing".to_owned()));
    let limits = json!({ "scopes": ["chat"], "models": ["up/other"], "concurrency": 1 });
    office.patch(&format!("/keys/{id}"), &limits).good();
    assert_eq!(office.chat(&key).failure(), (403, "model_not_allowed".to_owned()));
    let spent = json!({ "models": null, "spend_limit_micros": PRICE, "name": "spent" });
    let changed = office.patch(&format!("/keys/{id}"), &spent).good();
    assert_eq!((&changed["concurrency"], &changed["name"]), (&json!(1), &json!("spent")));
    assert_eq!(office.chat(&key).failure(), (402, "key_limit_reached".to_owned()));
    let over = json!({ "spend_limit_micros": null, "expires_at": "2001-01-01T00:00:00Z" });
    office.patch(&format!("/keys/{id}"), &over).good();
    assert_eq!(office.chat(&key).failure(), (401, "invalid_key".to_owned()));
    office.patch(&format!("/keys/{id}"), &json!({ "expires_at": null })).good();
    assert_eq!(office.chat(&key).status, 200);

    office.post(&format!("/members/{member}/keys"), &json!({ "name": "second" })).good();
    let first = office.get(&format!("/members/{member}/keys?limit=1")).good();
    assert_eq!((&first["data"][0]["id"], &first["has_more"]), (&json!(id), &json!(true)));
    let rest = office.get(&format!("/members/{member}/keys?after={id}")).good();
    assert_eq!(rest["data"][0]["name"], "second");
    let unknown = office.get(&format!("/members/{member}/keys?after=nothing"));
    assert_eq!(unknown.failure(), (404, "not_found".to_owned()));
}

#[test]
fn a_rotated_key_keeps_its_spend_and_the_old_one_expires() {
    let office = AdminFixture::open();
    let (_, id, old) = office.member_with_key("ada");
    assert_eq!(office.chat(&old).status, 200);
    let overlapping = json!({ "overlap_seconds": 3600 });
    let second = office.post(&format!("/keys/{id}/rotate"), &overlapping);
    assert_eq!((second.status, second.header("cache-control")), (201, "no-store"));
    let second = second.json();
    assert_eq!(second["spent_micros"], PRICE);
    let (second_id, second) = (second["id"].as_str().unwrap(), second["key"].as_str().unwrap());
    assert_eq!((office.chat(&old).status, office.chat(second).status), (200, 200));
    // An empty body is as good as an empty object.
    let path = format!("/admin/v1/keys/{second_id}/rotate");
    let third = office.service.send(Method::POST, &path, Some(ADMIN_TOKEN), None).good();
    assert_eq!(office.chat(second).status, 401);
    assert_eq!(office.chat(third["key"].as_str().unwrap()).status, 200);
    let again = office.post(&format!("/keys/{second_id}/rotate"), &json!({}));
    assert_eq!(again.failure(), (409, "conflict".to_owned()));
    let too_long = json!({ "overlap_seconds": 2_592_001 });
    let answer = office.post(&format!("/keys/{id}/rotate"), &too_long);
    assert_eq!(said(&answer), wrong("overlap_seconds"));
}

#[test]
fn revoking_and_blocking_apply_immediately() {
    let office = AdminFixture::open();
    let (member, id, key) = office.member_with_key("ada");
    assert_eq!(office.chat(&key).status, 200);
    office.patch(&format!("/members/{member}"), &json!({ "blocked": true })).good();
    assert_eq!(office.chat(&key).failure(), (403, "member_blocked".to_owned()));
    let unblocked =
        office.patch(&format!("/members/{member}"), &json!({ "blocked": false })).good();
    assert_eq!(unblocked["blocked"], false);
    assert_eq!(office.chat(&key).status, 200);
    let revoked = office.post(&format!("/keys/{id}/revoke"), &json!({})).good();
    assert!(revoked["revoked_at"].is_string());
    assert_eq!(office.chat(&key).failure(), (401, "invalid_key".to_owned()));
    assert_eq!(office.post(&format!("/keys/{id}/revoke"), &json!({})).good(), revoked);
    let rotated = office.post(&format!("/keys/{id}/rotate"), &json!({}));
    assert_eq!(rotated.failure(), (409, "conflict".to_owned()));
}

#[test]
fn every_change_is_audited_with_actor_and_request() {
    let office = AdminFixture::open();
    let (member, id, _) = office.member_with_key("ada");
    let correction = json!({ "amount_micros": -1, "reason": "a mistake" });
    office.post(&format!("/members/{member}/adjustments"), &correction).good();
    let both = json!({ "name": "eve", "blocked": true });
    office.patch(&format!("/members/{member}"), &both).good();
    // What is so already is no change.
    office.patch(&format!("/members/{member}"), &both).good();
    office.patch(&format!("/members/{member}"), &json!({ "blocked": false })).good();
    office.patch(&format!("/keys/{id}"), &json!({})).good();
    office.patch(&format!("/keys/{id}"), &json!({ "name": "new" })).good();
    office.post(&format!("/keys/{id}/rotate"), &json!({ "overlap_seconds": 60 })).good();
    let last = office.post(&format!("/keys/{id}/revoke"), &json!({}));
    let mut actions = office.actions();
    actions.reverse();
    assert_eq!(
        actions,
        [
            "member.create", "ledger.top_up", "key.create", "ledger.adjustment", "member.rename",
            "member.block", "member.unblock", "key.change", "key.rotate", "key.revoke",
        ]
    );
    let newest = office.get("/audit?limit=1").good();
    let entry = &newest["data"][0];
    assert_eq!((&entry["actor"], &entry["subject"]), (&json!("admin-api:127.0.0.1"), &json!(id)));
    assert_eq!(entry["request"], last.header("x-request-id"));
    let older = office.get(&format!("/audit?limit=1&before={}", entry["id"])).good();
    assert_eq!(older["data"][0]["action"], "key.rotate");
    assert_eq!(older["has_more"], true);
}

#[test]
fn receipts_of_all_members_can_be_looked_up() {
    let office = AdminFixture::open();
    let (member, _, key) = office.member_with_key("ada");
    let answer = office.chat(&key);
    let receipt = office.get(&format!("/receipts/{}", answer.header("x-receipt-id"))).good();
    assert_eq!((&receipt["member"], &receipt["charge_micros"]), (&json!(member), &json!(PRICE)));
    assert_eq!(receipt["outcome"], "settled");
}

#[test]
fn providers_are_listed_without_url_and_key() {
    let upstream = Upstream::start();
    let aliases = "models:\n  best: [up/echo, up/drip-3-1]\n";
    let service = Running::start(&plain(&upstream, &["echo", "drip-3-1"], aliases));
    let answer = service.get("/admin/v1/providers", ADMIN_TOKEN);
    let provider = &answer.good()["data"][0];
    assert_eq!((&provider["id"], &provider["usable"]), (&json!("up"), &json!(true)));
    assert_eq!(provider["models"], json!(["up/drip-3-1", "up/echo"]));
    let port = upstream.origin().rsplit(':').next().unwrap().to_owned();
    assert!(!answer.text().contains(upstream.key()) && !answer.text().contains(&port));
    let models = service.get("/admin/v1/models", ADMIN_TOKEN).good();
    let best = &models["data"][0];
    assert_eq!((&best["id"], &best["chat_price_micros"]), (&json!("best"), &json!(PRICE)));
    assert_eq!(best["targets"][0], json!([{ "model": "up/echo", "weight": 1 }]));
}
