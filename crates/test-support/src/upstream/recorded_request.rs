//! A request that the model server received, and its outcome.

use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use crate::http::Request;
use crate::wait::lock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    InProgress,
    /// It was handled as its step defines, be it with a fault.
    Answered,
    /// The client disconnected before the end.
    Cancelled,
    /// The test closed the connection.
    Cut,
}

#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub method: String,
    /// Path and query.
    pub path: String,
    /// All headers in the order received, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The number of its connection, from 0.
    pub connection: usize,
    /// The time when it was completely received.
    pub came: Instant,
    pub ended: Option<Instant>,
    pub outcome: Outcome,
    /// The number of response bytes handed to the network.
    pub sent_bytes: usize,
}

impl RecordedRequest {
    /// The first header of this name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request that may still be in progress.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) number: usize,
    pub(super) seen: Mutex<RecordedRequest>,
}

impl Exchange {
    pub(super) fn new(number: usize, connection: usize, request: &Request) -> Self {
        let Request { method, path, headers, body } = request.clone();
        let seen = RecordedRequest {
            method,
            path,
            headers,
            body,
            connection,
            came: Instant::now(),
            ended: None,
            outcome: Outcome::InProgress,
            sent_bytes: 0,
        };
        Self { number, seen: Mutex::new(seen) }
    }

    pub(super) fn sent(&self, bytes: usize) {
        lock(&self.seen).sent_bytes += bytes;
    }

    pub(super) fn end(&self, outcome: Outcome) {
        let mut seen = lock(&self.seen);
        seen.outcome = outcome;
        seen.ended = Some(Instant::now());
    }
}
