//! The log line of a request. Code on its way notes facts; the line is written when the last part of
//! the request has ended, so that the line of a stream has its tokens and its charge, and that of a
//! disconnected client the rule that was applied.
//!
//! The log of the current request is a task-local; [`carry`] hands it to a task that is spawned for
//! the request.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gateway_store::KeyRecord;
use http::{Method, Request, Uri};
use ledger::{HoldId, Micros, Receipt, TokenCounts};

use crate::request_info::Route;

tokio::task_local! {
    static CURRENT: Arc<RequestLog>;
}

/// Maximum characters of a path in a log line or an error.
const MAX_PATH_CHARS: usize = 200;

#[derive(Debug)]
pub(crate) struct RequestLog {
    pub(crate) id: HoldId,
    pub(crate) route: Route,
    pub(crate) begun: Instant,
    peer: SocketAddr,
    method: Method,
    uri: Uri,
    facts: Mutex<Facts>,
}

#[derive(Debug, Default)]
struct Facts {
    is_wanted: bool,
    caller: Option<Arc<KeyRecord>>,
    is_operator: bool,
    model: Option<Arc<str>>,
    tokens: TokenCounts,
    charged: Option<Micros>,
    rule: Option<&'static str>,
    status: u16,
    code: &'static str,
    /// Time until the head of the response.
    head: Duration,
    /// Time until the upstream began to answer.
    upstream: Option<Duration>,
}

impl RequestLog {
    pub(crate) fn new<B>(
        id: HoldId,
        route: Route,
        request: &Request<B>,
        peer: SocketAddr,
    ) -> Arc<Self> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let facts = Mutex::default();
        Arc::new(Self { id, route, begun: Instant::now(), peer, method, uri, facts })
    }

    /// Runs work with this as the log of the current request.
    pub(crate) async fn scope<F: Future>(self: &Arc<Self>, work: F) -> F::Output {
        CURRENT.scope(self.clone(), work).await
    }

    /// Notes the head of the response; the line is written when the request has ended.
    pub(crate) fn answered(&self, status: u16, code: &'static str) {
        let mut facts = self.facts();
        facts.is_wanted = true;
        (facts.status, facts.code, facts.head) = (status, code, self.begun.elapsed());
    }

    pub(crate) fn ended(&self, receipt: &Receipt) {
        let mut facts = self.facts();
        facts.model.clone_from(&receipt.model);
        facts.tokens = receipt.tokens;
        facts.charged = Some(receipt.charged);
        facts.rule = Some(receipt.rule.as_str());
    }

    /// Whether it carried a valid key or the operator's token.
    pub(crate) fn is_authenticated(&self) -> bool {
        let facts = self.facts();
        facts.is_operator || facts.caller.is_some()
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let facts = self.facts.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !facts.is_wanted {
            return;
        }
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let key = facts.caller.as_ref().map(|caller| &caller.key);
        let model = facts.model.as_deref();
        tracing::info!(
            request = %self.id,
            method = %self.method,
            route = self.route.pattern,
            operation = self.route.operation,
            path = sanitized_path(self.uri.path()),
            status = facts.status,
            code = facts.code,
            member = key.map(|key| tracing::field::display(key.member)),
            key = key.map(|key| key.id.as_str()),
            model,
            provider = model.and_then(|model| model.split_once('/')).map(|(provider, _)| provider),
            input_tokens = facts.tokens.input,
            output_tokens = facts.tokens.output,
            charge_micros = facts.charged.map(Micros::get),
            rule = facts.rule,
            upstream_us = facts.upstream.map(micros),
            head_us = micros(facts.head),
            took_us = micros(self.begun.elapsed()),
            peer = %self.peer,
            "answered"
        );
    }
}

pub(crate) fn current() -> Option<Arc<RequestLog>> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Wraps work that another task does for the current request.
pub(crate) fn carry<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let log = current();
    async move {
        match log {
            Some(log) => CURRENT.scope(log, work).await,
            None => work.await,
        }
    }
}

pub(crate) fn note_caller(caller: &Arc<KeyRecord>) {
    note(|facts| facts.caller = Some(caller.clone()));
}

pub(crate) fn note_operator() {
    note(|facts| facts.is_operator = true);
}

/// Notes the model, and the time until its upstream began to answer.
pub(crate) fn note_upstream(model: &Arc<str>, took: Duration) {
    note(|facts| {
        facts.model = Some(model.clone());
        facts.upstream = Some(took);
    });
}

fn note(what: impl FnOnce(&mut Facts)) {
    let _ = CURRENT.try_with(|log| what(&mut log.facts()));
}

/// A path for logs and errors: bounded, printable, without anything that looks like a key.
pub(crate) fn sanitized_path(path: &str) -> String {
    let visible = |letter: char| if letter.is_ascii_graphic() { letter } else { '?' };
    let shown: String = path.chars().take(MAX_PATH_CHARS).map(visible).collect();
    let hidden = shown.split('/').map(|part| match part.find(wire::key::PREFIX) {
        Some(start) => format!("{}{}…", &part[..start], wire::key::PREFIX),
        None => part.to_owned(),
    });
    hidden.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
