//! A scripted model server that answers and fails as a test defines, over real HTTP on a loopback
//! port.
//!
//! It has the interfaces of providers: `GET /v1/models`, `POST /v1/chat/completions` and `POST
//! /v1/responses` as OpenAI documents them, `POST /v1/messages` as Anthropic does, each as a stream
//! or whole, and [`media`]. It requires its key ([`Upstream::key`]) and rejects requests as
//! strictly as the real servers where a translation may go wrong.
//!
//! A [`Step`] defines the response to a request. The first of these decides: the script of its
//! model ([`Upstream::script`]), a mark `[[step]]` in its last user message, the name of its model
//! (the part after the last `/`), the default ([`Upstream::set_default`]). So a third-party client
//! can choose by the model it requests. The names are in [`Step::named`].

mod anthropic;
mod chat;
mod connection;
mod dialect;
mod encode;
mod generated_answer;
pub mod media;
mod model_request;
mod pass_through;
mod recorded_request;
mod responses;
mod server_state;
mod step;
mod step_runner;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use recorded_request::{Outcome, RecordedRequest};
pub use step::{Responder, Step};

use crate::wait::{eventually, lock};
use server_state::ServerState;

const BACKLOG: i32 = 4096;

/// Whether [`Upstream`] has `POST /v1/responses`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponsesApi {
    Offered,
    /// Answers 404, as servers with only chat completions do.
    Absent,
}

/// A scripted model server inside the test process.
#[derive(Debug)]
pub struct Upstream {
    state: Arc<ServerState>,
}

impl Upstream {
    pub fn start() -> Self {
        Self::start_on(0)
    }

    pub fn start_on(port: u16) -> Self {
        let listener = listen(port).expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let state = Arc::new(ServerState::new(port));
        connection::accept(&state, listener);
        Self { state }
    }

    /// The base URL for clients; it ends in `/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.state.origin())
    }

    pub fn origin(&self) -> String {
        self.state.origin()
    }

    /// The required key, as a bearer token or in `x-api-key`.
    pub fn key(&self) -> &str {
        &self.state.key
    }

    /// Sets the steps of the next requests for this model, one each.
    pub fn script(&self, model: &str, steps: Vec<Step>) {
        lock(&self.state.control).scripts.entry(model.to_owned()).or_default().extend(steps);
    }

    /// Sets the step where nothing else decides; [`Step::Echo`] at first.
    pub fn set_default(&self, step: Step) {
        lock(&self.state.control).default = step;
    }

    pub fn set_models(&self, models: &[&str]) {
        lock(&self.state.control).models = models.iter().map(|&model| model.to_owned()).collect();
    }

    pub fn set_responses(&self, api: ResponsesApi) {
        lock(&self.state.control).responses = api;
    }

    /// Requires no key from now on, as local model servers do.
    pub fn want_no_key(&self) {
        lock(&self.state.control).accepts_any_key = true;
    }

    /// Releases every request that waits at a gate, and all later ones.
    pub fn open_gate(&self) {
        self.state.gate.store(true, Ordering::SeqCst);
    }

    /// Makes requests wait at gates again, as at the start.
    pub fn close_gate(&self) {
        self.state.gate.store(false, Ordering::SeqCst);
    }

    /// All requests so far, oldest first, in their current state.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.state.exchanges).iter().map(|exchange| lock(&exchange.seen).clone()).collect()
    }

    /// Requests whose client disconnected before the complete response.
    pub fn cancelled(&self) -> Vec<RecordedRequest> {
        self.requests().into_iter().filter(|seen| seen.outcome == Outcome::Cancelled).collect()
    }

    /// Requests for completions of any kind, without lists of models.
    pub fn completions(&self) -> Vec<RecordedRequest> {
        self.requests().into_iter().filter(|seen| seen.method == "POST").collect()
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    pub fn open_connections(&self) -> usize {
        lock(&self.state.live).len()
    }

    pub fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::SeqCst)
    }

    pub fn most_in_flight(&self) -> usize {
        self.state.most_in_flight.load(Ordering::SeqCst)
    }

    /// Closes every connection, idle ones too, and accepts new ones.
    pub fn cut_connections(&self) {
        self.state.cut_connections();
    }

    /// Closes every connection and refuses new ones until [`come_back`](Self::come_back).
    pub fn go_down(&self) {
        self.state.close_port();
        self.state.cut_connections();
        eventually("all connections are cut", || self.open_connections() == 0);
    }

    /// Accepts connections again, on the same port.
    pub fn come_back(&self) {
        if self.state.is_open() {
            return;
        }
        let mut listener = None;
        eventually("the port is free again", || {
            listener = listen(self.state.port).ok();
            listener.is_some()
        });
        if let Some(listener) = listener {
            connection::accept(&self.state, listener);
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.state.close_port();
        self.state.cut_connections();
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    // A thousand clients connect at the same moment.
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}
