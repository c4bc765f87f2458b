//! What keys may do: rates, concurrency, spending, time, scopes, models; and blocked members.

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use gateway_store::{Actor, MemberChange, Scope};
use ledger::{Limits, Micros, Time};
use serde_json::json;

use crate::fixture::{chat, paid, response, service};
use crate::raw::Raw;
use crate::support::{Answer, PRICE};

const CHAT: &str = "/v1/chat/completions";

fn by() -> Actor {
    Actor { name: "test".to_owned(), request: None }
}

/// Seconds that were so many a moment ago.
fn check_seconds(found: &str, expected: u64) {
    let found: u64 = found.parse().unwrap();
    assert!((expected - 10..=expected).contains(&found), "{found} instead of {expected}");
}

fn check_rate(answer: &Answer, remaining: u32, seconds: u64) {
    assert_eq!(answer.header("x-ratelimit-limit-requests"), "3");
    assert_eq!(answer.header("x-ratelimit-remaining-requests"), remaining.to_string());
    let reset = answer.header("x-ratelimit-reset-requests").strip_suffix('s').unwrap();
    check_seconds(reset, seconds);
    assert_eq!(answer.header("ratelimit-policy"), "\"per-minute\";q=3;w=60");
    let expected = format!("\"per-minute\";r={remaining};t={reset}");
    assert_eq!(answer.header("ratelimit"), expected);
}

#[test]
fn the_rate_limit_of_a_key_is_enforced_and_reported() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let key = service.key(ada.member, Limits { requests_per_minute: Some(3), ..Limits::default() });
    check_rate(&service.post(CHAT, key.as_str(), &chat("x")), 2, 20);
    check_rate(&service.get("/v1/models", key.as_str()), 1, 40);
    // One that fails counts too, and says so.
    let third = service.post(CHAT, key.as_str(), &chat("[[status-500]]"));
    assert_eq!(third.status, 503);
    check_rate(&third, 0, 60);
    for path in ["/v1/me", "/v1/models", "/v1/models/up/echo"] {
        let refused = service.get(path, key.as_str());
        assert_eq!(refused.failure(), (429, "rate_limited".to_owned()), "{path}");
        check_rate(&refused, 0, 60);
        check_seconds(refused.header("retry-after"), 20);
    }
    assert_eq!(service.post(CHAT, key.as_str(), &chat("x")).status, 429);
    // Another key of the member is not held back.
    assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 200);
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn the_concurrency_limit_of_a_key_is_enforced() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let key = service.key(ada.member, Limits { concurrency: Some(2), ..Limits::default() });
    let mut running =
        [(); 2].map(|()| Raw::post(service.address, CHAT, key.as_str(), &chat("[[gate]]")));
    eventually("both run", || upstream.in_flight() == 2);
    for (path, body) in [(CHAT, chat("x")), ("/v1/responses", response("x"))] {
        let refused = service.post(path, key.as_str(), &body);
        assert_eq!(refused.failure(), (429, "rate_limited".to_owned()));
        assert_eq!(refused.header("retry-after"), "1");
    }
    // What costs no upstream is not held back.
    assert_eq!(service.get("/v1/models", key.as_str()).status, 200);
    upstream.open_gate();
    assert!(running.iter_mut().all(|raw| raw.head().status == 200));
    assert_eq!(service.post(CHAT, key.as_str(), &chat("x")).status, 200);
    assert_eq!(paid(&service, &ada), 3 * PRICE);
}

#[test]
fn the_spend_limit_of_a_key_is_enforced() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let spend = Some(Micros::new(2 * PRICE + 1));
    let key = service.key(ada.member, Limits { spend, ..Limits::default() });
    assert_eq!(service.post(CHAT, key.as_str(), &chat("x")).status, 200);
    assert_eq!(service.post(CHAT, key.as_str(), &chat("[[status-500]]")).status, 503);
    assert_eq!(service.post("/v1/responses", key.as_str(), &response("x")).status, 200);
    let refused = service.post(CHAT, key.as_str(), &chat("x"));
    assert_eq!(refused.failure(), (402, "key_limit_reached".to_owned()));
    let error = &refused.json()["error"];
    assert_eq!((&error["needed_micros"], &error["available_micros"]), (&json!(PRICE), &json!(1)));
    let me = service.get("/v1/me", key.as_str()).good();
    assert_eq!(me["key"]["spent_micros"], 2 * PRICE);
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn expired_and_revoked_keys_are_rejected() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let expired = service.key_with(ada.member, |key| key.expires_at = Some(Time::from_micros(1)));
    assert_eq!(service.get("/v1/models", expired.as_str()).failure(), (401, "invalid_key".into()));
    assert_eq!(service.get("/v1/models", ada.key.as_str()).status, 200);
    let (store, id) = (service.store.clone(), ada.key.public_id().to_owned());
    service.wait(async move { store.revoke_key(&id, &by()).await.unwrap() });
    // Another process revoked it, so that it takes a moment.
    eventually("it is known", || service.get("/v1/models", ada.key.as_str()).status == 401);
    assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 401);
    assert_eq!(upstream.completions().len(), 0);
}

