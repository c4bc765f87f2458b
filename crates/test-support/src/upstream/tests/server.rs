//! Keys, counts, gates, and ports that close.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;

use serde_json::json;

use super::super::{Outcome, ResponsesApi, Upstream};
use super::{CHAT, Form, RESPONSES, ask, body, connect};
use crate::wait::eventually;

fn get(upstream: &Upstream, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(upstream.origin().trim_start_matches("http://")).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n{header}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn only_the_right_key_is_accepted() {
    let upstream = Upstream::start();
    let right = format!("Authorization: Bearer {}", upstream.key());
    let other = format!("x-api-key: {}\r\nanthropic-version: 2023-06-01", upstream.key());
    upstream.set_models(&["one"]);
    assert!(get(&upstream, "/v1/models", &right).contains("\"object\":\"list\""));
    assert!(get(&upstream, "/v1/models", &other).contains("\"display_name\":\"one\""));
    assert!(
        get(&upstream, "/v1/models", "Authorization: Bearer agk_1").starts_with("HTTP/1.1 401")
    );
    assert!(get(&upstream, "/v1/nothing", &right).starts_with("HTTP/1.1 404"));
    let seen = upstream.requests();
    assert_eq!(seen[2].header("authorization"), Some("Bearer agk_1"));
    assert_eq!((seen.len(), upstream.completions().len()), (4, 0));
}

#[test]
fn responses_api_can_be_disabled() {
    let upstream = Upstream::start();
    upstream.set_responses(ResponsesApi::Absent);
    assert_eq!(ask(&upstream, RESPONSES, "echo", Form::Whole).status(), 404);
    upstream.set_responses(ResponsesApi::Offered);
    assert_eq!(ask(&upstream, RESPONSES, "echo", Form::Whole).status(), 200);
}

#[test]
fn one_connection_carries_many_requests() {
    let upstream = Upstream::start();
    let config = ureq::Agent::config_builder().proxy(None).build();
    let agent = ureq::Agent::new_with_config(config);
    for form in [Form::Whole, Form::NumberedEvents, Form::Whole] {
        let mut answer = agent
            .post(format!("{}/chat/completions", upstream.base_url()))
            .header("authorization", format!("Bearer {}", upstream.key()))
            .send_json(body(CHAT, "echo", "hello there", form))
            .unwrap();
        assert!(answer.body_mut().read_to_string().unwrap().contains("there"));
    }
    assert_eq!((upstream.connections(), upstream.requests().len()), (1, 3));
    assert_eq!(upstream.requests()[1].json()["model"], json!("echo"));
}

#[test]
fn gate_releases_all_waiting_requests() {
    let upstream = Upstream::start();
    for model in ["gate", "gate-mid"] {
        upstream.close_gate();
        let upstream = &upstream;
        thread::scope(|scope| {
            let waiting: Vec<_> = [Form::Whole, Form::NumberedEvents]
                .map(|form| scope.spawn(move || ask(upstream, CHAT, model, form)))
                .into();
            eventually("both wait", || upstream.in_flight() == 2);
            upstream.open_gate();
            for answer in waiting {
                assert!(answer.join().unwrap().text().contains("three"));
            }
        });
    }
    assert_eq!(upstream.most_in_flight(), 2);
}

#[test]
fn server_returns_on_the_same_port() {
    let upstream = Upstream::start();
    let address = upstream.origin().trim_start_matches("http://").to_owned();
    let mut hanging = connect(&upstream, CHAT, &body(CHAT, "hang", "x", Form::Whole));
    eventually("it hangs", || upstream.in_flight() == 1);
    upstream.go_down();
    upstream.go_down();
    assert!(TcpStream::connect(&address).is_err());
    let mut scrap = Vec::new();
    assert!(hanging.read_to_end(&mut scrap).is_err() || scrap.is_empty());
    eventually("the request was cut", || upstream.requests()[0].outcome == Outcome::Cut);
    upstream.come_back();
    upstream.come_back();
    assert_eq!(ask(&upstream, CHAT, "echo", Form::Whole).status(), 200);
    drop(upstream);
    assert!(TcpStream::connect(&address).is_err());
}

#[test]
fn idle_connection_can_be_closed() {
    let upstream = Upstream::start();
    let stream = TcpStream::connect(upstream.origin().trim_start_matches("http://")).unwrap();
    eventually("it is open", || upstream.open_connections() == 1);
    upstream.cut_connections();
    assert_eq!(BufReader::new(stream).read_line(&mut String::new()).unwrap(), 0);
    assert_eq!(ask(&upstream, CHAT, "echo", Form::Whole).status(), 200);
}

#[test]
fn a_thousand_streams_can_be_open_at_once() {
    let upstream = Upstream::start();
    let request = body(CHAT, "gate-mid", "one two", Form::NumberedEvents);
    let streams: Vec<TcpStream> = (0..1000).map(|_| connect(&upstream, CHAT, &request)).collect();
    eventually("all are in flight", || upstream.in_flight() == 1000);
    upstream.open_gate();
    for mut stream in streams {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"), "{answer}");
    }
    assert_eq!(upstream.most_in_flight(), 1000);
}

#[test]
fn deepest_request_fits_the_small_stack() {
    let upstream = Upstream::start();
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    let mut request = body(CHAT, "echo", "hello", Form::Whole);
    request["metadata"] = serde_json::from_str(&deep).unwrap();
    let answer = super::exchange(&upstream, CHAT, &request);
    assert_eq!(answer.status(), 200);
}
