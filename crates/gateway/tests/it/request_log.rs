//! The log line of every request, and the figures by model.

use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use http::Method;
use serde_json::json;

use crate::captured_log::log;
use crate::fixture::{chat, chat_stream, message, message_stream, response, service};
use crate::raw::Raw;
use crate::support::{Answer, Running};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

/// The line of a request, once it is written.
fn line(id: &str) -> String {
    let log = log();
    let mark = format!("request={id} ");
    let mut found = Vec::new();
    eventually("the line is written", || {
        found = log.lines_with(&mark);
        found.retain(|line| line.contains("answered"));
        !found.is_empty()
    });
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[track_caller]
fn assert_has(line: &str, words: &[&str]) {
    for word in words {
        assert!(line.contains(&format!(" {word}")), "`{word}` is not in {line}");
    }
}

fn unknown(service: &Running, method: Method, path: &str) -> Answer {
    service.send(method, path, None, Some(&json!({})))
}

#[test]
fn log_line_has_the_caller_the_operation_and_the_charge() {
    log();
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let member = format!("member={}", ada.member);
    let key = format!("key=\"{}\"", ada.key.public_id());
    let paid = [
        (CHAT, "chat", chat("hello")),
        (CHAT, "chat", chat_stream("hello")),
        ("/v1/responses", "responses", response("hello")),
        (MESSAGES, "messages", message("hello")),
        (MESSAGES, "messages", message_stream("hello")),
    ];
    for (path, operation, body) in paid {
        let answer = service.post(path, ada.key.as_str(), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let line = line(answer.header("x-request-id"));
        let (route, operation) =
            (format!("route=\"{path}\""), format!("operation=\"{operation}\""));
        let path = format!("path=\"{path}\"");
        let words: &[&str] = &[
            "method=POST", &route, &operation, &path, "status=200", &member, &key,
            "model=\"up/echo\"", "provider=\"up\"", "charge_micros=1000", "rule=\"answered\"",
            "input_tokens=", "output_tokens=", "upstream_us=", "head_us=", "took_us=",
        ];
        assert_has(&line, words);
        assert!(!line.contains(ada.key.secret()) && !line.contains("hello"), "{line}");
    }
    let poor = service.holder("poor", 1);
    let refused = service.post(CHAT, poor.key.as_str(), &chat("hello"));
    let line = line(refused.header("x-request-id"));
    assert_has(&line, &["status=402", "code=\"insufficient_balance\"", "member=mem_2"]);
}

#[test]
fn log_line_of_a_disconnected_client_has_its_charge() {
    log();
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for (path, body) in [(CHAT, chat_stream("hello")), (MESSAGES, message_stream("hello"))] {
        upstream.script("echo", vec![Step::GateMid]);
        let mut raw = Raw::post(service.address, path, ada.key.as_str(), &body);
        let id = raw.head().header("x-request-id").to_owned();
        raw.piece().unwrap();
        drop(raw);
        let words = ["charge_micros=1000", "rule=\"client_left_late\"", "status=200"];
        assert_has(&line(&id), &words);
    }
}

#[test]
fn the_logged_operation_is_that_of_the_matched_route() {
    log();
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let media = unknown(&service, Method::POST, "/v1/media/run");
    assert_eq!(media.status, 401);
    let route = ["route=\"/v1/media/run\"", "operation=\"media\"", "code=\"invalid_key\""];
    assert_has(&line(media.header("x-request-id")), &route);
    let model = service.get("/v1/models/up/echo?secret=x", ada.key.as_str());
    assert_eq!(model.status, 200);
    let words = ["route=\"/v1/models/{id}\"", "path=\"/v1/models/up/echo\""];
    assert_has(&line(model.header("x-request-id")), &words);
    let path = "/v1/messages/agk_aaaaaaaaaaaa_bbbb";
    let nothing = unknown(&service, Method::POST, path);
    assert_eq!(nothing.failure(), (404, "not_found".to_owned()));
    assert!(nothing.text().contains("unknown path /v1/messages/agk_…;"), "{}", nothing.text());
    let line = line(nothing.header("x-request-id"));
    assert_has(&line, &["path=\"/v1/messages/agk_…\"", "operation=\"other\""]);
    assert!(!line.contains("bbbb"), "{line}");
    let figures = service.get("/metrics", "");
    let counted = |operation: &str, status: u16| {
        let mark = format!("requests_total{{operation=\"{operation}\",status=\"{status}\"}} 1");
        assert!(figures.text().contains(&mark), "{mark} in {}", figures.text());
    };
    counted("media", 401);
    counted("other", 404);
    assert!(!figures.text().contains("operation=\"me\""), "{}", figures.text());
}

#[test]
fn tokens_and_charges_are_counted_by_model_and_provider() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for _ in 0..3 {
        assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("one two three")).status, 200);
    }
    upstream.script("echo", vec![Step::Status(500)]);
    assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 503);
    let figures = service.get("/metrics", "");
    let value = |name: &str| {
        let mark = format!("agent_gateway_{name}_total{{model=\"up/echo\",provider=\"up\"}} ");
        let line = figures.text().lines().find_map(|line| line.strip_prefix(&mark));
        line.unwrap_or_else(|| panic!("{mark} in {}", figures.text())).parse::<u64>().unwrap()
    };
    assert_eq!(value("charged_micros"), 3000);
    assert!(value("input_tokens") > 0 && value("output_tokens") > 0);
}
