//! The edge of the service: what clients may send, how fast, and how many they may be.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::Value;

use crate::fixture::{chat, paid, service, service_with};
use crate::raw::{Raw, request};
use crate::support::PRICE;

const CHAT: &str = "/v1/chat/completions";

#[test]
fn requests_may_be_fragmented_and_pipelined() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bearer = format!("Bearer {}", ada.key.as_str());
    let headers = [("authorization", bearer.as_str())];
    let mut raw = Raw::open(service.address);
    // Two at once, the first one slower.
    let first = request("POST", CHAT, &headers, &chat("[[slow-50]] first").to_string());
    let second = request("POST", CHAT, &headers, &chat("second").to_string());
    raw.send(&format!("{first}{second}"));
    for word in ["first", "second"] {
        assert_eq!(raw.head().status, 200);
        assert!(raw.body().contains(word));
    }
    // A body in chunks, with the head cut in the middle.
    let body = chat("in chunks").to_string();
    let (left, right) = body.split_at(10);
    let chunked = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: here\r\nauthorization: {bearer}\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{left}\r\n{:x};ext=1\r\n{right}\r\n0\r\n\r\n",
        left.len(),
        right.len()
    );
    for piece in [&chunked[..9], &chunked[9..60], &chunked[60..]] {
        raw.send(piece);
    }
    assert_eq!(raw.head().status, 200);
    assert!(raw.body().contains("in chunks"));
    // A client that asks first whether it may send the body.
    raw.send(&format!(
        "POST {CHAT} HTTP/1.1\r\nhost: here\r\nauthorization: {bearer}\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    ));
    assert_eq!(raw.head().status, 100);
    raw.send(&body);
    assert_eq!(raw.head().status, 200);
    raw.body();
    assert_eq!(paid(&service, &ada), 4 * PRICE);
}

#[test]
fn head_requests_get_no_body() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let bearer = format!("Bearer {}", ada.key.as_str());
    let mut raw = Raw::open(service.address);
    for (path, status) in [("/v1/models", 200), ("/healthz", 200), ("/nothing", 404), (CHAT, 405)] {
        raw.send(&request("HEAD", path, &[("authorization", &bearer)], ""));
        let head = raw.head();
        assert_eq!(head.status, status, "{path}");
        assert!(head.header("content-length").parse::<usize>().unwrap() > 0);
        assert!(head.header("x-request-id").starts_with("req_"));
    }
}

#[test]
fn oversized_request_heads_are_rejected() {
    let upstream = Upstream::start();
    let (service, _) = service_with(&upstream, "limits: {max_header_bytes: 8192}\n");
    let long = "x".repeat(9000);
    let many: Vec<(String, String)> =
        (0..101).map(|n| (format!("x-{n}"), "1".to_owned())).collect();
    let many: Vec<(&str, &str)> =
        many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for headers in [vec![("x-long", long.as_str())], many] {
        let mut raw = Raw::open(service.address);
        raw.send(&request("GET", "/healthz", &headers, ""));
        // What it still sends may cut the answer short.
        assert!(raw.try_head().is_none_or(|head| head.status == 431));
        assert!(raw.has_ended());
    }
    let mut raw = Raw::open(service.address);
    raw.send("this is not http\r\n\r\n");
    assert!(raw.try_head().is_none_or(|head| head.status == 400));
    assert!(raw.has_ended());
}

