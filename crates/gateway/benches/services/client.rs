//! Single requests, before and between measurements.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::service::{Home, Service};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long an index may take to be there.
const MAX_INDEXING: Duration = Duration::from_mins(30);
/// How often an index is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A member who asks a service.
#[derive(Debug)]
pub(crate) struct Client {
    origin: String,
    bearer: String,
    agent: ureq::Agent,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Client {
    /// The first member of a home.
    pub(crate) fn new(service: &Service, home: &Home) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .new_agent();
        let bearer = format!("Bearer {}", home.keys[0]);
        Self { origin: format!("http://{}", service.address), bearer, agent }
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let url = format!("{}{path}", self.origin);
        let request = self.agent.post(url).header("authorization", &self.bearer);
        let mut answer = request.send_json(body).expect("an answer");
        let status = answer.status().as_u16();
        Answer { status, body: answer.body_mut().read_json().expect("JSON") }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let url = format!("{}{path}", self.origin);
        let request = self.agent.get(url).header("authorization", &self.bearer);
        let mut answer = request.call().expect("an answer");
        let status = answer.status().as_u16();
        Answer { status, body: answer.body_mut().read_json().expect("JSON") }
    }

    /// Waits until the index can be searched.
    pub(crate) fn wait_for_index(&self) {
        let begun = Instant::now();
        while self.post("/v1/search", &json!({"query": "anything"})).status != 200 {
            assert!(begun.elapsed() < MAX_INDEXING, "the index is not there");
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Answer {
    /// The body of a success.
    pub(crate) fn good(self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.body);
        self.body
    }
}
