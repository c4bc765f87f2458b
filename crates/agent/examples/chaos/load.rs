//! Clients of every kind of operation, and what each of them received.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Answer, Request, Response};

/// The model that only requests with an `Idempotency-Key` use, so that its charges can be counted.
pub(crate) const REPEATED_MODEL: &str = "test/chunks-3";
/// How long a job or a repeated request may take to end after the faults have ended.
const FINISH: Duration = Duration::from_secs(90);
/// How long a job may take after the faults have ended before it is cancelled.
const CANCEL_AFTER: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(100);
const STACK_BYTES: usize = 256 * 1024;

/// What a client does again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Chat,
    Stream,
    Response,
    ResponseStream,
    Background,
    Research,
    Media,
    Search,
    Fetch,
    /// A chat with an `Idempotency-Key`, repeated until it is answered.
    Repeated,
}

const CLIENTS: &[Operation] = &[
    Operation::Chat,
    Operation::Chat,
    Operation::Stream,
    Operation::Stream,
    Operation::Response,
    Operation::ResponseStream,
    Operation::Background,
    Operation::Research,
    Operation::Media,
    Operation::Search,
    Operation::Fetch,
    Operation::Fetch,
    Operation::Repeated,
    Operation::Repeated,
];

/// How an operation ended for its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A complete answer: charged exactly once under this receipt.
    Complete { receipt: String },
    /// A complete error, or a job that failed: not charged.
    Failed { receipt: Option<String>, status: u16, code: String },
    /// The answer was cut, or the job was not seen to its end: charged at most once.
    Unknown,
    /// The service did not answer at all for longer than any fault lasts.
    Hung,
}

/// One operation and its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) operation: Operation,
    pub(crate) outcome: Outcome,
}

/// Running clients.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<Record>>>,
}

impl Load {
    pub(crate) fn start(addresses: &[SocketAddr], page_url: &str, key: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spawn = |(number, &operation): (usize, &Operation)| {
            let client = Client {
                operation,
                number,
                addresses: addresses.to_vec(),
                page_url: page_url.to_owned(),
                key: key.to_owned(),
                stop: Arc::clone(&stop),
                turn: number,
            };
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            builder.spawn(move || client.run()).unwrap()
        };
        let clients = CLIENTS.iter().enumerate().map(spawn).collect();
        Self { stop, clients }
    }

    /// Lets every client finish what it does, and returns what they received.
    pub(crate) fn finish(self) -> Vec<Record> {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    }
}

struct Client {
    operation: Operation,
    number: usize,
    addresses: Vec<SocketAddr>,
    page_url: String,
    key: String,
    stop: Arc<AtomicBool>,
    turn: usize,
}

impl Client {
    fn run(mut self) -> Vec<Record> {
        let mut records = Vec::new();
        while !self.is_stopping() {
            let Some(outcome) = self.operate() else {
                // Nobody listens: the service is being restarted.
                sleep(Duration::from_millis(5));
                continue;
            };
            records.push(Record { operation: self.operation, outcome });
        }
        records
    }

    /// Performs the operation once; `None` if the request was not sent.
    fn operate(&mut self) -> Option<Outcome> {
        match self.operation {
            Operation::Chat => self.post("/v1/chat/completions", &chat("test/echo", false)),
            Operation::Stream => self.post("/v1/chat/completions", &chat("test/drip-12-8", true)),
            Operation::Response => self.post("/v1/responses", &response("test/echo", false)),
            Operation::ResponseStream => {
                self.post("/v1/responses", &response("test/drip-12-8", true))
            }
            Operation::Media => self.post(
                "/v1/media/run",
                &json!({"model": "made/paint", "input": {"prompt": "x"}}).to_string(),
            ),
            Operation::Search => {
                self.post("/v1/search", &json!({"query": "sky", "max_results": 2}).to_string())
            }
            Operation::Fetch => self
                .post("/v1/web/fetch", &json!({"url": self.page_url, "max_age_s": 0}).to_string()),
            Operation::Background => self.job(
                "/v1/responses",
                &json!({"model": "test/slow-60", "input": "hi", "background": true}).to_string(),
            ),
            Operation::Research => self.job(
                "/v1/research/jobs",
                &json!({"query": "Why is the sky blue?", "depth": "quick", "model": "test/echo"})
                    .to_string(),
            ),
            Operation::Repeated => Some(self.repeat()),
        }
    }

