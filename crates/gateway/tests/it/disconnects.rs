//! Clients that leave: before the first byte of the answer and after it, whole and streamed.

use agent_test_support::upstream::{Outcome, Upstream};
use agent_test_support::wait::eventually;
use serde_json::Value;

use crate::fixture::{
    chat, chat_stream, message, message_stream, paid, receipt, response, service, service_with,
};
use crate::raw::{Raw, request};
use crate::support::{Holder, PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const WHOLE: fn(&str) -> Value = chat;
const STREAM: fn(&str) -> Value = chat_stream;

/// How many holds ended by a rule.
fn ended(service: &Running, rule: &str) -> u64 {
    let figures = service.get("/metrics", "").text().to_owned();
    let mark = format!("rule=\"{rule}\"");
    let lines = figures.lines().filter(|line| line.contains("holds_ended") && line.contains(&mark));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// Waits until the service has handled everything that has arrived. A connection goes to the thread
/// with the fewest, so these reach all threads; a thread that answers twice has handled all earlier
/// events.
fn pass(service: &Running) {
    let threads = std::thread::available_parallelism().unwrap().get();
    let mut connections: Vec<Raw> = (0..4 * threads).map(|_| Raw::open(service.address)).collect();
    for _ in 0..2 {
        for raw in &mut connections {
            raw.send(&request("GET", "/healthz", &[], ""));
            assert_eq!(raw.head().status, 200);
            raw.body();
        }
    }
}

/// Sends a request and waits until the upstream has sent something, or only has the request.
fn begin(service: &Running, ada: &Holder, upstream: &Upstream, asked: (&str, &Value)) -> Raw {
    let before = upstream.completions().len();
    let (path, body) = asked;
    let raw = Raw::post(service.address, path, ada.key.as_str(), body);
    let waits = body.to_string().contains("[[gate]]");
    eventually("the upstream is asked", || {
        upstream.completions().get(before).is_some_and(|seen| waits || seen.sent_bytes > 0)
    });
    pass(service);
    raw
}

fn responses_stream(text: &str) -> Value {
    let mut body = response(text);
    body["stream"] = true.into();
    body
}

#[test]
fn disconnect_before_the_first_byte_is_free_and_cancels() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let asked = [
        (CHAT, chat("[[gate]]")),
        (CHAT, chat_stream("[[gate]]")),
        ("/v1/responses", response("[[gate]]")),
        ("/v1/responses", responses_stream("[[gate]]")),
        (MESSAGES, message("[[gate]]")),
        (MESSAGES, message_stream("[[gate]]")),
    ];
    for (place, (path, body)) in asked.iter().enumerate() {
        drop(begin(&service, &ada, &upstream, (path, body)));
        eventually("the upstream is let go", || upstream.cancelled().len() == place + 1);
    }
    assert_eq!(paid(&service, &ada), 0);
    eventually("all are counted", || ended(&service, "client_left_early") == 6);
}

#[test]
fn disconnect_after_the_first_byte_is_charged_and_cancels() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for (path, stream, whole) in [(CHAT, STREAM, WHOLE), (MESSAGES, message_stream, message)] {
        let before = upstream.cancelled().len();
        let mut raw = begin(&service, &ada, &upstream, (path, &stream("[[gate-mid]] a b")));
        assert_eq!(raw.head().status, 200);
        raw.piece().unwrap();
        drop(raw);
        eventually("the upstream is let go", || upstream.cancelled().len() == before + 1);
        drop(begin(&service, &ada, &upstream, (path, &whole("[[gate-mid]] a b"))));
        eventually("the upstream is let go", || upstream.cancelled().len() == before + 2);
    }
    eventually("all are charged", || paid(&service, &ada) == 4 * PRICE);
    assert_eq!(ended(&service, "client_left_late"), 4);
}

#[test]
fn answer_is_finished_after_a_disconnect_if_configured() {
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "on_client_gone: finish\n");
    let forms = [(CHAT, STREAM), (CHAT, WHOLE), (MESSAGES, message_stream), (MESSAGES, message)];
    for (path, body) in forms {
        drop(begin(&service, &ada, &upstream, (path, &body("[[gate-mid]] a b"))));
    }
    pass(&service);
    assert_eq!(upstream.cancelled().len(), 0);
    upstream.open_gate();
    eventually("all are answered", || ended(&service, "answered") == 4);
    assert!(upstream.completions().iter().all(|seen| seen.outcome == Outcome::Answered));
    assert_eq!(paid(&service, &ada), 4 * PRICE);
    // Before the first byte nothing is finished.
    upstream.close_gate();
    for (path, body) in forms {
        drop(begin(&service, &ada, &upstream, (path, &body("[[gate]]"))));
    }
    eventually("they are let go", || upstream.cancelled().len() == 4);
    assert_eq!(paid(&service, &ada), 4 * PRICE);
}

