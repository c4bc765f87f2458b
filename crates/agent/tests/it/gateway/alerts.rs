//! Operators are told about balances, limits, providers and the ledger.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use agent_test_support::postgres::Cluster;
use agent_test_support::smtp::Smtp;
use agent_test_support::upstream::Step;
use agent_test_support::wait::eventually;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;

use super::{Fixture, Served};

const SECRET: &str = "a-webhook-secret-of-at-least-32-chars";

/// A receiver of webhooks, which verifies every signature.
struct Receiver {
    address: String,
    came: Arc<Mutex<Vec<Value>>>,
    /// Statuses of the next answers; then 204.
    answers: Arc<Mutex<Vec<u16>>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (came, answers) =
            (Arc::<Mutex<Vec<Value>>>::default(), Arc::<Mutex<Vec<u16>>>::default());
        let (seen, next) = (came.clone(), answers.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(message) = receive(&stream) else { continue };
                seen.lock().unwrap().push(message);
                let status = next.lock().unwrap().pop().unwrap_or(204);
                let answer = format!(
                    "HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Self { address, came, answers }
    }

    fn config(&self) -> String {
        format!("  webhook: {{url: \"http://{}/hook\", secret: {SECRET}}}\n", self.address)
    }

    fn came(&self) -> Vec<Value> {
        self.came.lock().unwrap().clone()
    }

    fn messages(&self) -> Vec<String> {
        let text = |it: &Value| it["data"]["message"].as_str().unwrap().to_owned();
        self.came().iter().map(text).collect()
    }
}

/// Reads a request; its body, with the id of the message.
fn receive(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut header = std::collections::HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let Some((name, value)) = line.trim().split_once(": ") else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        header.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; header["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let (id, at) = (&header["webhook-id"], &header["webhook-timestamp"]);
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = STANDARD.decode(header["webhook-signature"].strip_prefix("v1,").unwrap());
    let signed = format!("{id}.{at}.{body}");
    assert!(hmac::verify(&key, signed.as_bytes(), &signature.unwrap()).is_ok(), "{header:?}");
    let mut message: Value = serde_json::from_str(&body).unwrap();
    message["webhook-id"] = id.clone().into();
    Some(message)
}

/// A member with money for ten requests.
fn ten_requests(fixture: &Fixture) -> String {
    assert_eq!(fixture.run(["member", "create", "alice"]).code, 0);
    top_up(fixture, "10000");
    let run = fixture.run(["key", "create", "alice", "--name", "laptop", "--quiet"]);
    run.stdout.trim().to_owned()
}

fn top_up(fixture: &Fixture, micros: &str) {
    let run =
        fixture.run(["member", "top-up", "alice", micros, "--micros", "--reason", "for the test"]);
    assert_eq!(run.code, 0, "{run:?}");
}

fn chat(served: &Served, key: &str, times: usize) {
    for _ in 0..times {
        assert_eq!(served.chat(key, "test/echo").0, 200);
    }
}

#[test]
fn balance_thresholds_alert_once_per_top_up() {
    let (fixture, receiver) = (Fixture::new(), Receiver::start());
    let key = ten_requests(&fixture);
    fixture.configure(&format!("alerts:\n  shares: [50, 80]\n  retry: 0.1\n{}", receiver.config()));
    receiver.answers.lock().unwrap().extend([503, 500]);
    let served = fixture.serve();
    chat(&served, &key, 4);
    chat(&served, &key, 2);
    eventually("half is used, and the third try is accepted", || receiver.came().len() == 3);
    let first = receiver.came()[0].clone();
    assert_eq!(first["type"], "alert.balance", "{first}");
    assert_eq!(first["data"]["subject"], "mem_1", "{first}");
    assert!(receiver.came().iter().all(|it| it["webhook-id"] == first["webhook-id"]));
    chat(&served, &key, 1);
    // A restart forgets nothing.
    assert_eq!(served.stop().0, Some(0));
    let served = fixture.serve();
    chat(&served, &key, 1);
    eventually("four fifths are used", || receiver.came().len() == 4);
    top_up(&fixture, "8000");
    chat(&served, &key, 5);
    eventually("half is used again", || receiver.came().len() == 5);
    let messages = receiver.messages();
    assert!(messages[3].contains("80 %") && messages[4].contains("50 %"), "{messages:?}");
    let listed = fixture.json(["alerts", "list"])["deliveries"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 3, "{listed:?}");
    assert_eq!((&listed[2]["state"], &listed[2]["tries"]), (&"delivered".into(), &3.into()));
}

#[test]
fn provider_limit_and_ledger_problems_send_alerts() {
    let (fixture, receiver) = (Fixture::new(), Receiver::start());
    let key = ten_requests(&fixture);
    fixture.configure(&format!("alerts:\n  shares: [100]\n{}", receiver.config()));
    let path = fixture.agent.home().join("gateway/gateway.yaml");
    let text = fs::read_to_string(&path).unwrap().replace("[echo, ", "[echo, status-401, ");
    fs::write(&path, text).unwrap();
    let id = &key[4..16];
    assert_eq!(fixture.run(["key", "change", id, "--spend-limit", "0.002"]).code, 0);
    let served = fixture.serve();
    assert_eq!(served.chat(&key, "test/status-401").0, 503);
    eventually("the key of the provider is refused", || receiver.came().len() == 1);
    assert_eq!(receiver.messages()[0], "the provider test rejects the configured key");
    chat(&served, &key, 2);
    eventually("the limit of the key is reached", || receiver.came().len() == 2);
    assert!(receiver.messages()[1].starts_with("key laptop (agk_"), "{:?}", receiver.messages());
    let database = rusqlite::Connection::open(fixture.agent.home().join("gateway/gateway.sqlite3"));
    let sql = "UPDATE postings SET amount = amount + 1 WHERE id = 1";
    database.unwrap().execute(sql, []).unwrap();
    assert_eq!(fixture.run(["ledger", "check"]).code, 1);
    assert_eq!(fixture.run(["ledger", "check"]).code, 1);
    eventually("the ledger is wrong", || receiver.came().len() == 3);
    assert_eq!(receiver.came()[2]["type"], "alert.ledger");
    let run = fixture.run(["alerts", "test"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(receiver.came().last().unwrap()["type"], "alert.test");
    assert_eq!(receiver.came().len(), 4, "each was told once");
}

#[test]
fn an_exhausted_member_budget_sends_an_alert() {
    let (fixture, receiver) = (Fixture::new(), Receiver::start());
    let key = ten_requests(&fixture);
    assert_eq!(fixture.run(["member", "budget", "alice", "0.004/month"]).code, 0);
    fixture.configure(&format!("alerts:\n  shares: [75]\n{}", receiver.config()));
    let served = fixture.serve();
    chat(&served, &key, 3);
    eventually("three quarters are used", || receiver.came().len() == 1);
    let alert = &receiver.came()[0];
    assert_eq!(alert["type"], "alert.budget");
    assert_eq!(alert["data"]["message"], "mem_1 has used 75 % of its budget of this period");
    chat(&served, &key, 1);
    assert_eq!(served.chat(&key, "test/echo").0, 402);
    assert_eq!(receiver.came().len(), 1, "a share alerts once");
}

#[test]
fn a_provider_that_is_down_or_ejected_sends_an_alert() {
    for (health, message) in [
        ("{interval: 0.05, timeout: 1, failures: 2}", "fails its probes and is out of rotation"),
        (
            "{interval: 600, failures: 2, eject: 600}",
            "failed several requests in a row and is out of rotation for a while",
        ),
    ] {
        let (fixture, receiver) = (Fixture::new(), Receiver::start());
        let key = ten_requests(&fixture);
        fixture.configure(&format!("    health: {health}\nalerts:\n{}", receiver.config()));
        let served = fixture.serve();
        chat(&served, &key, 1);
        if health.contains("600") {
            fixture.upstream.script("echo", vec![Step::Status(500), Step::Status(500)]);
            for _ in 0..2 {
                assert_eq!(served.chat(&key, "test/echo").0, 503);
            }
        } else {
            fixture.upstream.go_down();
        }
        eventually(message, || !receiver.came().is_empty());
        let came = receiver.came();
        assert_eq!((&came[0]["type"], came.len()), (&"alert.provider".into(), 1));
        assert_eq!(receiver.messages()[0], format!("the provider test {message}"));
    }
}

#[test]
fn key_budgets_and_team_balances_send_alerts() {
    let (fixture, receiver) = (Fixture::new(), Receiver::start());
    let key = ten_requests(&fixture);
    for command in [
        &["key", "change", &key[4..16], "--budget", "0.004/month"][..],
        &["team", "create", "crew", "--credit", "0.008"],
        &["team", "join", "crew", "alice"],
    ] {
        let output = fixture.command::<0>([]).args(command).output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
    fixture.configure(&format!("alerts:\n  shares: [50]\n{}", receiver.config()));
    let served = fixture.serve();
    chat(&served, &key, 2);
    eventually("half of the budget is used", || receiver.came().len() == 1);
    let message = &receiver.messages()[0];
    assert!(message.starts_with("key laptop (agk_"), "{message}");
    assert!(message.ends_with("has used 50 % of its budget of this period"), "{message}");
    chat(&served, &key, 2);
    eventually("half of the balance is used", || receiver.came().len() == 2);
    assert_eq!(receiver.messages()[1], "mem_2 has used 50 % of its balance since the last top-up");
    assert_eq!(receiver.came()[1]["type"], "alert.balance");
}

#[test]
fn alerts_are_sent_by_mail() {
    let fixture = Fixture::new();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = fixture.agent.home();
    let (certificate, private) = (folder.join("mail.pem"), folder.join("mail.key"));
    fs::write(&certificate, certified.cert.pem()).unwrap();
    fs::write(&private, certified.signing_key.serialize_pem()).unwrap();
    let (plain, encrypted) = (Smtp::start(), Smtp::start_encrypted(&certificate, &private));
    let who = "from: Gateway <gateway@example.com>, to: [ops@example.com, \"Bo <bo@example.com>\"]";
    fixture.configure(&format!(
        "alerts:\n  email: {{host: 127.0.0.1, port: {}, security: none, {who}}}\n",
        plain.port()
    ));
    let served = fixture.serve();
    let run = fixture.run(["alerts", "test"]);
    assert_eq!(run.code, 0, "{run:?}");
    let message = plain.messages().pop().unwrap();
    assert_eq!(message["to"], serde_json::json!(["ops@example.com", "bo@example.com"]));
    let text = message["text"].as_str().unwrap();
    assert!(text.contains("Subject: Alert: this is a test of the alerts"), "{text}");
    assert!(text.contains("From: Gateway <gateway@example.com>"), "{text}");
    let (user, password) = Smtp::USER;
    fixture.configure(&format!(
        "alerts:\n  email: {{host: localhost, port: {}, username: {user}, password: {password}, \
         tls_ca_file: {}, {who}}}\n",
        encrypted.port(),
        certificate.display(),
    ));
    assert_eq!(fixture.run(["reload"]).code, 0);
    let run = fixture.run(["alerts", "test"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(encrypted.messages().pop().unwrap()["encrypted"], true);
    assert_eq!(plain.messages().len(), 1);
    assert_eq!(served.stop().0, Some(0));
    // Nothing is sent in the clear to another machine, and addresses are checked.
    fixture.configure(
        "alerts:\n  email: {host: mail.example.com, security: none, from: a, to: [b@c.d]}\n",
    );
    let run = fixture.run(["check", "--offline"]);
    assert!(run.stdout.contains("alerts.email.from"), "{run:?}");
}

#[test]
fn an_alert_is_resent_after_a_crash_before_it_was_marked() {
    let (fixture, receiver) = (Fixture::new(), Receiver::start());
    fixture.configure(&format!("alerts:\n  shares: []\n{}", receiver.config()));
    let served = fixture.serve();
    assert_eq!(fixture.run(["alerts", "test"]).code, 0);
    drop(served);
    // The state of the outbox after a kill between the answer and the mark, with its lease over.
    let database = rusqlite::Connection::open(fixture.agent.home().join("gateway/gateway.sqlite3"));
    let sql = "UPDATE alert_deliveries SET outcome = NULL, due_at = 0";
    database.unwrap().execute(sql, []).unwrap();
    let _served = fixture.serve();
    eventually("it is sent again", || receiver.came().len() == 2);
    let came = receiver.came();
    assert_eq!(came[0]["webhook-id"], came[1]["webhook-id"], "the receiver recognises it");
}

#[test]
fn an_alert_of_two_processes_is_sent_once() {
    let database = Arc::new(Cluster::start_new()).database();
    let (fixture, receiver) = (Fixture::bare(), Receiver::start());
    fixture.configure(&format!(
        "database: \"{}\"\nalerts:\n  shares: [50]\n{}",
        database.url(),
        receiver.config()
    ));
    assert_eq!(fixture.run(["migrate"]).code, 0);
    let key = ten_requests(&fixture);
    let (first, second) = (fixture.serve(), fixture.serve());
    // Both processes see both sides of the share.
    for _ in 0..4 {
        chat(&first, &key, 1);
        chat(&second, &key, 1);
    }
    eventually("half is used", || !receiver.came().is_empty());
    chat(&first, &key, 1);
    chat(&second, &key, 1);
    // A later alert of each process is behind anything that was stored before.
    assert_eq!(fixture.run(["alerts", "test"]).code, 0);
    let kinds: Vec<Value> = receiver.came().iter().map(|it| it["type"].clone()).collect();
    assert_eq!(kinds, ["alert.balance", "alert.test"], "{:?}", receiver.messages());
    assert_eq!((first.stop().0, second.stop().0), (Some(0), Some(0)));
    let listed = fixture.json(["alerts", "list"])["deliveries"].as_array().unwrap().len();
    assert_eq!(listed, 2);
}