    fn post(&mut self, path: &str, body: &str) -> Option<Outcome> {
        match self.send("POST", path, None, body) {
            Response::Complete(answer) if answer.status == 200 => Some(complete(&answer)),
            Response::Complete(answer) => Some(failed(&answer)),
            Response::Cut => Some(Outcome::Unknown),
            Response::Hung => Some(Outcome::Hung),
            Response::NotSent => None,
        }
    }

    /// Starts a job and polls it until it has ended.
    fn job(&mut self, path: &str, body: &str) -> Option<Outcome> {
        let answer = match self.send("POST", path, None, body) {
            Response::Complete(answer) if matches!(answer.status, 200 | 202) => answer,
            Response::Complete(answer) => return Some(failed(&answer)),
            Response::Cut => return Some(Outcome::Unknown),
            Response::Hung => return Some(Outcome::Hung),
            Response::NotSent => return None,
        };
        let id = answer.text_of("id");
        let receipt = receipt_of(&answer, &id);
        let status_path = format!("{path}/{id}");
        let mut deadline = Instant::now() + FINISH;
        while Instant::now() < deadline {
            sleep(POLL);
            if self.is_stopping() && deadline > Instant::now() + CANCEL_AFTER {
                deadline = Instant::now() + CANCEL_AFTER;
            }
            let Response::Complete(answer) = self.send("GET", &status_path, None, "") else {
                continue;
            };
            match answer.text_of("status").as_str() {
                "completed" => return Some(Outcome::Complete { receipt }),
                status @ ("failed" | "cancelled" | "expired" | "incomplete") => {
                    let code = format!("job {status}: {}", answer.json()["error"]);
                    return Some(Outcome::Failed { receipt: Some(receipt), status: 200, code });
                }
                _ => {}
            }
        }
        // A step that failed often is retried only after minutes.
        let cancel = self.send("POST", &format!("{status_path}/cancel"), None, "");
        let is_cancelled = matches!(cancel, Response::Complete(answer) if answer.status == 200);
        Some(if is_cancelled { Outcome::Unknown } else { Outcome::Hung })
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sends one request with an `Idempotency-Key` until it is answered.
    fn repeat(&mut self) -> Outcome {
        let key = format!("chaos-{}-{:x}", self.number, fastrand::u64(..));
        let body = chat(REPEATED_MODEL, self.turn.is_multiple_of(2));
        let deadline = Instant::now() + FINISH;
        while Instant::now() < deadline {
            match self.send("POST", "/v1/chat/completions", Some(&key), &body) {
                Response::Complete(answer) if answer.status == 200 => return complete(&answer),
                Response::Hung => return Outcome::Hung,
                _ => sleep(POLL),
            }
        }
        Outcome::Hung
    }

    /// Sends to the services in turn, as a load balancer would.
    fn send(&mut self, method: &str, path: &str, repeat: Option<&str>, body: &str) -> Response {
        self.turn += 1;
        let address = self.addresses[self.turn % self.addresses.len()];
        Request { method, path, key: &self.key, idempotency_key: repeat, body }.send(address)
    }
}

fn complete(answer: &Answer) -> Outcome {
    let receipt = receipt_of(answer, "");
    Outcome::Complete { receipt }
}

fn failed(answer: &Answer) -> Outcome {
    let receipt = answer.header("x-request-id").map(str::to_owned);
    let code = answer.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
    if code == "outcome_unknown" {
        return Outcome::Unknown;
    }
    Outcome::Failed { receipt, status: answer.status, code }
}

/// The receipt that an answer names, or the one with the digits of a job's id.
fn receipt_of(answer: &Answer, id: &str) -> String {
    match (id.split_once('_'), answer.header("x-receipt-id")) {
        (Some((_, digits)), None) => format!("req_{digits}"),
        (_, named) => named.unwrap_or_default().to_owned(),
    }
}

fn chat(model: &str, stream: bool) -> String {
    json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": "hello"}]})
        .to_string()
}

fn response(model: &str, stream: bool) -> String {
    json!({"model": model, "stream": stream, "input": "hello"}).to_string()
}