#[test]
fn slow_request_head_and_body_time_out() {
    let upstream = Upstream::start();
    let limits = "limits: {header_timeout: 0.2, body_timeout: 0.2}\n";
    let (service, ada) = service_with(&upstream, limits);
    let mut silent = Raw::open(service.address);
    let mut drops = Raw::open(service.address);
    drops.send("POST /v1/models HTTP/1.1\r\nhost:");
    assert!(silent.has_ended() && drops.has_ended());
    let whole = request(
        "POST",
        CHAT,
        &[("authorization", &format!("Bearer {}", ada.key.as_str()))],
        &chat("x").to_string(),
    );
    let mut slow = Raw::open(service.address);
    slow.send(&whole[..whole.len() - 5]);
    let head = slow.head();
    let body: Value = serde_json::from_str(&slow.body()).unwrap();
    assert_eq!((head.status, &body["error"]["code"]), (408, &"body_timeout".into()));
    assert_eq!(body["error"]["message"], "timeout while reading the request body");
    assert!(slow.has_ended());
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn idle_timeout_is_separate_from_the_header_timeout() {
    let upstream = Upstream::start();
    let ask = "GET /healthz HTTP/1.1\r\nhost: here\r\n\r\n";
    let (service, _) = service_with(&upstream, "limits: {header_timeout: 0.2, idle_timeout: 60}\n");
    let mut raw = Raw::open(service.address);
    for _ in 0..2 {
        raw.send(ask);
        assert_eq!(raw.head().status, 200);
        raw.body();
        std::thread::sleep(Duration::from_millis(700)); // sleep: the time of several heads
    }
    let begun = Instant::now();
    raw.send(&ask[..20]);
    assert!(raw.has_ended());
    assert!((200..15_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());

    let (service, _) = service_with(&upstream, "limits: {header_timeout: 60, idle_timeout: 0.2}\n");
    let mut raw = Raw::open(service.address);
    raw.send(ask);
    assert_eq!(raw.head().status, 200);
    raw.body();
    let begun = Instant::now();
    assert!(raw.has_ended());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn slow_reader_is_not_closed_as_idle() {
    const WORDS: usize = 12 * 1024 * 1024;
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "limits: {idle_timeout: 0.2}\n");
    let body = chat(&"x".repeat(WORDS));
    let mut raw = Raw::post(service.address, CHAT, ada.key.as_str(), &body);
    assert_eq!(raw.head().status, 200);
    std::thread::sleep(Duration::from_millis(700)); // sleep: longer than a client may be idle
    assert!(raw.body().len() > WORDS);
    assert!(raw.has_ended());
    assert_eq!(paid(&service, &ada), PRICE);
}

#[test]
fn a_body_over_the_limit_is_rejected_before_reading() {
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "limits: {max_body_bytes: 1024}\n");
    let bearer = format!("Bearer {}", ada.key.as_str());
    let mut announced = Raw::open(service.address);
    announced.send(&format!(
        "POST {CHAT} HTTP/1.1\r\nhost: here\r\nauthorization: {bearer}\r\ncontent-length: 1025\r\n\r\n"
    ));
    assert_eq!(announced.head().status, 413);
    let mut chunked = Raw::open(service.address);
    chunked.send(&format!(
        "POST {CHAT} HTTP/1.1\r\nhost: here\r\nauthorization: {bearer}\r\n\
         transfer-encoding: chunked\r\n\r\n400\r\n{}\r\n1\r\nx\r\n",
        "x".repeat(1024)
    ));
    assert_eq!(chunked.head().status, 413);
    // A client without a key is not waited for.
    let mut unknown = Raw::open(service.address);
    unknown.send(&format!("POST {CHAT} HTTP/1.1\r\nhost: here\r\ncontent-length: 1000000\r\n\r\n"));
    assert_eq!(unknown.head().status, 401);
    let mut packed = Raw::open(service.address);
    let headers = [("authorization", bearer.as_str()), ("content-encoding", "gzip")];
    packed.send(&request("POST", CHAT, &headers, "xx"));
    assert_eq!(packed.head().status, 400);
    assert_eq!(upstream.completions().len(), 0);
}

#[test]
fn connections_over_the_limit_wait_for_a_slot() {
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "limits: {max_connections: 2}\n");
    let bearer = format!("Bearer {}", ada.key.as_str());
    let ask = request("GET", "/v1/models", &[("authorization", &bearer)], "");
    let mut open = [(); 2].map(|()| Raw::open(service.address));
    for raw in &mut open {
        raw.send(&ask);
        assert_eq!(raw.head().status, 200);
        raw.body();
    }
    let mut third = Raw::open(service.address);
    third.send(&ask);
    // The two go on to be served while the third waits.
    for turn in 0..10 {
        let raw = &mut open[turn % 2];
        raw.send(&ask);
        assert_eq!(raw.head().status, 200);
        raw.body();
    }
    third.stream().set_nonblocking(true).unwrap();
    assert!(third.stream().read(&mut [0]).is_err());
    third.stream().set_nonblocking(false).unwrap();
    drop(open);
    assert_eq!(third.head().status, 200);
}

