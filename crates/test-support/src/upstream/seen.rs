//! What the server keeps of a request.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::http::Request;

/// How a request ended, as the server saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is being answered.
    InProgress,
    /// It got what its step says, be that a fault.
    Answered,
    /// Its client went before.
    Cancelled,
    /// The test cut the connection.
    Cut,
}

/// A request that came, and what became of it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// All headers as they came, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Which connection it came on, counted from 0.
    pub connection: usize,
    /// When it had come, whole.
    pub came: Instant,
    /// When it ended, in whatever way.
    pub ended: Option<Instant>,
    /// How it ended.
    pub outcome: Outcome,
    /// How many bytes of the answer were handed to the network.
    pub sent_bytes: usize,
}

impl Seen {
    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Its body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request that may still be in progress.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Its place in the order of requests.
    pub(super) number: usize,
    seen: Mutex<Seen>,
}

impl Exchange {
    pub(super) fn new(number: usize, connection: usize, request: &Request) -> Self {
        let seen = Seen {
            method: request.method.clone(),
            path: request.path.clone(),
            headers: request.headers().to_vec(),
            body: request.body.clone(),
            connection,
            came: Instant::now(),
            ended: None,
            outcome: Outcome::InProgress,
            sent_bytes: 0,
        };
        Self { number, seen: Mutex::new(seen) }
    }

    pub(super) fn snapshot(&self) -> Seen {
        self.seen().clone()
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.seen().sent_bytes += bytes;
    }

    pub(super) fn end(&self, outcome: Outcome) {
        let mut seen = self.seen();
        seen.outcome = outcome;
        seen.ended = Some(Instant::now());
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
