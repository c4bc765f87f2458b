//! Each fault, as a client sees it.

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use super::super::{Outcome, Step, Upstream};
use super::{CHAT, Form, MESSAGES, RESPONSES, ask, body, connect, exchange};
use crate::wait::eventually;

const PATHS: [&str; 3] = [CHAT, RESPONSES, MESSAGES];
const FORMS: [Form; 2] = [Form::Whole, Form::NumberedEvents];

#[test]
fn connections_close_where_the_step_defines() {
    let upstream = Upstream::start();
    for path in PATHS {
        for form in FORMS {
            assert_eq!(ask(&upstream, path, "cut-before-first", form).bytes, b"");
            let after_head = ask(&upstream, path, "cut-after-head", form);
            assert_eq!((after_head.status(), after_head.raw_body()), (200, &b""[..]));
            let middle = ask(&upstream, path, "cut-mid-event", form);
            assert!(!middle.is_whole() && middle.broken.is_none(), "{path} {form:?}");
            assert!(!middle.text().ends_with("\n\n") && middle.text().len() > 40);
        }
        let two = ask(&upstream, path, "cut-after-2", Form::NumberedEvents);
        assert_eq!(two.events().len(), 2, "{path}");
        assert!(!two.is_whole() && two.text().ends_with("\n\n"));
    }
    assert!(upstream.requests().iter().all(|seen| seen.outcome == Outcome::Answered));
}

#[test]
fn reset_steps_reset_the_connection() {
    let upstream = Upstream::start();
    for path in PATHS {
        for form in FORMS {
            let at_once = ask(&upstream, path, "reset", form);
            assert_eq!(at_once.broken, Some(ErrorKind::ConnectionReset), "{path}");
            assert_eq!(at_once.bytes, b"");
            // A reset may discard the bytes before it, so only the error is certain.
            let later = ask(&upstream, path, "reset-mid", form);
            assert_eq!(later.broken, Some(ErrorKind::ConnectionReset), "{path}");
        }
    }
}

#[test]
fn malformed_content_has_correct_framing() {
    let upstream = Upstream::start();
    for path in PATHS {
        let whole = ask(&upstream, path, "malformed-json", Form::Whole);
        assert!(whole.is_whole());
        assert!(serde_json::from_slice::<serde_json::Value>(&whole.body().0).is_err());
        let stream = ask(&upstream, path, "malformed-json", Form::NumberedEvents);
        assert!(stream.is_whole());
        let broken = stream.events().iter().filter(|data| data.is_string()).count();
        assert_eq!(broken, if path == CHAT { 2 } else { 1 }, "{path}");
        let stream = ask(&upstream, path, "malformed-sse", Form::NumberedEvents);
        assert!(stream.is_whole());
        assert!(String::from_utf8(stream.body().0).is_err());
    }
}

#[test]
fn errors_have_the_documented_form_and_contain_secrets() {
    let upstream = Upstream::start();
    for status in [400, 401, 429, 500, 503] {
        let model = format!("status-{status}");
        for form in FORMS {
            let openai = ask(&upstream, CHAT, &model, form);
            assert_eq!(openai.status(), status);
            let message = openai.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(upstream.key()) && message.contains(&upstream.origin()));
            let anthropic = ask(&upstream, MESSAGES, &model, form);
            assert_eq!(anthropic.status(), status);
            assert_eq!(anthropic.json()["type"], "error");
            let wait = anthropic.head().contains("retry-after: 1");
            assert_eq!(wait, matches!(status, 429 | 503));
        }
    }
    let page = ask(&upstream, CHAT, "html-error", Form::NumberedEvents);
    assert_eq!(page.status(), 502);
    assert!(page.text().starts_with("<!doctype html>"));
}

#[test]
fn error_event_follows_correct_events() {
    let upstream = Upstream::start();
    for path in PATHS {
        let stream = ask(&upstream, path, "error-event", Form::NumberedEvents);
        assert!(stream.is_whole());
        let events = stream.events();
        let error = events.last().unwrap();
        assert!(events.len() > 1, "{path}");
        assert!(error["error"].is_object() || error["type"] == "error", "{path}: {error}");
        let whole = ask(&upstream, path, "error-event", Form::Whole);
        assert_eq!(whole.status(), 200);
        assert!(whole.json()["error"].is_object());
    }
}

