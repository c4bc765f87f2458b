//! `POST /v1/media/run`.

use std::time::Duration;

use agent_test_support::upstream::media::{mp3, png, wav};
use agent_test_support::upstream::{Step, Upstream};
use http::Request;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{MEDIA_PRICE, paint, path_of, run, service, service_with, speak, stored, text};
use crate::fixture::{paid, receipt};
use crate::support::{Answer, Holder, Running};

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn raw(media_type: &str, body: impl Into<Vec<u8>>) -> Step {
    Step::Raw { status: 200, media_type: media_type.to_owned(), body: body.into() }
}

fn images(data: &Value) -> Step {
    raw("application/json", json!({"created": 1, "data": data}).to_string())
}

/// That a request failed with this code, cost nothing, and left nothing behind.
#[track_caller]
fn costs_nothing(service: &Running, holder: &Holder, answer: &Answer, code: &str) {
    assert_eq!(answer.failure().1, code, "{}", answer.text());
    assert_eq!(answer.header("x-charge-micros"), "0");
    assert_eq!(receipt(service, holder, answer.header("x-receipt-id")).1, 0);
    assert_eq!(paid(service, holder), 0);
    assert!(stored(service).is_empty());
}

#[test]
fn an_image_is_generated_stored_charged_and_described() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let mut body = paint("a lighthouse");
    body["input"]["size"] = "1024x1024".into();
    body["input"]["stream"] = true.into();
    let answer = run(&service, &ada, &body);
    let made = answer.good();
    let image = png("a lighthouse");
    assert_eq!(made["object"], "media.run");
    assert_eq!((&made["model"], &made["capability"]), (&"up/paint".into(), &"image".into()));
    assert_eq!(made["charge_micros"], MEDIA_PRICE);
    assert_eq!(made["artifacts"].as_array().unwrap().len(), 1);
    let artifact = &made["artifacts"][0];
    assert_eq!(artifact["media_type"], "image/png");
    assert_eq!(artifact["bytes"], image.len());
    assert_eq!(artifact["sha256"], hex(&image));
    assert_eq!(answer.header("x-charge-micros"), MEDIA_PRICE.to_string());
    let id = answer.header("x-receipt-id");
    assert_eq!(receipt(&service, &ada, id), ("answered".to_owned(), MEDIA_PRICE));
    assert_eq!(made["id"], id.replace("req_", "run_"));
    assert_eq!(paid(&service, &ada), MEDIA_PRICE);
    assert_eq!(stored(&service), std::slice::from_ref(&image));
    let got = service.get(&path_of(artifact), ada.key.as_str());
    assert_eq!((got.status, got.body), (200, image));
    // What the provider was asked: in its own words, and what is not ours as it was written.
    let asked = upstream.completions()[0].json();
    assert_eq!(asked, json!({"prompt": "a lighthouse", "size": "1024x1024", "model": "paint"}));
}

#[test]
fn speech_is_generated_in_each_format() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let formats = [("wav", "audio/wav", wav("hi")), ("mp3", "audio/mpeg", mp3())];
    let formats = formats.into_iter().chain([("pcm", "audio/pcm", wav("hi")[44..].to_vec())]);
    for (format, media_type, bytes) in formats {
        let mut body = speak("hi");
        body["input"]["response_format"] = format.into();
        let made = run(&service, &ada, &body).good();
        assert_eq!(made["capability"], "speech");
        let artifact = &made["artifacts"][0];
        assert_eq!(artifact["media_type"], media_type);
        assert_eq!(artifact["sha256"], hex(&bytes));
    }
    let asked = upstream.completions()[0].json();
    assert_eq!(
        asked,
        json!({"model": "speak", "input": "hi", "voice": "alloy", "response_format": "wav"})
    );
    assert_eq!(paid(&service, &ada), 3 * MEDIA_PRICE);
}

