//! What a server says and asks by itself.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Inner;
use crate::host::{Event, ServerRequest};
use crate::message::{self, Payload, RpcError, head};
use crate::router::PeerEvent;

/// How many requests of one server are answered at once.
const MAX_REQUESTS: usize = 16;
/// How much of a server's log message is passed on.
const MAX_LOG_CHARS: usize = 2000;
/// How often a flood is told of.
const FLOOD_PAUSE: Duration = Duration::from_secs(10);
/// How long telling our answer may take.
const REPLY: Duration = Duration::from_secs(5);

/// Starts the task that answers; it ends with the session.
pub(super) fn start(inner: &Arc<Inner>, mut events: mpsc::Receiver<PeerEvent>) {
    let weak = Arc::downgrade(inner);
    let router = Arc::clone(&inner.router);
    inner.tasks.spawn(async move {
        let places = Arc::new(Semaphore::new(MAX_REQUESTS));
        let mut told: Option<Instant> = None;
        let mut running: HashMap<String, AbortHandle> = HashMap::new();
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                _ = router.closed() => None,
            };
            let (Some(event), Some(inner)) = (event, weak.upgrade()) else { break };
            running.retain(|_, task| !task.is_finished());
            match event {
                PeerEvent::Request { id, method, params } => {
                    // A stateless server asks in its results; anything else it sends is ignored.
                    if inner.stateless_http() {
                        continue;
                    }
                    let doubled = running.contains_key(id.text());
                    match Arc::clone(&places).try_acquire_owned() {
                        Ok(place) if !doubled && method != "ping" => {
                            let answering = answer(weak.clone(), id.clone(), method, params, place);
                            let task = inner.tasks.spawn(answering);
                            running.insert(id.text().to_owned(), task.abort_handle());
                        }
                        // These cost nothing to answer, so they never wait and never pile up.
                        _ => answer_at_once(&inner, &id, &method).await,
                    }
                }
                PeerEvent::Notification { method, params } => {
                    if method == "notifications/cancelled" {
                        let id = params.map(|params| params.value()["requestId"].to_string());
                        if let Some(task) = id.and_then(|id| running.remove(&id)) {
                            task.abort();
                        }
                    } else {
                        notified(&inner, &method, params.as_ref());
                    }
                }
            }
            if told.is_some_and(|told: Instant| told.elapsed() < FLOOD_PAUSE) {
                continue;
            }
            let dropped = inner.router.take_dropped();
            if dropped > 0 {
                told = Some(Instant::now());
                let text =
                    format!("{dropped} of its messages came faster than they could be looked at");
                inner
                    .host
                    .observer
                    .event(Event::Warning { server: inner.entry.name.clone(), text });
            }
        }
        for (_, task) in running {
            task.abort();
        }
    });
}

async fn answer(
    inner: Weak<Inner>,
    id: Payload,
    method: String,
    params: Option<Payload>,
    _place: OwnedSemaphorePermit,
) {
    let Some(inner) = inner.upgrade() else { return };
    let _asking = inner.router.asking();
    let params = params.map_or(Value::Null, |params| params.value());
    let body = match fulfil(&inner, &method, params).await {
        Ok(result) => message::reply_result(id.text(), &result),
        Err(error) => message::reply_error(id.text(), &error),
    };
    let _ = tokio::time::timeout(REPLY, inner.link.tell(body)).await;
}

/// Answers what needs no work: a ping, and what is too much.
async fn answer_at_once(inner: &Inner, id: &Payload, method: &str) {
    let body = if method == "ping" {
        message::reply_result(id.text(), &json!({}))
    } else {
        let reason = format!("the most requests at once is {MAX_REQUESTS}, each with its own id");
        message::reply_error(id.text(), &RpcError::new(RpcError::INTERNAL, reason))
    };
    let _ = tokio::time::timeout(REPLY, inner.link.tell(body)).await;
}

/// Answers one request of a server within the entry's policy.
pub(super) async fn fulfil(inner: &Inner, method: &str, params: Value) -> Result<Value, RpcError> {
    let entry = &inner.entry;
    let within = match method {
        "ping" => return Ok(json!({})),
        "elicitation/create" => {
            let by_address = params.get("mode").and_then(Value::as_str) == Some("url");
            if by_address || !entry.elicitation.enabled {
                return Ok(json!({ "action": "decline" }));
            }
            entry.elicitation.timeout
        }
        "sampling/createMessage" => {
            if !entry.sampling.enabled {
                return Err(RpcError::new(-1, "sampling is switched off for this server"));
            }
            entry.sampling.timeout
        }
        "roots/list" => Duration::from_secs(10),
        other => {
            let message = format!("this client does not answer {}", head(other, 100));
            return Err(RpcError::new(RpcError::METHOD_NOT_FOUND, message));
        }
    };
    let request = ServerRequest { server: Arc::clone(entry), method: method.to_owned(), params };
    match tokio::time::timeout(within, inner.host.requests.answer(request)).await {
        Ok(answer) => answer,
        Err(_) if method == "elicitation/create" => Ok(json!({ "action": "cancel" })),
        Err(_) => {
            let message = format!("no answer within {} s", within.as_secs());
            Err(RpcError::new(-1, message))
        }
    }
}

fn notified(inner: &Inner, method: &str, params: Option<&Payload>) {
    if method != "notifications/message" {
        return;
    }
    let Some(params) = params.map(Payload::value) else { return };
    let text = match &params["data"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text: String = inner.host.redactor.clean(&text).chars().take(MAX_LOG_CHARS).collect();
    let level = params["level"].as_str().unwrap_or("info").chars().take(20).collect();
    inner.host.observer.event(Event::Log { server: inner.entry.name.clone(), level, text });
}