#[test]
fn a_key_is_limited_to_its_scopes_and_models() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let scopes = [
        (Scope::Models, "/v1/models", None),
        (Scope::Chat, CHAT, Some(chat("x"))),
        (Scope::Responses, "/v1/responses", Some(response("x"))),
    ];
    for (scope, ..) in &scopes {
        let key = service.key_with(ada.member, |key| key.scopes = vec![*scope]);
        for (other, path, body) in &scopes {
            let answer = match body {
                Some(body) => service.post(path, key.as_str(), body),
                None => service.get(path, key.as_str()),
            };
            if other == scope {
                assert_eq!(answer.status, 200);
            } else {
                assert_eq!(answer.failure(), (403, "scope_missing".to_owned()));
                assert_eq!(answer.header("x-should-retry"), "false");
            }
        }
        assert_eq!(service.get("/v1/me", key.as_str()).status, 200);
    }
    let key = service.key_with(ada.member, |key| key.models = Some(vec!["up/other".to_owned()]));
    for (path, body) in [(CHAT, chat("x")), ("/v1/responses", response("x"))] {
        let refused = service.post(path, key.as_str(), &body);
        assert_eq!(refused.failure(), (403, "model_not_allowed".to_owned()));
    }
    assert_eq!(service.get("/v1/models", key.as_str()).good()["data"], json!([]));
    assert_eq!(service.get("/v1/models/up/echo", key.as_str()).status, 404);
    assert_eq!(paid(&service, &ada), 2 * PRICE);
}

#[test]
fn requests_of_a_blocked_member_are_rejected() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let block = |blocked: bool| {
        let (store, member) = (service.store.clone(), ada.member);
        let change = if blocked { MemberChange::Block } else { MemberChange::Unblock };
        service.wait(async move { store.change_member(member, &change, &by()).await.unwrap() });
    };
    block(true);
    for _ in 0..2 {
        let refused = service.post(CHAT, ada.key.as_str(), &chat("x"));
        assert_eq!(refused.failure(), (403, "member_blocked".to_owned()));
    }
    assert_eq!(
        service.get("/v1/me", ada.key.as_str()).failure(),
        (403, "member_blocked".to_owned())
    );
    assert_eq!(upstream.completions().len(), 0);
    block(false);
    eventually("it is known", || service.post(CHAT, ada.key.as_str(), &chat("x")).status == 200);
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn members_cannot_access_data_of_others() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bob = service.holder("bob", 10 * PRICE);
    let answer = service.post("/v1/responses", ada.key.as_str(), &response("mine"));
    let (id, receipt) =
        (answer.good()["id"].as_str().unwrap().to_owned(), answer.header("x-receipt-id"));
    for path in [
        format!("/v1/responses/{id}"),
        format!("/v1/responses/{id}/input_items"),
        format!("/v1/requests/{receipt}"),
    ] {
        assert_eq!(service.get(&path, ada.key.as_str()).status, 200, "{path}");
        assert_eq!(
            service.get(&path, bob.key.as_str()).failure(),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
    let path = format!("/v1/responses/{id}");
    let deleted = service.send(http::Method::DELETE, &path, Some(bob.key.as_str()), None);
    assert_eq!(deleted.status, 404);
    let mut next = response("and on");
    next["previous_response_id"] = id.as_str().into();
    assert_eq!(service.post("/v1/responses", bob.key.as_str(), &next).status, 400);
    assert_eq!(service.post("/v1/responses", ada.key.as_str(), &next).status, 200);
}
