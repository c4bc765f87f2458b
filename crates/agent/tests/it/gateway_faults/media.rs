//! Media and a process that is killed: what is charged can be had.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use agent_test_support::upstream::media::png;
use agent_test_support::wait::DEADLINE;
use rustix::process::Signal;
use serde_json::Value;

use super::{Setup, StoreKind};

const BODY: &str = r#"{"model": "made/paint", "input": {"prompt": "x"}}"#;

/// A configuration with a model that paints, and a place for what it makes.
fn configure(setup: &Setup, artifacts: &str) {
    setup.fixture.configure(&format!(
        "  made:\n    kind: openai\n    base_url: {}\n    api_key: ${{UPSTREAM_KEY}}\n    \
         health: false\n    models: {{paint: {{capabilities: [image], price_micros: 1000}}}}\n\
         {artifacts}hold_lease_seconds: 2\n",
        setup.fixture.upstream.base_url()
    ));
}

/// A bucket that takes a file and never says so; the bodies that came.
fn silent_bucket() -> (String, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, bodies) = mpsc::channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept() {
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
                let lower = line.to_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let _ = sender.send(body);
            open.push(reader);
        }
    });
    (format!("http://{address}"), bodies)
}

#[test]
fn a_kill_between_storage_and_charge_charges_nothing() {
    let setup = Setup::new(&StoreKind::Sqlite, 5);
    let (endpoint, bodies) = silent_bucket();
    configure(
        &setup,
        &format!(
            "artifacts: {{url: \"s3://made-here\", endpoint: \"{endpoint}\", access_key_id: a, \
             secret_access_key: b}}\n"
        ),
    );
    let mut served = setup.fixture.serve();
    let mut client = std::net::TcpStream::connect(&served.address).unwrap();
    crate::gateway::send(&mut client, ("POST", "/v1/media/run"), &setup.key, BODY);
    assert_eq!(bodies.recv_timeout(DEADLINE).unwrap(), png("x"), "the bytes are in the bucket");
    assert_eq!(setup.member()["held_micros"], 1000);
    served.signal(Signal::KILL);
    served.wait();
    let _served = setup.fixture.serve();
    agent_test_support::wait::eventually("the hold is released", || {
        setup.member()["held_micros"] == 0
    });
    assert_eq!(setup.member()["balance_micros"], setup.credit);
    assert_eq!(setup.fixture.run(["ledger", "check"]).code, 0);
}

#[test]
fn a_kill_after_the_charge_keeps_the_file_available() {
    let setup = Setup::new(&StoreKind::Sqlite, 5);
    configure(&setup, "");
    let mut served = setup.fixture.serve();
    let (status, body) = served.ask("POST", "/v1/media/run", &setup.key, BODY);
    assert_eq!(status, 200, "{body}");
    served.signal(Signal::KILL);
    served.wait();
    let made: Value = serde_json::from_str(&body).unwrap();
    let id = made["artifacts"][0]["id"].as_str().unwrap();
    let served = setup.fixture.serve();
    let mut client = std::net::TcpStream::connect(&served.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let path = format!("/v1/media/artifacts/{id}");
    crate::gateway::send(&mut client, ("GET", &path), &setup.key, "");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&png("x")));
    assert_eq!(setup.member()["balance_micros"], setup.credit - 1000);
    assert_eq!(setup.fixture.run(["ledger", "check"]).code, 0);
}