#[test]
fn the_oldest_idle_keyless_connection_is_closed_at_the_limit() {
    let upstream = Upstream::start();
    let (service, ada) = service_with(&upstream, "limits: {max_connections: 3}\n");
    let bearer = format!("Bearer {}", ada.key.as_str());
    let with_key = |path| request("GET", path, &[("authorization", &bearer)], "");
    let mut known = Raw::open(service.address);
    let ask = |raw: &mut Raw, path| {
        raw.send(&with_key(path));
        assert_eq!(raw.head().status, 200);
        raw.body()
    };
    ask(&mut known, "/v1/models");
    let [mut oldest, mut newest] = [(); 2].map(|()| Raw::open(service.address));
    eventually("all are open", || {
        ask(&mut known, "/metrics").contains("\nagent_gateway_connections 3\n")
    });
    let mut client = Raw::open(service.address);
    ask(&mut client, "/v1/models");
    assert!(oldest.has_ended());
    // Nobody else was closed: neither the older one that has a key, nor the newer one.
    newest.send(&request("GET", "/healthz", &[], ""));
    assert_eq!(newest.head().status, 200);
    ask(&mut known, "/v1/models");
}

#[test]
fn connections_per_address_are_limited() {
    let upstream = Upstream::start();
    let limits = "limits: {max_connections_per_address: 2, exempt_addresses: [10.0.0.0/8]}\n";
    let (service, _) = service_with(&upstream, limits);
    let ask = |raw: &mut Raw| {
        raw.send(&request("GET", "/healthz", &[], ""));
        raw.try_head().is_some_and(|head| head.status == 200)
    };
    let mut open = [(); 2].map(|()| Raw::open(service.address));
    assert!(open.iter_mut().all(ask));
    assert!(Raw::open(service.address).has_ended());
    drop(open);
    eventually("there is room again", || {
        let mut raw = Raw::open(service.address);
        raw.stream().write_all(request("GET", "/healthz", &[], "").as_bytes()).is_ok()
            && raw.try_head().is_some_and(|head| head.status == 200)
    });
}

#[test]
fn open_paths_reject_foreign_hosts() {
    let upstream = Upstream::start();
    let (service, _) = service_with(&upstream, "mcp: {allowed_hosts: [inside.example]}\n");
    for path in ["/metrics", "/docs", "/openapi.json"] {
        for (host, status) in [
            ("localhost", 200),
            ("127.0.0.1:8930", 200),
            ("inside.example", 200),
            ("rebound.example", 403),
        ] {
            let mut raw = Raw::open(service.address);
            raw.send(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
            assert_eq!(raw.head().status, status, "{path} {host}");
        }
    }
}

#[test]
fn metrics_can_have_a_separate_listener() {
    let upstream = Upstream::start();
    let address = agent_test_support::port::free();
    let (service, ada) = service_with(&upstream, &format!("metrics_listen: {address}\n"));
    assert_eq!(service.get("/metrics", ada.key.as_str()).failure().0, 404);
    let ask = |path: &str, host: &str| {
        let mut raw = Raw::open(address);
        raw.send(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        (raw.head().status, raw.body())
    };
    let (status, figures) = ask("/metrics", "localhost");
    assert!(status == 200 && figures.contains("agent_gateway_connections"), "{figures}");
    assert_eq!(ask("/metrics", "rebound.example").0, 403);
    for path in ["/v1/models", CHAT, "/docs", "/"] {
        assert_eq!(ask(path, "localhost").0, 404, "{path}");
    }
}

#[test]
fn non_utf8_paths_get_a_regular_error() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    for path in
        ["/v1/models/%ff", "/v1/responses/%ff", "/v1/responses/%ff/input_items", "/v1/requests/%ff"]
    {
        let answer = service.get(path, ada.key.as_str());
        assert_eq!(answer.failure(), (404, "not_found".to_owned()), "{path} {}", answer.text());
    }
    let answer = service.get("/v1/responses/x?stream=perhaps", ada.key.as_str());
    assert_eq!(answer.failure(), (400, "invalid_request".to_owned()));
}

#[test]
fn unfinished_body_is_not_a_request() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let whole = request(
        "POST",
        CHAT,
        &[("authorization", &format!("Bearer {}", ada.key.as_str()))],
        &chat("x").to_string(),
    );
    let raw = Raw::open(service.address);
    let mut stream = raw.stream();
    stream.write_all(&whole.as_bytes()[..whole.len() - 5]).unwrap();
    drop(raw);
    eventually("nothing runs", || {
        service
            .get("/metrics", "")
            .text()
            .lines()
            .any(|line| line == "agent_gateway_requests_running 1")
    });
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (0, 0));
}