#[test]
fn streams_omit_end_marker_content_or_usage() {
    let upstream = Upstream::start();
    let names = |path, model| -> String {
        let events = ask(&upstream, path, model, Form::NumberedEvents).events();
        events.last().map(|data| data["type"].as_str().unwrap_or("").to_owned()).unwrap()
    };
    assert!(!ask(&upstream, CHAT, "no-done", Form::NumberedEvents).text().contains("[DONE]"));
    assert_eq!(names(RESPONSES, "no-done"), "response.output_item.done");
    assert_eq!(names(MESSAGES, "no-done"), "message_delta");
    for path in PATHS {
        for form in FORMS {
            let silent = ask(&upstream, path, "no-usage", form).text();
            assert!(
                !silent.contains("input_tokens") && !silent.contains("prompt_tokens"),
                "{silent}"
            );
            let told = ask(&upstream, path, "lies-usage", form).text();
            // A chat stream has usage only if requested.
            assert_eq!(
                told.contains("-7"),
                !(path == CHAT && form == Form::NumberedEvents),
                "{told}"
            );
            assert!(!ask(&upstream, path, "empty", form).text().contains("three"));
        }
    }
}

#[test]
fn disconnected_client_is_detected_at_any_point() {
    let upstream = Upstream::start();
    for form in FORMS {
        for model in ["hang", "hang-mid", "slow-3600000", "drip-9-3600000", "gate", "endless"] {
            let before = upstream.cancelled().len();
            let mut stream = connect(&upstream, CHAT, &body(CHAT, model, "one two", form));
            if matches!(model, "hang-mid" | "endless") {
                stream.read_exact(&mut [0; 64]).unwrap();
            }
            eventually("the request is in flight", || upstream.in_flight() == 1);
            drop(stream);
            eventually("the server sees it go", || upstream.cancelled().len() == before + 1);
            eventually("nothing is in flight", || upstream.in_flight() == 0);
        }
    }
    assert!(upstream.cancelled().iter().all(|seen| seen.ended.is_some()));
}

#[test]
fn endless_stream_blocks_on_a_client_that_does_not_read() {
    let upstream = Upstream::start();
    let stream = connect(&upstream, CHAT, &body(CHAT, "endless", "one", Form::NumberedEvents));
    let sent = || upstream.requests().first().map_or(0, |seen| seen.sent_bytes);
    let (mut last, mut since) = (0, Instant::now());
    eventually("the buffers between are full", || {
        if sent() != last {
            (last, since) = (sent(), Instant::now());
        }
        last > 0 && since.elapsed() > Duration::from_millis(200)
    });
    assert_eq!(upstream.in_flight(), 1);
    drop(stream);
}

#[test]
fn huge_answer_has_the_requested_size() {
    let upstream = Upstream::start();
    for form in FORMS {
        let wire = ask(&upstream, CHAT, "huge-3", form);
        assert!(wire.is_whole() && wire.body().0.len() > 3 * 1024 * 1024);
    }
}

#[test]
fn delays_happen_where_the_step_defines() {
    let upstream = Upstream::start();
    let started = Instant::now();
    let slow = ask(&upstream, CHAT, "slow-120", Form::Whole);
    assert!(started.elapsed() >= Duration::from_millis(120));
    assert_eq!(slow.json()["choices"][0]["message"]["content"], "one two three");
    let started = Instant::now();
    let drip = ask(&upstream, CHAT, "drip-4-30", Form::NumberedEvents);
    assert!(started.elapsed() >= Duration::from_millis(120));
    assert_eq!(
        drip.events().iter().filter(|event| event.to_string().contains("\"content\":\"c")).count(),
        4
    );
}

#[test]
fn script_takes_precedence_over_the_model_name() {
    let upstream = Upstream::start();
    upstream.script("echo", vec![Step::Status(500), Step::Status(429)]);
    let statuses = [0; 3].map(|_| ask(&upstream, CHAT, "any/echo", Form::Whole).status());
    assert_eq!(statuses, [500, 429, 200]);
    let raw = Step::Raw { status: 418, media_type: "text/plain".into(), body: b"tea".to_vec() };
    upstream.script("echo", vec![raw, Step::RawStream(vec![b"data: 1\n\n".to_vec()])]);
    let tea = ask(&upstream, CHAT, "echo", Form::Whole);
    assert_eq!((tea.status(), tea.text().as_str()), (418, "tea"));
    assert_eq!(ask(&upstream, CHAT, "echo", Form::NumberedEvents).events(), [1]);
    let marked = body(CHAT, "gpt", "please [[status-503]]", Form::Whole);
    assert_eq!(exchange(&upstream, CHAT, &marked).status(), 503);
    upstream.set_default(Step::Status(529));
    assert_eq!(ask(&upstream, CHAT, "gpt", Form::Whole).status(), 529);
}
