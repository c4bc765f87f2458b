//! Hearing of changes from a stateless server: one long request for the life of the session.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;

use super::Inner;
use crate::error::Error;
use crate::message::{self, Meta, Params};
use crate::router::{Lasts, Router};
use crate::transport::{Link, Outgoing};

/// The first wait before a broken subscription is opened again; it doubles up to the last.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LAST_WAIT: Duration = Duration::from_mins(1);
/// A subscription that lasted this long starts over with the first wait.
const STEADY: Duration = Duration::from_secs(30);
/// How often a server may refuse before it is left alone.
const MAX_REFUSALS: u32 = 3;

/// Subscribes to every list that the server says can change.
pub(super) fn keep(inner: &Arc<Inner>) {
    let Some(agreed) = inner.agreed.get() else { return };
    let mut filter = serde_json::Map::new();
    for (capability, key) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if agreed.announces_changes(capability) {
            filter.insert(key.to_owned(), json!(true));
        }
    }
    if filter.is_empty() {
        return;
    }
    let params = Params::new().with("notifications", &filter);
    let (weak, router) = (Arc::downgrade(inner), Arc::clone(&inner.router));
    inner.tasks.spawn(async move {
        tokio::select! {
            _ = router.closed() => {}
            () = listen(weak, params, Arc::clone(&router)) => {}
        }
    });
}

async fn listen(inner: Weak<Inner>, params: Params, router: Arc<Router>) {
    let mut wait = FIRST_WAIT;
    let mut refusals = 0;
    loop {
        let began = tokio::time::Instant::now();
        // The session must be able to end while we listen, so only the link is kept for a moment.
        let Some(strong) = inner.upgrade() else { return };
        let id = strong.next_id.fetch_add(1, Ordering::Relaxed);
        let meta =
            Meta { standing: strong.standing.get().map_or("", String::as_str), progress: false };
        let method = "subscriptions/listen";
        let body = message::request(id, method, &params, meta);
        let mut ticket = router.register(id, None, Lasts::AsTheSession);
        let outcome = match &strong.link {
            Link::Stdio(link) => match link.send(&body) {
                Ok(()) => {
                    drop(strong);
                    ticket.answer.await.unwrap_or(Err(Error::Closed))
                }
                Err(error) => Err(error),
            },
            Link::Http(link) => {
                let link = link.clone();
                drop(strong);
                let outgoing = Outgoing { id, method, body, headers: Vec::new() };
                link.request(&outgoing, &mut ticket).await
            }
            Link::Sse(_) => return,
        };
        router.forget(id);
        if router.close_reason().is_some() {
            return;
        }
        // An end in good order, or a broken stream, is no refusal: it is opened again.
        if !matches!(outcome, Ok(_) | Err(Error::Broken { .. } | Error::Unreachable { .. })) {
            refusals += 1;
        }
        if refusals == MAX_REFUSALS {
            return;
        }
        if began.elapsed() > STEADY {
            wait = FIRST_WAIT;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LAST_WAIT);
        // Whatever changed meanwhile was not heard: look again.
        router.all_changed();
    }
}
