//! Money under fault: whatever breaks, it adds up afterwards.

mod disks;
mod failover;
mod kills;
mod media;
mod races;
mod research;
mod restarts;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use agent_test_support::postgres::{Cluster, Database};
use agent_test_support::wait::eventually;
use serde_json::Value;

use crate::gateway::{Fixture, Served, chat_body, request};

/// What a request costs, in micro-credits.
const PRICE: i64 = 1000;
/// Leases so short that a test can wait for their end.
const LEASE: &str = "hold_lease_seconds: 2\n";
/// A client needs little more than its buffers.
const STACK_BYTES: usize = 128 * 1024;

/// Where the books are kept.
enum StoreKind {
    Sqlite,
    Postgres,
}

/// A service with one member, and what its books are kept in.
struct Setup {
    fixture: Fixture,
    database: Option<Database>,
    key: String,
    /// What the member was given.
    credit: i64,
}

impl Setup {
    /// A member who can pay for so many requests.
    fn new(books: &StoreKind, requests: i64) -> Self {
        let database = match books {
            StoreKind::Sqlite => None,
            StoreKind::Postgres => Some(Arc::new(Cluster::start_new()).database()),
        };
        let place = database
            .as_ref()
            .map_or_else(String::new, |database| format!("database: \"{}\"\n", database.url()));
        Self::with(&place, database, requests)
    }

    fn with(place: &str, database: Option<Database>, requests: i64) -> Self {
        let fixture = Fixture::bare();
        fixture.configure(&format!("{place}{LEASE}log:\n  requests: false\n"));
        let run = fixture.run(["migrate"]);
        assert_eq!(run.code, 0, "{run:?}");
        let credit = requests * PRICE;
        let run = fixture.run(["member", "create", "alice"]);
        assert_eq!(run.code, 0, "{run:?}");
        let amount = credit.to_string();
        let run = fixture
            .run(["member", "top-up", "alice", &amount, "--micros", "--reason", "for the test"]);
        assert_eq!(run.code, 0, "{run:?}");
        let run = fixture.run(["key", "create", "alice", "--name", "test", "--quiet"]);
        assert_eq!(run.code, 0, "{run:?}");
        let key = run.stdout.trim().to_owned();
        Self { fixture, database, key, credit }
    }

    fn member(&self) -> Value {
        self.fixture.json(["member", "show", "alice"])
    }

    /// How many requests were charged.
    fn charged(&self) -> u64 {
        let balance = self.member()["balance_micros"].as_i64().unwrap();
        let spent = self.credit - balance;
        assert_eq!(spent % PRICE, 0);
        u64::try_from(spent / PRICE).unwrap()
    }

    /// Waits until no hold is left, then adds everything up again.
    fn wait_until_settled(&self) {
        eventually("every hold ends", || self.member()["held_micros"] == 0);
        let check = self.fixture.run(["ledger", "check", "--json"]);
        assert_eq!(check.code, 0, "{check:?}");
    }
}

/// What clients saw.
#[derive(Default)]
struct ResponseCounts {
    /// Answers with success that came whole.
    answered: AtomicU64,
    /// Requests that were sent, and whose answer did not come whole.
    cut: AtomicU64,
    /// Answers that said why not.
    refused: AtomicU64,
    /// Answers with a status that no fault explains.
    wrong: AtomicU64,
}

impl ResponseCounts {
    fn count(&self, seen: &Seen) {
        let counter = match seen {
            Seen::Whole => &self.answered,
            Seen::Cut => &self.cut,
            Seen::Status(402 | 429 | 503) => &self.refused,
            Seen::Status(_) => &self.wrong,
            Seen::NotSent => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

/// What became of one request.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// Success, and all of it.
    Whole,
    /// Sent, and no whole answer.
    Cut,
    /// A whole answer that is no success.
    Status(u16),
    /// It never left.
    NotSent,
}

/// Sends one request and looks at what comes.
fn ask(address: &str, key: &str, streamed: bool) -> Seen {
    let Ok(mut stream) = TcpStream::connect(address) else { return Seen::NotSent };
    let body = chat_body("test/echo", streamed);
    let request = request(("POST", "/v1/chat/completions"), key, &body);
    if stream.write_all(request.as_bytes()).is_err() {
        // Some of it may have arrived.
        return Seen::Cut;
    }
    let mut answer = Vec::new();
    let is_over = stream.read_to_end(&mut answer).is_ok();
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
    match status {
        Some(200) if is_over && is_whole(&answer, streamed) => Seen::Whole,
        Some(200) | None => Seen::Cut,
        Some(status) => Seen::Status(status),
    }
}

/// Whether nothing of an answer is missing.
fn is_whole(answer: &str, streamed: bool) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    if streamed {
        return body.contains("data: [DONE]");
    }
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.and_then(|length| length.parse().ok()) == Some(body.len())
}

/// Clients that ask again and again, until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(addresses: &[String], key: &str, clients: usize, tally: &Arc<ResponseCounts>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let clients = (0..clients).map(|number| {
            let address = addresses[number % addresses.len()].clone();
            let (key, tally, stop) = (key.to_owned(), tally.clone(), stop.clone());
            let client = move || {
                let mut streamed = number % 2 == 0;
                while !stop.load(Ordering::Relaxed) {
                    tally.count(&ask(&address, &key, streamed));
                    streamed = !streamed;
                }
            };
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn(client).unwrap()
        });
        let clients = clients.collect();
        Self { stop, clients }
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().unwrap();
        }
    }
}

/// Waits until so many requests were answered.
fn until_answered(tally: &ResponseCounts, count: u64) {
    eventually("requests are answered", || ResponseCounts::get(&tally.answered) >= count);
}

/// The addresses of services.
fn addresses(services: &[Served]) -> Vec<String> {
    services.iter().map(|service| service.address.clone()).collect()
}
