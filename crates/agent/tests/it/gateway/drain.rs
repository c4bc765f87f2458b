//! A drained provider gets no new requests, on any process.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::sync::Arc;

use agent_test_support::postgres::Cluster;
use agent_test_support::wait::eventually;

use super::{Fixture, chat_body, send};

const TOKEN: &str = "an-admin-token-of-at-least-32-characters";

#[test]
fn drained_provider_finishes_requests_and_rejects_new_ones() {
    let database = Arc::new(Cluster::start_new()).database();
    let fixture = Fixture::bare();
    fixture.configure(&format!("admin_token: {TOKEN}\ndatabase: \"{}\"\n", database.url()));
    assert_eq!(fixture.run(["migrate"]).code, 0);
    let key = fixture.alice();
    let (first, second) = (fixture.serve(), fixture.serve());
    let mut stream = TcpStream::connect(&first.address).unwrap();
    send(&mut stream, ("POST", "/v1/chat/completions"), &key, &chat_body("test/gate-mid", true));
    let mut reader = BufReader::new(stream);
    let mut begun = String::new();
    while !begun.contains("data: ") {
        assert!(reader.read_line(&mut begun).unwrap() > 0, "{begun}");
    }
    let (status, body) = first.ask("POST", "/admin/v1/providers/test/drain", TOKEN, "");
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("\"health\":\"drained\""), "{body}");
    assert_eq!(first.chat(&key, "test/echo").0, 503);
    eventually("the other process follows", || second.chat(&key, "test/echo").0 == 503);
    fixture.upstream.open_gate();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("data: [DONE]"), "{rest}");
    // It stays drained after a restart and after a reload.
    assert_eq!(second.stop().0, Some(0));
    let second = fixture.serve();
    assert_eq!(second.chat(&key, "test/echo").0, 503);
    assert_eq!(fixture.run(["reload"]).code, 0);
    assert_eq!(first.chat(&key, "test/echo").0, 503);
    assert_eq!(fixture.json(["provider", "list"])["providers"][0]["drained"], true);
    let run = fixture.run(["provider", "enable", "test"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.ends_with("test gets new requests again.\n"), "{run:?}");
    for served in [&first, &second] {
        eventually("it is enabled", || served.chat(&key, "test/echo").0 == 200);
    }
    assert_eq!(fixture.run(["provider", "drain", "tset"]).code, 1);
    assert_eq!(first.ask("POST", "/admin/v1/providers/tset/drain", TOKEN, "").0, 404);
}
