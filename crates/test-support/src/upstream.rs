//! A model server of ours that answers, and fails, as it is told: real HTTP on a port of loopback.
//!
//! It speaks what providers speak: `GET /v1/models`, `POST /v1/chat/completions` and
//! `POST /v1/responses` as OpenAI documents them, `POST /v1/messages` as Anthropic does, each as a
//! stream or whole, and [`media`]. It wants its own key ([`Upstream::key`]) and is as strict about requests as the
//! real ones are where a translation may go wrong.
//!
//! What becomes of a request is a [`Step`]. The first of these that says something decides:
//! the script of its model ([`Upstream::script`]), a mark `[[step]]` in its last user message, the
//! name of its model (what stands after the last `/`), the default ([`Upstream::set_default`]).
//! A client that is not ours can so choose by the model it asks for. The names are in [`Step::named`].

mod answer;
mod anthropic;
mod ask;
mod chat;
mod connection;
mod dialect;
mod encode;
pub mod media;
mod play;
mod responses;
mod seen;
mod site;
mod step;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use seen::{Outcome, Seen};
pub use step::{Speaker, Step};

use crate::wait::eventually;
use site::Site;

/// How many connections may wait to be taken.
const BACKLOG: i32 = 4096;

/// Whether [`Upstream`] has `POST /v1/responses`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponsesApi {
    /// It has.
    Offered,
    /// It answers 404, as servers do that know chat completions only.
    Absent,
}

/// A scripted model server inside the process of the test.
#[derive(Debug)]
pub struct Upstream {
    site: Arc<Site>,
}

impl Upstream {
    /// Starts it on a free port.
    ///
    /// # Panics
    /// If no port can be had.
    pub fn start() -> Self {
        Self::start_on(0)
    }

    /// Starts it on this port.
    ///
    /// # Panics
    /// If the port is in use.
    #[expect(clippy::expect_used, reason = "a test without its peer cannot continue")]
    pub fn start_on(port: u16) -> Self {
        let listener = listen(port).expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let site = Arc::new(Site::new(port));
        connection::accept(&site, listener);
        Self { site }
    }

    /// What clients take for their base address; it ends in `/v1`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.site.origin())
    }

    /// Its scheme, host and port.
    pub fn origin(&self) -> String {
        self.site.origin()
    }

    /// The key it wants, as a bearer or in `x-api-key`.
    pub fn key(&self) -> &str {
        &self.site.key
    }

    /// Says what happens to the next requests for this model, one step for each.
    pub fn script(&self, model: &str, steps: Vec<Step>) {
        self.site.control().scripts.entry(model.to_owned()).or_default().extend(steps);
    }

    /// Says what happens where nothing else decides; [`Step::Echo`] unless told.
    pub fn set_default(&self, step: Step) {
        self.site.control().default = step;
    }

    /// Says which models it lists.
    pub fn set_models(&self, models: &[&str]) {
        self.site.control().models = models.iter().map(|&model| model.to_owned()).collect();
    }

    /// Switches `POST /v1/responses` on or off.
    pub fn set_responses(&self, api: ResponsesApi) {
        self.site.control().responses = api;
    }

    /// Wants no key from now on, as model servers on one's own machine do.
    pub fn want_no_key(&self) {
        self.site.control().open_door = true;
    }

    /// Lets every request go on that waits at a gate, and all that come later.
    pub fn open_gate(&self) {
        self.site.gate.store(true, Ordering::SeqCst);
    }

    /// Makes requests wait at gates again, as in the beginning.
    pub fn close_gate(&self) {
        self.site.gate.store(false, Ordering::SeqCst);
    }

    /// All requests so far, oldest first, as they stand now.
    pub fn requests(&self) -> Vec<Seen> {
        self.site.exchanges().iter().map(|exchange| exchange.snapshot()).collect()
    }

    /// Those whose client went before it had its whole answer.
    pub fn cancelled(&self) -> Vec<Seen> {
        let mut requests = self.requests();
        requests.retain(|seen| seen.outcome == Outcome::Cancelled);
        requests
    }

    /// Requests for completions of any kind, without listings of models.
    pub fn completions(&self) -> Vec<Seen> {
        let mut requests = self.requests();
        requests.retain(|seen| seen.method == "POST");
        requests
    }

    /// How many connections were ever made.
    pub fn connections(&self) -> usize {
        self.site.connections.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub fn open_connections(&self) -> usize {
        self.site.live().len()
    }

    /// How many requests are being answered.
    pub fn in_flight(&self) -> usize {
        self.site.in_flight.load(Ordering::SeqCst)
    }

    /// The most that were ever answered at the same time.
    pub fn most_in_flight(&self) -> usize {
        self.site.most_in_flight.load(Ordering::SeqCst)
    }

    /// Cuts every connection, those between two requests too; new ones are taken.
    pub fn cut_connections(&self) {
        self.site.cut_connections();
    }

    /// Cuts every connection and refuses new ones until it comes back.
    ///
    /// # Panics
    /// If the port stays open.
    pub fn go_down(&self) {
        self.site.close_port();
        self.site.cut_connections();
        eventually("all connections are cut", || self.open_connections() == 0);
    }

    /// Takes connections again, on the same port.
    ///
    /// # Panics
    /// If somebody else took the port.
    pub fn come_back(&self) {
        if self.site.is_open() {
            return;
        }
        let mut listener = None;
        eventually("the port can be had again", || {
            listener = listen(self.site.port).ok();
            listener.is_some()
        });
        if let Some(listener) = listener {
            connection::accept(&self.site, listener);
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.site.close_port();
        self.site.cut_connections();
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    // A thousand clients come at the same moment.
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}