#[test]
fn binary_response_is_the_file() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let mut body = paint("a boat");
    body["response"] = "binary".into();
    let request = || {
        Request::post("/v1/media/run")
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .header("idempotency-key", "once")
            .body(body.to_string().into_bytes())
            .unwrap()
    };
    for is_again in [false, true] {
        let answer = service.send_raw(request());
        let image = png("a boat");
        assert_eq!((answer.status, &answer.body), (200, &image), "{is_again}");
        assert_eq!(answer.header("content-type"), "image/png");
        assert_eq!(answer.header("content-length"), image.len().to_string());
        assert!(answer.header("digest").starts_with("sha-256="));
        assert!(answer.header("repr-digest").starts_with("sha-256=:"));
        assert_eq!(answer.header("x-charge-micros"), MEDIA_PRICE.to_string());
        assert_eq!(answer.header("idempotent-replayed"), if is_again { "true" } else { "" });
        let run = answer.header("x-media-run-id");
        let manifest = format!("/v1/media/runs/{run}/manifest.json");
        let manifest = service.get(&manifest, ada.key.as_str()).good();
        assert_eq!(manifest["artifacts"][0]["bytes"], image.len());
    }
    assert_eq!(upstream.completions().len(), 1);
    assert_eq!(paid(&service, &ada), MEDIA_PRICE);
}

#[test]
fn an_idempotency_key_runs_once_and_replays_the_answer() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let send = |body: &Value| {
        let request = Request::post("/v1/media/run")
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .header("idempotency-key", "word");
        service.send_raw(request.body(body.to_string().into_bytes()).unwrap())
    };
    let first = send(&paint("a tree"));
    let again = send(&paint("a tree"));
    assert_eq!(first.good(), again.good());
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(send(&paint("a bush")).failure(), (422, "idempotency_mismatch".to_owned()));
    assert_eq!(upstream.completions().len(), 1);
    assert_eq!(paid(&service, &ada), MEDIA_PRICE);
}

#[test]
fn invalid_images_are_free() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let whole = png("x");
    let encoded = |bytes: &[u8]| {
        use base64::Engine;
        base64::engine::general_purpose::STANDARD.encode(bytes)
    };
    for (step, words) in [
        (raw("text/html", "<!doctype html><h1>Bad</h1>"), "invalid response"),
        (raw("application/json", "{}"), "invalid response"),
        (raw("application/json", r#"{"data": "#), "invalid response"),
        (images(&json!([])), "contains no image"),
        (images(&json!([{}])), "contains no image"),
        (images(&json!([{"b64_json": "%%%"}])), "is not valid base64"),
        (images(&json!([{"b64_json": ""}])), "is empty"),
        (images(&json!([{"b64_json": encoded(b"<html></html>")}])), "not a supported image format"),
        (images(&json!([{"b64_json": encoded(&whole[..whole.len() / 2])}])), "cannot be decoded"),
        (images(&json!([{"b64_json": encoded(&whole)}, {"b64_json": encoded(&whole)}])), "more"),
        (images(&json!([{"url": "https://example.com/x.png"}])), "on another host"),
        (images(&json!([{"url": "http://169.254.169.254/latest"}])), "on another host"),
        (images(&json!([{"url": "file:///etc/passwd"}])), "an invalid URL"),
        (
            images(&json!([{"url": format!("{}/v1/none.png", upstream.origin())}])),
            "the download failed",
        ),
        (Step::CutMidEvent, "the connection was closed"),
    ] {
        upstream.script("paint", vec![step.clone()]);
        let answer = run(&service, &ada, &paint("x"));
        assert_eq!(answer.status, 503, "{step:?} {}", answer.text());
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(words), "{words}: {message}");
        assert!(message.contains("nothing was charged") && !message.contains("127.0.0.1"));
        costs_nothing(&service, &ada, &answer, "upstream_unavailable");
    }
}

