//! Every status of the service, with the body and the headers that were designed.

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use gateway_store::{Actor, MemberChange, Scope};
use http::{Method, Request};
use ledger::{Limits, Micros, Time};
use serde_json::{Value, json};

use crate::fixture::{chat, provider, response, with_providers};
use crate::raw::Raw;
use crate::support::{Answer, Holder, PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
const INVALID: &str = "invalid_request_error";

struct Setup {
    upstream: Upstream,
    service: Running,
    ada: Holder,
}

fn setup() -> Setup {
    let upstream = Upstream::start();
    let plain =
        "kind: openai, health: false, models: {echo: {}, talker: {capabilities: [responses]}}";
    let service = Running::start(&with_providers(
        &[provider("up", &upstream, plain)],
        "limits: {max_body_bytes: 1024}\n",
    ));
    let ada = service.holder("ada", 10 * PRICE);
    Setup { upstream, service, ada }
}

/// Fails unless the answer is this error and nothing but it.
#[track_caller]
fn check(answer: &Answer, status: u16, error: Value, headers: &[(&str, &str)]) {
    let mut error = error;
    error["request_id"] = answer.header("x-request-id").into();
    assert_eq!((answer.status, answer.json()), (status, json!({ "error": error })));
    let keys: Vec<String> = answer.json()["error"].as_object().unwrap().keys().cloned().collect();
    for key in ["message", "type", "param", "code"] {
        assert!(keys.iter().any(|found| found == key), "{key} is missing: {keys:?}");
    }
    assert!(answer.header("x-request-id").starts_with("req_"), "{:?}", answer.headers);
    assert_eq!(answer.header("content-type"), "application/json");
    for (name, value) in headers {
        assert_eq!(answer.header(name), *value, "{name}");
    }
    for name in ["www-authenticate", "retry-after", "x-should-retry", "x-charge-micros", "allow"] {
        let is_wanted = headers.iter().any(|(wanted, _)| *wanted == name);
        assert_eq!(answer.headers.contains_key(name), is_wanted, "{name}: {:?}", answer.headers);
    }
}

fn error(message: &str, kind: &str, param: Option<&str>, code: &str) -> Value {
    json!({"message": message, "type": kind, "param": param, "code": code})
}

fn post(setup: &Setup, path: &str, body: &str) -> Answer {
    let request = Request::post(path)
        .header("authorization", format!("Bearer {}", setup.ada.key.as_str()))
        .body(body.as_bytes().to_vec());
    setup.service.send_raw(request.unwrap())
}

#[test]
fn an_invalid_request_is_a_400_with_the_reason() {
    let setup = setup();
    let json_end = "the body is not valid JSON: EOF while parsing a value at line 1 column 9";
    check(
        &post(&setup, CHAT, "{\"model\":"),
        400,
        error(json_end, INVALID, None, "invalid_json"),
        &[],
    );
    let object = "the body must be a JSON object";
    check(&post(&setup, CHAT, "[]"), 400, error(object, INVALID, None, "invalid_request"), &[]);
    let messages = r#""messages":[{"role":"user","content":"x"}]"#;
    let wrong = [
        (CHAT, format!("{{{messages}}}"), "model", "`model` is missing"),
        (CHAT, format!(r#"{{"model":5,{messages}}}"#), "model", "`model` must be a string"),
        (CHAT, r#"{"model":"up/echo"}"#.to_owned(), "messages", "`messages` is missing"),
        (
            CHAT,
            r#"{"model":"up/echo","messages":{}}"#.to_owned(),
            "messages",
            "`messages` must be a list",
        ),
        (
            CHAT,
            r#"{"model":"up/echo","messages":[ ]}"#.to_owned(),
            "messages",
            "`messages` must not be empty",
        ),
        (
            CHAT,
            format!(r#"{{"model":"up/echo","stream":1,{messages}}}"#),
            "stream",
            "`stream` must be a boolean",
        ),
        ("/v1/responses", r#"{"model":"up/echo"}"#.to_owned(), "input", "`input` is missing"),
        (
            "/v1/responses",
            r#"{"model":"up/echo","input":5}"#.to_owned(),
            "input",
            "`input` must be a string or a list",
        ),
        (
            "/v1/responses",
            r#"{"model":"up/echo","input":"x","background":true,"store":false}"#.to_owned(),
            "store",
            "`background` requires `store`",
        ),
        (
            "/v1/responses",
            r#"{"model":"up/echo","input":"x","previous_response_id":"resp_none"}"#.to_owned(),
            "previous_response_id",
            "no response with the id `resp_none`",
        ),
    ];
    for (path, body, param, message) in wrong {
        let expected = error(message, INVALID, Some(param), "invalid_request");
        check(&post(&setup, path, &body), 400, expected, &[]);
    }
    let mut body = chat("x");
    body["model"] = "up/ecko".into();
    let message = "unknown model `up/ecko`; did you mean `up/echo`?";
    check(
        &post(&setup, CHAT, &body.to_string()),
        400,
        error(message, INVALID, Some("model"), "model_not_found"),
        &[],
    );
    body["model"] = "zzz".into();
    let message = "unknown model `zzz`; list models with GET /v1/models";
    check(
        &post(&setup, CHAT, &body.to_string()),
        400,
        error(message, INVALID, Some("model"), "model_not_found"),
        &[],
    );
    body["model"] = "up/talker".into();
    let message = "the model `up/talker` does not support chat";
    let expected = error(message, INVALID, Some("model"), "model_not_for_capability");
    check(&post(&setup, CHAT, &body.to_string()), 400, expected, &[]);
    assert_eq!(setup.upstream.completions().len(), 0);
    assert_eq!(setup.service.account(setup.ada.member).balance.get(), 10 * PRICE);
}

#[test]
fn every_invalid_key_returns_the_same_401() {
    let setup = setup();
    let message = "the key is missing, unknown, expired or revoked; \
        send `Authorization: Bearer <key>` with a key of this service";
    let expected = error(message, "authentication_error", None, "invalid_key");
    let expired =
        setup.service.key_with(setup.ada.member, |key| key.expires_at = Some(Time::from_micros(1)));
    let revoked = setup.service.key(setup.ada.member, Limits::default());
    let (store, id) = (setup.service.store.clone(), revoked.public_id().to_owned());
    let by = Actor { name: "test".to_owned(), request: None };
    setup.service.wait(async move { store.revoke_key(&id, &by).await.unwrap() });
    let own = setup.ada.key.as_str();
    let unknown = "agk_000000000000_0000000000000000000000000000000000000000";
    let cut = &own[..own.len() - 1];
    let keys = [
        None,
        Some(""),
        Some("nonsense"),
        Some(unknown),
        Some(cut),
        Some(expired.as_str()),
        Some(revoked.as_str()),
    ];
    for key in keys {
        for (method, path, body) in [
            (Method::GET, "/v1/models", None),
            (Method::GET, "/v1/me", None),
            (Method::POST, CHAT, Some(chat("x"))),
            (Method::POST, "/v1/responses", Some(response("x"))),
            (Method::GET, "/v1/responses/resp_x", None),
        ] {
            let answer = setup.service.send(method, path, key, body.as_ref());
            check(&answer, 401, expected.clone(), &[("www-authenticate", "Bearer")]);
        }
    }
}

#[test]
fn an_insufficient_balance_is_a_402_with_the_amounts() {
    let setup = setup();
    let poor = setup.service.holder("poor", PRICE - 1);
    let headers = [("x-should-retry", "false")];
    let message = "this request costs 0.001000 credits; 0.000999 are available";
    let mut expected = error(message, "payment_required", None, "insufficient_balance");
    expected["needed_micros"] = PRICE.into();
    expected["available_micros"] = (PRICE - 1).into();
    expected["scope"] = "member".into();
    for (path, body) in [(CHAT, chat("x")), ("/v1/responses", response("x"))] {
        check(&setup.service.post(path, poor.key.as_str(), &body), 402, expected.clone(), &headers);
    }
    let limits = Limits { spend: Some(Micros::new(1)), ..Limits::default() };
    let key = setup.service.key(setup.ada.member, limits);
    let message = "this request costs 0.001000 credits; the key can spend 0.000001 more";
    let mut expected = error(message, "payment_required", None, "key_limit_reached");
    expected["needed_micros"] = PRICE.into();
    expected["scope"] = "key".into();
    expected["available_micros"] = 1.into();
    check(&setup.service.post(CHAT, key.as_str(), &chat("x")), 402, expected, &headers);
    assert_eq!(setup.upstream.completions().len(), 0);
}

#[test]
fn a_forbidden_request_is_a_403_with_the_reason() {
    let setup = setup();
    let headers = [("x-should-retry", "false")];
    let lists = setup.service.key_with(setup.ada.member, |key| key.scopes = vec![Scope::Models]);
    let message = "this key lacks the scope `chat`";
    let expected = error(message, "permission_error", None, "scope_missing");
    check(&setup.service.post(CHAT, lists.as_str(), &chat("x")), 403, expected, &headers);
    let key = setup.service.key_with(setup.ada.member, |key| key.models = Some(Vec::new()));
    let message = "this key may not use the model `up/echo`";
    let expected = error(message, "permission_error", Some("model"), "model_not_allowed");
    check(&setup.service.post(CHAT, key.as_str(), &chat("x")), 403, expected, &headers);
    let (store, member) = (setup.service.store.clone(), setup.ada.member);
    let by = Actor { name: "test".to_owned(), request: None };
    let blocking = async move { store.change_member(member, &MemberChange::Block, &by).await };
    setup.service.wait(async { blocking.await.unwrap() });
    let message = "the operator of this service has blocked this member; contact the operator";
    let expected = error(message, "permission_error", None, "member_blocked");
    check(&setup.service.post(CHAT, setup.ada.key.as_str(), &chat("x")), 403, expected, &headers);
}

#[test]
fn unknown_paths_return_404_and_wrong_methods_405() {
    let setup = setup();
    let key = setup.ada.key.as_str();
    for path in ["/", "/v1", "/v1/nothing", "/v1/chat/completions/", "/v2/models", "//v1/models"] {
        let offered = if path.starts_with("/v1/") {
            "; known paths: /v1/chat/completions, /v1/completions, /v1/embeddings, \
             /v1/moderations, /v1/rerank, /v1/images/generations, /v1/images/edits, \
             /v1/audio/speech, /v1/audio/transcriptions, /v1/messages, /v1/messages/count_tokens, \
             /v1/responses, /v1/responses/compact, /v1/responses/input_tokens, /v1/media/run, \
             /v1/research/jobs, /v1/web/fetch, /v1/search"
        } else {
            ""
        };
        let message = format!("unknown path {path}{offered}; see /docs");
        let expected = error(&message, INVALID, None, "not_found");
        check(&setup.service.get(path, key), 404, expected, &[]);
    }
    let message = "no response with this id";
    check(
        &setup.service.get("/v1/responses/resp_x", key),
        404,
        error(message, INVALID, None, "not_found"),
        &[],
    );
    let message = "no such model, or this key may not use it";
    check(
        &setup.service.get("/v1/models/up/ecko", key),
        404,
        error(message, INVALID, None, "not_found"),
        &[],
    );
    let message = "no completed request with this id";
    check(
        &setup.service.get("/v1/requests/req_x", key),
        404,
        error(message, INVALID, None, "not_found"),
        &[],
    );
    let message = "method not allowed for this path; see /docs";
    let expected = error(message, INVALID, None, "method_not_allowed");
    for (method, path, allow) in [
        (Method::GET, CHAT, "POST"),
        (Method::PUT, "/v1/models", "GET,HEAD"),
        (Method::OPTIONS, "/v1/responses", "POST"),
        (Method::PATCH, "/v1/responses/resp_x", "GET,HEAD,DELETE"),
    ] {
        let answer = setup.service.send(method, path, Some(key), None);
        check(&answer, 405, expected.clone(), &[("allow", allow)]);
    }
}

#[test]
fn reused_idempotency_key_is_a_409_or_a_422() {
    let setup = setup();
    let bearer = format!("Bearer {}", setup.ada.key.as_str());
    let ask = |body: &Value| {
        let request =
            Request::post(CHAT).header("authorization", &bearer).header("idempotency-key", "word");
        setup.service.send_raw(request.body(body.to_string().into_bytes()).unwrap())
    };
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "word")];
    let mut running = Raw::post_with(setup.service.address, CHAT, &headers, &chat("[[gate]]"));
    eventually("it runs", || setup.upstream.in_flight() == 1);
    let message = "a request with this Idempotency-Key is still running; retry to get its response";
    let expected = error(message, "conflict_error", None, "idempotency_in_progress");
    check(&ask(&chat("[[gate]]")), 409, expected, &[("retry-after", "1")]);
    let message = "this Idempotency-Key was used for a different request";
    let expected = error(message, INVALID, None, "idempotency_mismatch");
    check(&ask(&chat("another")), 422, expected.clone(), &[("x-should-retry", "false")]);
    setup.upstream.open_gate();
    assert_eq!(running.head().status, 200);
    check(&ask(&chat("another")), 422, expected, &[("x-should-retry", "false")]);
}

#[test]
fn too_many_requests_are_a_429_with_retry_after() {
    let setup = setup();
    let limits = Limits { requests_per_minute: Some(1), concurrency: Some(1), ..Limits::default() };
    let key = setup.service.key(setup.ada.member, limits);
    assert_eq!(setup.service.get("/v1/me", key.as_str()).status, 200);
    let answer = setup.service.post(CHAT, key.as_str(), &chat("x"));
    let wait = answer.header("retry-after").to_owned();
    assert!((50..=60).contains(&wait.parse::<u32>().unwrap()), "{wait}");
    let expected = error(
        "this key is limited to 1 requests per minute",
        "rate_limit_error",
        None,
        "rate_limited",
    );
    check(&answer, 429, expected, &[("retry-after", &wait)]);
    assert_eq!(answer.header("x-ratelimit-remaining-requests"), "0");

    let key =
        setup.service.key(setup.ada.member, Limits { concurrency: Some(1), ..Limits::default() });
    let _running = Raw::post(setup.service.address, CHAT, key.as_str(), &chat("[[gate]]"));
    eventually("it runs", || setup.upstream.in_flight() == 1);
    let message = "this key is limited to 1 concurrent requests";
    let expected = error(message, "rate_limit_error", None, "rate_limited");
    check(
        &setup.service.post(CHAT, key.as_str(), &chat("x")),
        429,
        expected,
        &[("retry-after", "1")],
    );
}

#[test]
fn an_upstream_failure_is_a_free_503() {
    let setup = setup();
    let message = "no provider of this model responded; nothing was charged";
    let expected = error(message, "server_error", None, "upstream_unavailable");
    for (step, wait) in [("status-500", "2"), ("status-429", "1")] {
        for body in
            [chat(&format!("[[{step}]]")), crate::fixture::chat_stream(&format!("[[{step}]]"))]
        {
            let answer = setup.service.post(CHAT, setup.ada.key.as_str(), &body);
            check(
                &answer,
                503,
                expected.clone(),
                &[("retry-after", wait), ("x-charge-micros", "0")],
            );
            assert_eq!(answer.header("x-receipt-id"), answer.header("x-request-id"));
        }
    }
    assert_eq!(setup.service.account(setup.ada.member).balance.get(), 10 * PRICE);
}

#[test]
fn a_client_gets_its_error_after_sending_a_large_body() {
    let setup = setup();
    let expected = error("the body exceeds 1024 bytes", INVALID, None, "body_too_large");
    let lists = setup.service.key_with(setup.ada.member, |key| key.scopes = vec![Scope::Models]);
    for length in [2000, 10_000_000] {
        let mut body = chat("x");
        body["padding"] = "x".repeat(length).into();
        check(&post(&setup, CHAT, &body.to_string()), 413, expected.clone(), &[]);
        for path in [CHAT, "/v1/responses"] {
            assert_eq!(setup.service.post(path, "nonsense", &body).status, 401);
            assert_eq!(setup.service.post(path, lists.as_str(), &body).status, 403);
        }
    }
    // In chunks, whose length is not known before.
    let bearer = format!("Bearer {}", setup.ada.key.as_str());
    let mut raw = Raw::open(setup.service.address);
    raw.send(&format!(
        "POST {CHAT} HTTP/1.1\r\nhost: here\r\nauthorization: {bearer}\r\n\
         transfer-encoding: chunked\r\n\r\n"
    ));
    let block = format!("10000\r\n{}\r\n", "x".repeat(65536));
    for _ in 0..200 {
        raw.send(&block);
    }
    raw.send("0\r\n\r\n");
    assert_eq!(raw.head().status, 413);
}
