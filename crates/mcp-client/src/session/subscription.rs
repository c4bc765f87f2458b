//! List change notifications of a stateless server: one request for the life of the session.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;

use super::Inner;
use crate::error::Error;
use crate::message::{self, Params, RequestMeta};
use crate::router::{RequestKind, Router};
use crate::transport::{Connection, OutgoingRequest};

/// The delay before a broken subscription is opened again; it doubles up to the maximum.
const INITIAL_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(1);
/// A subscription that lasted this long resets the delay.
const DELAY_RESET_AFTER: Duration = Duration::from_secs(30);
/// How often a server may refuse before the subscription is abandoned.
const MAX_REFUSALS: u32 = 3;

pub(super) fn start(inner: &Arc<Inner>) {
    let Some(handshake) = inner.handshake.get() else { return };
    let mut filter = serde_json::Map::new();
    for (capability, key) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if handshake.announces_changes(capability) {
            filter.insert(key.to_owned(), json!(true));
        }
    }
    if filter.is_empty() {
        return;
    }
    let params = Params::default().with("notifications", &filter);
    let (weak, router) = (Arc::downgrade(inner), Arc::clone(&inner.router));
    inner.tasks.spawn(async move {
        tokio::select! {
            _ = router.closed() => {}
            () = listen(weak, params, Arc::clone(&router)) => {}
        }
    });
}

async fn listen(inner: Weak<Inner>, params: Params, router: Arc<Router>) {
    let mut wait = INITIAL_DELAY;
    let mut refusals = 0;
    loop {
        let began = tokio::time::Instant::now();
        // Holding the session here would keep it from closing, so only the connection is cloned.
        let Some(strong) = inner.upgrade() else { return };
        let id = strong.next_id.fetch_add(1, Ordering::Relaxed);
        let meta = RequestMeta {
            common: strong.common_meta.get().map_or("", String::as_str),
            progress: false,
        };
        let method = "subscriptions/listen";
        let body = message::request(id, method, &params, meta);
        let mut waiter = router.register(id, None, RequestKind::Subscription);
        let outcome = match &strong.connection {
            Connection::Stdio(connection) => match connection.send(&body) {
                Ok(()) => {
                    drop(strong);
                    waiter.answer.await.unwrap_or(Err(Error::Closed))
                }
                Err(error) => Err(error),
            },
            Connection::Http(connection) => {
                let connection = connection.clone();
                drop(strong);
                let outgoing = OutgoingRequest { id, method, body, headers: Vec::new() };
                connection.request(&outgoing, &mut waiter).await
            }
            Connection::Sse(_) => return,
        };
        router.forget(id);
        if router.close_reason().is_some() {
            return;
        }
        // A regular end or a broken stream is no refusal.
        if !matches!(outcome, Ok(_) | Err(Error::Broken { .. } | Error::Unreachable { .. })) {
            refusals += 1;
        }
        if refusals == MAX_REFUSALS {
            return;
        }
        if began.elapsed() > DELAY_RESET_AFTER {
            wait = INITIAL_DELAY;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(MAX_DELAY);
        // Changes in the meantime were missed: list again.
        router.all_changed();
    }
}