#[test]
fn invalid_audio_is_free() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for (step, words) in [
        (raw("audio/mpeg", ""), "is empty"),
        (raw("audio/mpeg", "<!doctype html><h1>Bad</h1>"), "is text"),
        (raw("audio/mpeg", r#"{"error": {"message": "no"}}"#), "is text"),
        (raw("audio/wav", &wav("x")[..44]), "no frame"),
        (raw("audio/mpeg", &mp3()[..400]), "no frame"),
        (raw("audio/mpeg", "something else"), "not a supported audio format"),
    ] {
        upstream.script("speak", vec![step.clone()]);
        let answer = run(&service, &ada, &speak("x"));
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(words), "{words}: {message}");
        costs_nothing(&service, &ada, &answer, "upstream_unavailable");
    }
}

#[test]
fn upstream_failures_are_free_and_their_messages_sanitized() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for (step, status, code) in [
        (Step::Status(500), 503, "upstream_unavailable"),
        (Step::Status(401), 503, "upstream_unavailable"),
        (Step::Status(429), 503, "upstream_unavailable"),
        (Step::HtmlError, 503, "upstream_unavailable"),
        (Step::Reset, 503, "upstream_unavailable"),
        (Step::Status(400), 400, "invalid_request"),
    ] {
        upstream.script("paint", vec![step.clone()]);
        let answer = run(&service, &ada, &paint("x"));
        assert_eq!(answer.status, status, "{step:?} {}", answer.text());
        assert!(!answer.text().contains(upstream.key()));
        assert!(!answer.text().contains("127.0.0.1"));
        costs_nothing(&service, &ada, &answer, code);
    }
}

#[test]
fn an_image_at_the_provider_host_is_fetched_with_the_api_key() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let url = format!("{}/files/picture.png", upstream.base_url());
    upstream.script("paint", vec![images(&json!([{"url": url}]))]);
    let made = run(&service, &ada, &paint("x")).good();
    assert_eq!(made["artifacts"][0]["sha256"], hex(&png("picture")));
    assert_eq!(upstream.requests().last().unwrap().path, "/v1/files/picture.png");
    assert_eq!(paid(&service, &ada), MEDIA_PRICE);
}

#[test]
fn slow_answers_are_awaited_until_the_timeout() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    upstream.script("speak", vec![Step::Slow(Duration::from_millis(300))]);
    run(&service, &ada, &speak("x")).good();
    assert_eq!(paid(&service, &ada), MEDIA_PRICE);
    let limited = text(&upstream, "").replace("health: false", "health: false, timeout: 1");
    let service = Running::start(&limited);
    let ada = service.holder("ada", 1_000_000);
    upstream.script("speak", vec![Step::Hang]);
    let answer = run(&service, &ada, &speak("x"));
    costs_nothing(&service, &ada, &answer, "upstream_unavailable");
}

#[test]
fn several_images_are_generated_if_allowed() {
    let upstream = Upstream::start();
    let (one, ada) = service(&upstream);
    let mut body = paint("x");
    body["input"]["n"] = 2.into();
    let refused = run(&one, &ada, &body);
    assert_eq!(refused.failure(), (400, "invalid_request".to_owned()));
    assert_eq!(refused.json()["error"]["param"], "input.n");
    assert_eq!(paid(&one, &ada), 0);
    let (several, ada) = service_with(&upstream, "media: {max_images: 3}\n");
    body["input"]["n"] = 3.into();
    let made = run(&several, &ada, &body).good();
    let artifacts = made["artifacts"].as_array().unwrap();
    let digests: Vec<&Value> = artifacts.iter().map(|artifact| &artifact["sha256"]).collect();
    assert_eq!(digests, [&hex(&png("x")), &hex(&png("x 1")), &hex(&png("x 2"))]);
    assert_eq!(paid(&several, &ada), MEDIA_PRICE, "one request, one price");
}

