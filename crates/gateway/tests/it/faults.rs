//! Every way in which an upstream can fail, whole and streamed, by each interface: nothing is
//! charged, the receipt says why, and nothing of the upstream shows.

use agent_test_support::upstream::{ResponsesApi, Upstream};
use agent_test_support::wait::eventually;
use serde_json::{Value, json};

use crate::fixture::{paid, receipt, with_one};
use crate::raw::{Raw, events};
use crate::support::{Holder, PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const UNAVAILABLE: &str = "no provider of this model responded; nothing was charged";

/// Faults that show before anything was said, as a stream or whole.
const BEFORE: &[&str] = &[
    "cut-before-first", "cut-after-head", "cut-after-0", "reset", "status-401", "status-402",
    "status-403", "status-404", "status-408", "status-429", "status-500", "status-502",
    "status-503", "status-529", "html-error", "hang",
];
/// Faults in the middle of an answer.
const AMID: &[&str] =
    &["cut-mid-event", "reset-mid", "malformed-json", "malformed-sse", "error-event", "hang-mid"];
/// Requests that the upstream says are wrong.
const REFUSED: &[&str] = &["status-400", "status-413", "status-422"];

struct Setup {
    upstream: Upstream,
    service: Running,
    ada: Holder,
    path: &'static str,
}

fn setup(kind: &str, path: &'static str) -> Setup {
    world_with(&format!("{kind}, timeout: {{connect: 1, first_byte: 1, idle: 1}}"), path)
}

fn world_with(kind: &str, path: &'static str) -> Setup {
    let upstream = Upstream::start();
    let provider = format!("kind: {kind}, models: [echo], health: false");
    let limits = "limits: {max_answer_bytes: 1048576}\n";
    let service = Running::start(&with_one(&upstream, &provider, limits));
    let ada = service.holder("ada", 1000 * PRICE);
    Setup { upstream, service, ada, path }
}

/// What came back.
struct Came {
    status: u16,
    body: String,
    id: String,
    charge: String,
}

impl Setup {
    fn ask(&self, step: &str, is_streamed: bool) -> Came {
        let text = format!("[[{step}]] one two three");
        let mut body = json!({"model": "up/echo", "stream": is_streamed});
        match self.path {
            RESPONSES => body["input"] = text.into(),
            _ => body["messages"] = json!([{"role": "user", "content": text}]),
        }
        let key = self.ada.key.as_str();
        let mut raw = Raw::post(self.service.address, self.path, key, &body);
        let head = raw.head();
        let came = Came {
            status: head.status,
            body: raw.body(),
            id: head.header("x-receipt-id").to_owned(),
            charge: head.header("x-charge-micros").to_owned(),
        };
        self.check_secrets(step, &format!("{head:?} {}", came.body));
        assert_eq!(head.header("x-request-id"), came.id, "{step}");
        came
    }

    fn check_secrets(&self, step: &str, answer: &str) {
        let address = self.upstream.origin().replace("http://", "");
        let port = format!(":{}", address.split(':').nth(1).unwrap());
        let words =
            [self.upstream.key(), &address, &port, "org-upstream", "req_upstream", "/internal"];
        for secret in words {
            assert!(!answer.contains(secret), "{step} tells {secret}: {answer}");
        }
    }

    fn check_receipt(&self, step: &str, came: &Came, expected: (&str, i64)) {
        let (rule, charge) = receipt(&self.service, &self.ada, &came.id);
        assert_eq!((rule.as_str(), charge), expected, "{step}");
    }

    /// A failure with a status.
    fn check_status(&self, step: &str, came: &Came, expected: &Value, rule: &str) {
        let mut body: Value = serde_json::from_str(&came.body).unwrap();
        assert_eq!(body["error"]["request_id"], came.id.as_str(), "{step}");
        body["error"].as_object_mut().unwrap().remove("request_id");
        assert_eq!((came.status, &body["error"]), (status_of(expected), expected), "{step}");
        assert_eq!(came.charge, "0", "{step}");
        self.check_receipt(step, came, (rule, 0));
    }

    /// A failure in the last event of the stream.
    fn check_stream(&self, step: &str, came: &Came) {
        assert_eq!(came.status, 200, "{step}: {}", came.body);
        let events = events(&came.body);
        let last = events.last().unwrap();
        assert_eq!(events.iter().filter(|event| !is_fine(event)).count(), 1, "{step}: {events:?}");
        let message = if self.path == RESPONSES {
            assert_eq!(last["type"], "response.failed", "{step}");
            assert_eq!(last["response"]["status"], "failed", "{step}");
            let numbers: Vec<i64> =
                events.iter().map(|event| event["sequence_number"].as_i64().unwrap()).collect();
            assert!(numbers.iter().copied().eq(0..i64::try_from(numbers.len()).unwrap()), "{step}");
            &last["response"]["error"]["message"]
        } else {
            let error = last["error"].as_object().unwrap();
            let keys: Vec<&str> = error.keys().map(String::as_str).collect();
            assert_eq!(keys, ["code", "message", "param", "request_id", "type"], "{step}");
            assert_eq!(error["code"], "upstream_unavailable", "{step}");
            assert_eq!(error["request_id"], came.id.as_str(), "{step}");
            &last["error"]["message"]
        };
        let message = message.as_str().unwrap();
        assert!(message.starts_with("the provider's stream failed: "), "{step}: {message}");
        assert!(message.ends_with("; nothing was charged"), "{step}: {message}");
        self.check_receipt(step, came, ("upstream_failed", 0));
    }

    fn check_all(&self) {
        let unavailable = json!({"message": UNAVAILABLE, "type": "server_error", "param": null,
            "code": "upstream_unavailable"});
        for step in BEFORE.iter().chain(AMID).chain(&["cut-after-1", "endless", "huge-2"]) {
            let came = self.ask(step, false);
            self.check_status(step, &came, &unavailable, "upstream_failed");
        }
        for step in BEFORE {
            let came = self.ask(step, true);
            self.check_status(step, &came, &unavailable, "upstream_failed");
        }
        for step in AMID.iter().chain(&["no-done", "cut-after-3"]) {
            self.check_stream(step, &self.ask(step, true));
        }
        for (step, is_streamed) in REFUSED.iter().flat_map(|step| [(step, false), (step, true)]) {
            let status = step.strip_prefix("status-").unwrap();
            let message = format!(
                "the provider rejected the request: scripted {status}: `messages` is not liked at \
                 *** with key ***"
            );
            let refused = json!({"message": message, "type": "invalid_request_error",
                "param": null, "code": "invalid_request"});
            let came = self.ask(step, is_streamed);
            self.check_status(step, &came, &refused, "request_refused");
        }
        for is_streamed in [false, true] {
            let came = self.ask("empty", is_streamed);
            assert_eq!(came.status, 200);
            self.check_receipt("empty", &came, ("empty_answer", 0));
        }
        assert_eq!(paid(&self.service, &self.ada), 0);
        for (step, is_streamed) in ["shatter", "no-usage", "lies-usage"]
            .iter()
            .flat_map(|step| [(step, false), (step, true)])
        {
            let came = self.ask(step, is_streamed);
            let charge = if is_streamed { "" } else { "1000" };
            assert_eq!((came.status, came.charge.as_str()), (200, charge), "{step}");
            assert!(came.body.contains("three"), "{step}: {}", came.body);
            self.check_receipt(step, &came, ("answered", PRICE));
        }
        assert_eq!(paid(&self.service, &self.ada), 6 * PRICE);
    }
}

fn status_of(error: &Value) -> u16 {
    if error["code"] == "invalid_request" { 400 } else { 503 }
}

fn is_fine(event: &Value) -> bool {
    event.get("error").is_none_or(Value::is_null)
        && !matches!(event["type"].as_str(), Some("response.failed" | "error"))
}

#[test]
fn a_chat_is_refunded_for_every_upstream_failure() {
    let setup = setup("openai", CHAT);
    setup.check_all();
    // One upstream, one attempt.
    let asked = setup.upstream.completions().len();
    assert_eq!(asked, 2 * (BEFORE.len() + AMID.len() + REFUSED.len()) + 13);
}

#[test]
fn a_chat_is_refunded_for_every_messages_api_failure() {
    setup("anthropic", CHAT).check_all();
}

#[test]
fn a_response_is_refunded_for_every_upstream_failure() {
    setup("openai, responses: native", RESPONSES).check_all();
}

#[test]
fn a_bridged_response_is_refunded_for_every_upstream_failure() {
    let setup = setup("openai", RESPONSES);
    setup.upstream.set_responses(ResponsesApi::Absent);
    setup.check_all();
}

#[test]
fn a_response_is_refunded_for_every_messages_api_failure() {
    setup("anthropic", RESPONSES).check_all();
}

#[test]
fn an_oversized_event_fails_the_stream() {
    let setup = world_with("openai", CHAT);
    setup.check_stream("huge-9", &setup.ask("huge-9", true));
}

#[test]
fn implausible_upstream_usage_is_ignored() {
    let setup = world_with("openai", CHAT);
    for (step, tokens) in [("echo", json!([4, 4])), ("lies-usage", json!([null, null]))] {
        let came = setup.ask(step, false);
        let path = format!("/v1/requests/{}", came.id);
        let receipt = setup.service.get(&path, setup.ada.key.as_str()).good();
        assert_eq!(json!([receipt["input_tokens"], receipt["output_tokens"]]), tokens, "{step}");
    }
}

#[test]
fn stream_ends_at_its_time_limit() {
    let upstream = Upstream::start();
    let provider = "kind: openai, models: [echo], health: false";
    let limits = "limits: {max_stream_seconds: 0.2}\n";
    let service = Running::start(&with_one(&upstream, provider, limits));
    let ada = service.holder("ada", 1000 * PRICE);
    let setup = Setup { upstream, service, ada, path: CHAT };
    for step in ["endless", "drip-1000-5"] {
        let came = setup.ask(step, true);
        let told = "it exceeded the time limit; the request is charged";
        assert!(came.body.contains(told), "{step}");
        setup.check_receipt(step, &came, ("stream_limit", PRICE));
    }
    // One that says nothing any more has failed, before the limit or at it.
    let came = setup.ask("hang-mid", true);
    setup.check_stream("hang-mid", &came);
    eventually("all are cancelled", || setup.upstream.cancelled().len() == 3);
    assert_eq!(paid(&setup.service, &setup.ada), 2 * PRICE);
}
