//! Requests and notifications of a server.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Inner;
use crate::host::{ClientEvent, ServerRequest};
use crate::message::{self, Message, RawJson, RpcError, plain_text, truncated};
use crate::protocol::roots;
use crate::server_log::ServerLog;
use crate::sync::lock;

const MAX_CONCURRENT_REQUESTS: usize = 16;
const MAX_LOG_CHARS: usize = 2000;
const FLOOD_WARNING_INTERVAL: Duration = Duration::from_secs(10);
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the task that handles them; it ends with the session.
pub(super) fn start(inner: &Arc<Inner>, mut events: mpsc::Receiver<Message>) {
    let weak = Arc::downgrade(inner);
    let router = Arc::clone(&inner.router);
    inner.tasks.spawn(async move {
        let places = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
        let mut warned: Option<Instant> = None;
        let mut running: HashMap<String, AbortHandle> = HashMap::new();
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                _ = router.closed() => None,
            };
            let (Some(event), Some(inner)) = (event, weak.upgrade()) else { break };
            running.retain(|_, task| !task.is_finished());
            match event {
                Message::Request { id, method, params } => {
                    // A stateless server asks in its results; its other requests are ignored.
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
                        // These need no work, so they never queue up.
                        _ => reply_at_once(&inner, &id, &method).await,
                    }
                }
                Message::Notification { method, params } => {
                    if method == "notifications/cancelled" {
                        let id = params.map(|params| params.value()["requestId"].to_string());
                        if let Some(task) = id.and_then(|id| running.remove(&id)) {
                            task.abort();
                        }
                    } else {
                        handle_notification(&inner, &method, params.as_ref());
                    }
                }
                // The router delivers no other messages.
                _ => {}
            }
            if warned.is_some_and(|at: Instant| at.elapsed() < FLOOD_WARNING_INTERVAL) {
                continue;
            }
            let dropped = inner.router.take_dropped();
            if dropped > 0 {
                warned = Some(Instant::now());
                let text = format!(
                    "{dropped} messages dropped: the server sends them faster than they can be \
                     processed"
                );
                inner.host.warn(&inner.entry.name, text);
            }
        }
        for (_, task) in running {
            task.abort();
        }
    });
}

async fn answer(
    inner: Weak<Inner>,
    id: RawJson,
    method: String,
    params: Option<RawJson>,
    _place: OwnedSemaphorePermit,
) {
    let Some(inner) = inner.upgrade() else { return };
    let _asking = inner.router.answering();
    let params = params.map_or(Value::Null, |params| params.value());
    reply(&inner, &id, handle_request(&inner, &method, params).await).await;
}

/// Replies to a ping, or rejects a request over the limit.
async fn reply_at_once(inner: &Inner, id: &RawJson, method: &str) {
    let answer = if method == "ping" {
        Ok(json!({}))
    } else {
        let reason = format!(
            "too many concurrent requests: the limit is {MAX_CONCURRENT_REQUESTS}, each with a \
             unique id"
        );
        Err(RpcError::new(RpcError::INTERNAL, reason))
    };
    reply(inner, id, answer).await;
}

async fn reply(inner: &Inner, id: &RawJson, answer: Result<Value, RpcError>) {
    let body = message::reply(id.text(), &answer);
    let _ = tokio::time::timeout(REPLY_TIMEOUT, inner.connection.send_message(body)).await;
}

pub(super) async fn handle_request(
    inner: &Inner,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
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
                return Err(RpcError::new(-1, "sampling is disabled for this server"));
            }
            entry.sampling.timeout
        }
        "roots/list" if entry.roots => return Ok(roots(entry, &inner.host)),
        // Hosts may implement roots themselves.
        "roots/list" => Duration::from_secs(10),
        other => return Err(RpcError::unsupported(&truncated(other, 100))),
    };
    let request = ServerRequest { server: Arc::clone(entry), method: method.to_owned(), params };
    match tokio::time::timeout(within, inner.host.requests.answer(request)).await {
        Ok(answer) => answer,
        Err(_) if method == "elicitation/create" => Ok(json!({ "action": "cancel" })),
        Err(_) => {
            let message = format!("no response within {} s", within.as_secs());
            Err(RpcError::new(-1, message))
        }
    }
}

fn handle_notification(inner: &Inner, method: &str, params: Option<&RawJson>) {
    if method != "notifications/message" {
        return;
    }
    let Some(params) = params.map(RawJson::value) else { return };
    let text = plain_text(&params["data"]);
    let text: String = inner.host.redactor.redact(&text).chars().take(MAX_LOG_CHARS).collect();
    let level: String = params["level"].as_str().unwrap_or("info").chars().take(20).collect();
    if let Some(folder) = &inner.host.log_dir {
        let mut log = lock(&inner.log);
        let log = log.get_or_insert_with(|| ServerLog::open(folder, &inner.entry.name));
        let line = format!("[{level}] {}\n", text.replace('\n', "\n  "));
        log.write(line.as_bytes(), &inner.host.redactor);
    }
    inner.host.observer.event(ClientEvent::Log { server: inner.entry.name.clone(), level, text });
}
