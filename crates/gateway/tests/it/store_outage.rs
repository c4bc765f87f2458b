//! The books go away when an answer is there and is to be charged.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use agent_test_support::postgres::{Cluster, StopMode};
use agent_test_support::upstream::Upstream;
use agent_test_support::wait::eventually;
use serde_json::Value;

use crate::fixture::{chat, chat_stream, in_postgres, paid, response};
use crate::raw::Raw;
use crate::support::{PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn streamed(mut body: Value) -> Value {
    body["stream"] = true.into();
    body
}

/// Whether nothing comes for a moment.
fn is_silent(raw: &Raw) -> bool {
    let stream = raw.stream();
    let before = stream.read_timeout().unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let came = stream.peek(&mut [0]);
    stream.set_read_timeout(before).unwrap();
    matches!(came, Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

#[test]
fn answer_is_sent_only_after_its_charge() {
    let upstream = Upstream::start();
    let cluster = Arc::new(Cluster::start_new());
    let service = Running::start(&in_postgres(&upstream, &cluster.database(), ""));
    let ada = service.holder("ada", 1000 * PRICE);
    let asked = [
        (CHAT, chat("[[gate]] a b")),
        (CHAT, chat_stream("[[gate]] a b")),
        (RESPONSES, response("[[gate]] a b")),
        (RESPONSES, streamed(response("[[gate]] a b"))),
    ];
    for mode in [StopMode::Immediate, StopMode::Fast] {
        upstream.close_gate();
        let before = paid(&service, &ada);
        let asking = asked.iter().map(|(path, body)| {
            (Raw::post(service.address, path, ada.key.as_str(), body), body["stream"] == true)
        });
        let mut clients: Vec<(Raw, bool)> = asking.collect();
        eventually("all are asked", || upstream.in_flight() == asked.len());
        cluster.stop(mode);
        upstream.open_gate();
        eventually("all are answered", || upstream.in_flight() == 0);
        eventually("the books are missed", || service.get("/readyz", "").status == 503);
        // What is to be charged as a whole waits as a whole.
        for (raw, _) in clients.iter().filter(|(_, is_streamed)| !is_streamed) {
            assert!(is_silent(raw));
        }
        cluster.start();
        let mut answered = 0;
        for (raw, is_streamed) in &mut clients {
            let head = raw.head();
            let text = raw.body();
            let is_whole = match (head.status, *is_streamed) {
                (200, false) => true,
                (200, true) => text.contains("[DONE]") || text.contains("response.completed"),
                (503, false) => false,
                (status, _) => panic!("{status} {text}"),
            };
            answered += i64::from(is_whole);
        }
        let charged = paid(&service, &ada) - before;
        assert_eq!(charged, answered * PRICE);
        // They were away for a moment, and answers wait for longer than that.
        assert_eq!(answered, 4);
    }
}
