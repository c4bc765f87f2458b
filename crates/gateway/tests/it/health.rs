//! What makes an upstream the last choice for everybody, and what a member's request does not.

use agent_test_support::upstream::{Step, Upstream};
use http::Request;
use serde_json::json;

use crate::fixture::{PLAIN, chat, chat_stream, response, with_one};
use crate::raw::Raw;
use crate::support::{ADMIN_TOKEN, Holder, PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
/// How many failures in a row take an upstream out.
const FAILURES: usize = 3;

/// A service that probes its upstream once, and then never again.
fn watched(upstream: &Upstream, more: &str) -> (Running, Holder) {
    let provider = format!(
        "kind: openai, models: [echo], {more} \
         health: {{interval: 600, timeout: 5, failures: {FAILURES}, eject: 600}}"
    );
    let limits = "limits: {max_answer_bytes: 1048576}\n";
    let service = Running::start(&with_one(upstream, &provider, limits));
    let ada = service.holder("ada", 1000 * PRICE);
    agent_test_support::wait::eventually("it was probed", || {
        upstream.requests().iter().any(|seen| seen.method == "GET")
            && service.get("/metrics", "").text().contains("provider_usable{provider=\"up\"} 1")
    });
    (service, ada)
}

const IMPATIENT: &str = "timeout: {connect: 1, first_byte: 0.3, idle: 0.1},";

/// Whether the upstream is asked first; one that is ejected is asked only for want of a better one.
fn is_ejected(service: &Running) -> bool {
    service.get("/metrics", "").text().contains("provider_usable{provider=\"up\"} 0")
}

/// The only upstream of a model is asked whatever its requests came to.
fn assert_in_use(service: &Running, ada: &Holder) {
    let answer = service.post(CHAT, ada.key.as_str(), &chat("hello"));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn raw(media_type: &str, body: &str) -> Step {
    Step::Raw { status: 200, media_type: media_type.to_owned(), body: body.as_bytes().to_vec() }
}

#[test]
fn failures_that_members_can_cause_never_eject_an_upstream() {
    let upstream = Upstream::start();
    let (service, ada) = watched(&upstream, IMPATIENT);
    let either = [
        Step::Status(403),
        Step::Status(404),
        Step::Status(408),
        Step::Status(422),
        Step::Status(429),
        Step::Status(501),
        Step::Status(503),
        Step::Status(504),
        Step::CutBeforeFirst,
        Step::Reset,
        Step::CutAfterHead,
        Step::CutMidEvent,
        Step::ResetMid,
        Step::HangMid,
        Step::MalformedJson,
        Step::MalformedSse,
        Step::ErrorEvent,
        Step::RawStream(vec![b"data: {\"error\":{\"message\":\"filtered\"}}\n\n".to_vec()]),
        raw("text/html", "<html>"),
    ];
    // Where the other form was asked for, and where it takes time to say much.
    let whole = [Step::Hang, Step::Huge(2), Step::RawStream(vec![b"data: [DONE]\n\n".to_vec()])];
    let streamed = [raw("application/json", r#"{"choices":[]}"#), Step::NoDone];
    let asked = either
        .iter()
        .flat_map(|step| [(step, chat("x")), (step, chat_stream("x"))])
        .chain(whole.iter().map(|step| (step, chat("x"))))
        .chain(streamed.iter().map(|step| (step, chat_stream("x"))));
    for (step, body) in asked {
        upstream.script("echo", vec![step.clone(); FAILURES]);
        for _ in 0..FAILURES {
            let mut raw = Raw::post(service.address, CHAT, ada.key.as_str(), &body);
            raw.head();
            raw.body();
        }
        assert!(!is_ejected(&service), "{step:?} {body}");
        assert_in_use(&service, &ada);
    }
}

#[test]
fn an_ejected_upstream_is_still_used_if_it_is_the_only_one() {
    for fault in [Step::Status(500), Step::Status(502), Step::Status(401)] {
        let upstream = Upstream::start();
        let (service, ada) = watched(&upstream, "");
        upstream.script("echo", vec![fault.clone(); FAILURES]);
        for _ in 0..FAILURES {
            assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 503);
        }
        assert!(is_ejected(&service), "{fault:?}");
        assert_in_use(&service, &ada);
        assert_eq!(upstream.completions().len(), FAILURES + 1);
    }
    let upstream = Upstream::start();
    let (service, ada) = watched(&upstream, "");
    upstream.go_down();
    for _ in 0..FAILURES {
        assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 503);
    }
    upstream.come_back();
    assert!(is_ejected(&service));
    assert_in_use(&service, &ada);
}

#[test]
fn an_upstream_without_a_timely_first_byte_is_ejected() {
    let upstream = Upstream::start();
    let (service, ada) = watched(&upstream, IMPATIENT);
    for _ in 0..FAILURES {
        let body = chat_stream("[[slow-2000]] x");
        assert_eq!(service.post(CHAT, ada.key.as_str(), &body).status, 503);
    }
    assert!(is_ejected(&service));
}

#[test]
fn random_errors_of_a_single_upstream_fail_only_their_requests() {
    let upstream = Upstream::start();
    let (service, ada) = watched(&upstream, "");
    // One request in ten fails by chance, with a seed so that the run can be repeated.
    let mut random = fastrand::Rng::with_seed(8);
    let failed = (0..300).filter(|_| {
        let fails = random.u8(..10) == 0;
        let fault = if fails { vec![Step::Status(500)] } else { Vec::new() };
        upstream.script("echo", fault);
        let answer = service.post(CHAT, ada.key.as_str(), &chat("x"));
        assert_eq!(answer.status, if fails { 503 } else { 200 }, "{}", answer.text());
        fails
    });
    assert!((15..=45).contains(&failed.count()));
    // Also three in a row, after which it was out for a while, and after that.
    upstream.script("echo", vec![Step::Status(500); FAILURES]);
    for _ in 0..FAILURES {
        assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 503);
    }
    assert_in_use(&service, &ada);
}

#[test]
fn a_rejected_upstream_key_is_an_alert_until_accepted() {
    let log = crate::captured_log::log();
    let upstream = Upstream::start();
    let admin = format!("admin_token: {ADMIN_TOKEN}\n");
    let text = with_one(&upstream, PLAIN, &admin).replace("  up:", "  locked:");
    let service = Running::start(&text);
    let ada = service.holder("ada", 1000 * PRICE);
    let gauge = |value: u8| {
        let line = format!("agent_gateway_provider_key_refused{{provider=\"locked\"}} {value}");
        let figures = service.get("/metrics", "");
        assert!(figures.text().lines().any(|known| known == line), "{}", figures.text());
    };
    let mut body = chat("x");
    body["model"] = "locked/echo".into();
    gauge(0);
    upstream.script("echo", vec![Step::Status(401); 2]);
    for _ in 0..2 {
        assert_eq!(service.post(CHAT, ada.key.as_str(), &body).status, 503);
        gauge(1);
    }
    let provider = |service: &Running| {
        service.get("/admin/v1/providers", ADMIN_TOKEN).good()["data"][0]["health"].clone()
    };
    assert_eq!(provider(&service), "key_refused");
    assert_eq!(service.post(CHAT, ada.key.as_str(), &body).status, 200);
    gauge(0);
    assert_eq!(provider(&service), "usable");
    let refused = log.lines_with("provider rejects the configured key");
    let refused: Vec<&String> = refused.iter().filter(|line| line.contains("locked")).collect();
    assert!(refused.len() == 1 && refused[0].contains("ERROR"), "{refused:?}");
}

#[test]
fn stream_is_always_sent_to_the_upstream() {
    let upstream = Upstream::start();
    let (service, ada) = watched(&upstream, "");
    let send = |path: &str, body: String| {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .body(body.into_bytes());
        let answer = service.send_raw(request.unwrap());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let seen = upstream.completions().pop().unwrap();
        (answer.header("content-type").to_owned(), seen.json())
    };
    // Some servers overlook the case of letters, and of two that say the same take the last.
    let odd = r#""Stream":true,"STREAM":true,"\u017ftream":true,"Model":"dearer""#;
    for (path, mut body) in [(CHAT, chat("hi")), ("/v1/responses", response("hi"))] {
        for stream in [false, true, false] {
            body["stream"] = stream.into();
            let text = body.to_string();
            let text = format!("{},{odd}}}", text.strip_suffix('}').unwrap());
            let media_type = if stream { "text/event-stream" } else { "application/json" };
            let (came, seen) = send(path, text);
            assert_eq!(came, media_type);
            let seen = seen.as_object().unwrap();
            let streams = seen.iter().filter(|(key, _)| key.to_uppercase() == "STREAM");
            assert_eq!(
                streams.map(|(_, value)| value.clone()).collect::<Vec<_>>(),
                [json!(stream)]
            );
            assert_eq!(seen["model"], "echo");
            assert!(!seen.contains_key("Model"));
        }
    }
    let (_, seen) = send(CHAT, chat("hi").to_string());
    assert_eq!(seen["stream"], false);
}