#[test]
fn answer_with_an_idempotency_key_is_finished_and_replayed() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bearer = format!("Bearer {}", ada.key.as_str());
    let forms = [
        (CHAT, WHOLE, "a b"),
        (CHAT, STREAM, "[DONE]"),
        (MESSAGES, message, "a b"),
        (MESSAGES, message_stream, "message_stop"),
    ];
    for (count, (path, body, end)) in forms.into_iter().enumerate() {
        let body = &body("[[gate-mid]] a b");
        upstream.close_gate();
        let word = format!("word-{count}");
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", word.as_str())];
        let first = Raw::post_with(service.address, path, &headers, body);
        eventually("the upstream speaks", || {
            upstream.completions().get(count).is_some_and(|seen| seen.sent_bytes > 0)
        });
        pass(&service);
        drop(first);
        pass(&service);
        assert_eq!(upstream.cancelled().len(), 0);
        upstream.open_gate();
        let mut found = None;
        eventually("the answer is there", || {
            let mut raw = Raw::post_with(service.address, path, &headers, body);
            let head = raw.head();
            let text = raw.body();
            if head.status == 200 {
                found = Some((head.header("idempotent-replayed").to_owned(), text));
            } else {
                assert_eq!(head.status, 409, "{text}");
            }
            found.is_some()
        });
        let (replayed, text) = found.unwrap();
        assert_eq!(replayed, "true");
        assert!(text.contains(end), "{text}");
    }
    assert_eq!(upstream.completions().len(), 4);
    assert_eq!(paid(&service, &ada), 4 * PRICE);
}

#[test]
fn answer_too_large_to_store_is_cancelled_after_disconnect() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bearer = format!("Bearer {}", ada.key.as_str());
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "word")];
    let body = chat_stream(&format!("[[endless]]{} a", "x".repeat(8000)));
    let mut raw = Raw::post_with(service.address, CHAT, &headers, &body);
    let id = raw.head().header("x-receipt-id").to_owned();
    raw.piece().unwrap();
    drop(raw);
    eventually("the upstream is let go", || upstream.cancelled().len() == 1);
    assert_eq!(receipt(&service, &ada, &id), ("client_left_late".to_owned(), PRICE));
    // It cannot be repeated, and is not charged again.
    assert_eq!(Raw::post_with(service.address, CHAT, &headers, &body).head().status, 409);
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (PRICE, 1));
}

#[test]
fn idempotency_key_is_reusable_after_early_disconnect() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bearer = format!("Bearer {}", ada.key.as_str());
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "word")];
    let body = chat_stream("[[gate]] a b");
    let first = Raw::post_with(service.address, CHAT, &headers, &body);
    eventually("the upstream is asked", || upstream.completions().len() == 1);
    drop(first);
    eventually("the upstream is let go", || upstream.cancelled().len() == 1);
    eventually("it is given back", || ended(&service, "client_left_early") == 1);
    upstream.open_gate();
    let mut again = Raw::post_with(service.address, CHAT, &headers, &body);
    assert_eq!(again.head().status, 200);
    assert!(again.body().ends_with("data: [DONE]\n\n"));
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn waiting_client_gets_keepalive_comments() {
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "limits: {keepalive_comment: 0.05}\n");
    for step in ["gate", "gate-mid"] {
        upstream.close_gate();
        let body = chat_stream(&format!("[[{step}]] a b"));
        let mut raw = Raw::post(service.address, CHAT, ada.key.as_str(), &body);
        assert_eq!(raw.head().status, 200);
        let mut comments = 0;
        while comments < 3 {
            if raw.piece().unwrap() == b": keep-alive\n\n" {
                comments += 1;
            }
        }
        upstream.open_gate();
        assert!(raw.body().ends_with("data: [DONE]\n\n"));
    }
    // One that fails after the first comment says so in the stream.
    let mut raw = Raw::post(service.address, CHAT, ada.key.as_str(), &chat_stream("[[slow-1000]]"));
    upstream.set_default(agent_test_support::upstream::Step::Echo);
    assert_eq!(raw.head().status, 200);
    assert!(raw.body().contains(": keep-alive"));
    assert_eq!(paid(&service, &ada), 3 * PRICE);
}

/// How many requests are being answered, this one left out.
fn running(service: &Running) -> u64 {
    let figures = service.get("/metrics", "").text().to_owned();
    let line = figures.lines().find(|line| line.starts_with("agent_gateway_requests_running "));
    line.unwrap().rsplit(' ').next().unwrap().parse::<u64>().unwrap() - 1
}

#[test]
fn disconnect_during_the_hold_is_free() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let mut background = response("a b");
    background["background"] = true.into();
    let asked = [
        (CHAT, chat("a b")),
        (CHAT, chat_stream("a b")),
        ("/v1/responses", responses_stream("a b")),
        ("/v1/responses", background),
        (MESSAGES, message("a b")),
        (MESSAGES, message_stream("a b")),
    ];
    let bearer = format!("Bearer {}", ada.key.as_str());
    let headers = |place: usize| {
        [("authorization", bearer.clone()), ("idempotency-key", format!("word-{place}"))]
    };
    let ask = |place: usize| {
        let headers = headers(place);
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        Raw::post_with(service.address, asked[place].0, &headers, &asked[place].1)
    };
    // Somebody else writes to the books, and takes their time.
    let books = rusqlite::Connection::open(service.folder.path().join("gateway.sqlite3")).unwrap();
    books.execute_batch("BEGIN IMMEDIATE").unwrap();
    let clients: Vec<Raw> = (0..asked.len()).map(ask).collect();
    eventually("they wait for the books", || running(&service) == 6);
    pass(&service);
    drop(clients);
    eventually("the service knows that they left", || running(&service) == 0);
    books.execute_batch("COMMIT").unwrap();
    // At least one was being written; what only waited to be is not written at all.
    eventually("what was set aside is given back", || ended(&service, "client_left_early") > 0);
    assert_eq!(paid(&service, &ada), 0);
    assert_eq!(upstream.completions().len(), 0);
    // With the same words they may come again.
    for place in 0..asked.len() {
        assert_eq!(ask(place).head().status, 200);
    }
    eventually("all are charged", || paid(&service, &ada) == 6 * PRICE);
}