#[test]
fn media_models_are_found_only_by_full_id() {
    let upstream = Upstream::start();
    let rest = "models: {artist: up/paint}\n";
    let (service, ada) = service_with(&upstream, rest);
    for asked in ["paint", "up/pain", "up", "artist", "up/paint/", "UP/PAINT", "gpt-image-1"] {
        let body = json!({"model": asked, "input": {"prompt": "x"}});
        let answer = run(&service, &ada, &body);
        assert_eq!(answer.failure(), (400, "model_not_found".to_owned()), "{asked}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("`up/paint`"), "{asked}: {message}");
    }
    let body = json!({"model": "up/echo", "input": {"prompt": "x"}});
    let answer = run(&service, &ada, &body);
    assert_eq!(answer.failure(), (400, "model_not_for_capability".to_owned()));
    assert!(upstream.completions().is_empty());
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn malformed_media_requests_name_the_parameter() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for (body, param) in [
        (json!({"input": {"prompt": "x"}}), "model"),
        (json!({"model": "up/paint"}), "input"),
        (json!({"model": "up/paint", "input": "x"}), "input"),
        (json!({"model": "up/paint", "input": {}}), "input.prompt"),
        (json!({"model": "up/paint", "input": {"prompt": " "}}), "input.prompt"),
        (json!({"model": "up/paint", "input": {"prompt": 7}}), "input.prompt"),
        (json!({"model": "up/paint", "input": {"prompt": "x", "n": 0}}), "input.n"),
        (json!({"model": "up/speak", "input": {"prompt": "x"}}), "input.text"),
        (json!({"model": "up/speak", "input": {"text": "x".repeat(4097)}}), "input.text"),
        (json!({"model": "up/paint", "input": {"prompt": "x"}, "response": "x"}), "response"),
        (json!({"model": "up/paint", "input": {"prompt": "x"}, "size": "1"}), "size"),
    ] {
        let answer = run(&service, &ada, &body);
        assert_eq!(answer.failure(), (400, "invalid_request".to_owned()), "{body}");
        assert_eq!(answer.json()["error"]["param"], param, "{}", answer.text());
    }
    assert!(upstream.completions().is_empty());
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn scope_model_and_balance_are_checked_before_generation() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let chats = service.key_with(ada.member, |new| new.scopes = vec![gateway_store::Scope::Chat]);
    let answer = service.post("/v1/media/run", chats.as_str(), &paint("x"));
    assert_eq!(answer.failure(), (403, "scope_missing".to_owned()));
    let other = service.key_with(ada.member, |new| new.models = Some(vec!["up/speak".to_owned()]));
    let answer = service.post("/v1/media/run", other.as_str(), &paint("x"));
    assert_eq!(answer.failure(), (403, "model_not_allowed".to_owned()));
    let poor = service.holder("poor", MEDIA_PRICE - 1);
    let answer = run(&service, &poor, &paint("x"));
    assert_eq!(answer.failure(), (402, "insufficient_balance".to_owned()));
    assert!(upstream.completions().is_empty());
    service.check_ledger();
}

#[test]
fn a_model_of_an_unavailable_provider_opens_no_hold() {
    let upstream = Upstream::start();
    let text = text(&upstream, "").replace("health: false", "health: {interval: 0.05}");
    let service = Running::start(&text);
    let ada = service.holder("ada", 1_000_000);
    upstream.go_down();
    agent_test_support::wait::eventually("the provider is out", || {
        run(&service, &ada, &paint("x")).failure() == (503, "capability_unavailable".to_owned())
    });
    let answer = run(&service, &ada, &paint("x"));
    assert_eq!(answer.header("x-receipt-id"), "", "nothing was held");
    upstream.come_back();
    agent_test_support::wait::eventually("the provider is back", || {
        run(&service, &ada, &paint("x")).status == 200
    });
    service.check_ledger();
}

#[test]
fn media_models_are_listed_with_prices() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let list = service.get("/v1/models", ada.key.as_str()).good();
    let of = |id: &str| {
        let models = list["data"].as_array().unwrap();
        models.iter().find(|model| model["id"] == id).unwrap().clone()
    };
    assert_eq!(of("up/paint")["capabilities"], json!(["image"]));
    assert_eq!(of("up/paint")["price_micros"], MEDIA_PRICE);
    assert_eq!(of("up/speak")["capabilities"], json!(["speech"]));
}
