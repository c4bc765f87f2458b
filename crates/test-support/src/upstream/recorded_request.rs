//! A request that the model server received, and its outcome.

use std::ops::Deref;
use std::sync::Mutex;
use std::time::Instant;

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
    request: Request,
    /// The number of its connection, from 0.
    pub connection: usize,
    /// The time when it was completely received.
    pub came: Instant,
    pub ended: Option<Instant>,
    pub outcome: Outcome,
    /// The number of response bytes handed to the network.
    pub sent_bytes: usize,
}

impl Deref for RecordedRequest {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
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
        let seen = RecordedRequest {
            request: request.clone(),
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
