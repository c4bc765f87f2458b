//! Subscriptions to changes of lists and of watched resources.
//!
//! A stateless server reports them as long as a request for them is open: one for the lists,
//! for the life of the session, and one for the watched resources, reopened when these change.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Inner, Request, Session, Timeouts};
use crate::error::Error;
use crate::message::{self, Params, RawJson};
use crate::protocol::Era;
use crate::router::{RequestKind, Router};
use crate::transport::OutgoingRequest;

/// The delay before a broken subscription is opened again; it doubles up to the maximum.
const INITIAL_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(1);
/// A subscription that lasted this long resets the delay.
const DELAY_RESET_AFTER: Duration = Duration::from_secs(30);
/// Maximum number of refusals before the subscription is abandoned.
const MAX_REFUSALS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Lists,
    Resources,
}

pub(super) fn start(inner: &Arc<Inner>) {
    for subject in [Subject::Lists, Subject::Resources] {
        let (weak, router) = (Arc::downgrade(inner), Arc::clone(&inner.router));
        inner.tasks.spawn(async move {
            tokio::select! {
                _ = router.closed() => {}
                () = listen(weak, subject, &router) => {}
            }
        });
    }
}

impl Session {
    /// Whether a resource changed since the last call. The first call subscribes to it. `None` if
    /// the server does not report changes.
    pub(crate) async fn watch_resource(&self, uri: &str) -> Result<Option<bool>, Error> {
        if !self.handshake().declares("resources", "subscribe") {
            return Ok(None);
        }
        let router = &self.inner.router;
        if let Some(changed) = router.watched().get_mut(uri) {
            return Ok(Some(std::mem::take(changed)));
        }
        // Changes from here on are recorded.
        router.watched().insert(uri.to_owned(), false);
        let done = self.notify_watched("resources/subscribe", uri).await;
        if done.is_err() {
            router.watched().remove(uri);
        }
        done.map(|()| Some(true))
    }

    pub(crate) async fn unwatch_resource(&self, uri: &str) -> Result<(), Error> {
        let was_watched = self.inner.router.watched().remove(uri).is_some();
        if was_watched { self.notify_watched("resources/unsubscribe", uri).await } else { Ok(()) }
    }

    async fn notify_watched(&self, method: &str, uri: &str) -> Result<(), Error> {
        if self.handshake().era == Era::Stateless {
            self.inner.router.rewatched.notify_one();
            return Ok(());
        }
        let within = Timeouts::total(self.inner.entry.connect_timeout);
        let request = Request::new(method, Params::default().with("uri", uri), within);
        self.request(request).await.map(drop)
    }
}

/// The subscription filter; empty if there is nothing to subscribe to.
fn filter(inner: &Inner, subject: Subject) -> Map<String, Value> {
    let mut filter = Map::new();
    if subject == Subject::Resources {
        let watched: Vec<String> = inner.router.watched().keys().cloned().collect();
        if !watched.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(watched));
        }
        return filter;
    }
    let Some(handshake) = inner.handshake.get() else { return filter };
    for (capability, key) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if handshake.declares(capability, "listChanged") {
            filter.insert(key.to_owned(), json!(true));
        }
    }
    filter
}

async fn listen(inner: Weak<Inner>, subject: Subject, router: &Arc<Router>) {
    let rewatched = || async {
        match subject {
            Subject::Resources => router.rewatched.notified().await,
            Subject::Lists => std::future::pending().await,
        }
    };
    let mut wait = INITIAL_DELAY;
    let mut refusals = 0;
    loop {
        let began = tokio::time::Instant::now();
        let Some(strong) = inner.upgrade() else { return };
        let filter = filter(&strong, subject);
        if filter.is_empty() {
            drop(strong);
            rewatched().await;
            continue;
        }
        let params = Params::default().with("notifications", &filter);
        let id = strong.next_id.fetch_add(1, Ordering::Relaxed);
        let outcome = tokio::select! {
            outcome = open(strong, id, &params, router) => outcome,
            () = rewatched() => {
                router.forget(id);
                if let Some(strong) = inner.upgrade() {
                    strong.cancel(id);
                }
                continue;
            }
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
        // Changes in the meantime were missed: list and read again.
        match subject {
            Subject::Lists => router.all_changed(),
            Subject::Resources => router.watched().values_mut().for_each(|changed| *changed = true),
        }
    }
}

/// Subscribes until the subscription ends. Holding the session meanwhile would keep it from closing,
/// so only the connection is held.
async fn open(
    session: Arc<Inner>,
    id: u64,
    params: &Params,
    router: &Arc<Router>,
) -> Result<RawJson, Error> {
    let method = "subscriptions/listen";
    let meta = session.common_meta.get().cloned().unwrap_or_default();
    let body = message::request(id, method, params, &meta);
    let mut waiter = router.register(id, None, RequestKind::Subscription);
    let connection = session.connection.clone();
    drop(session);
    let outgoing = OutgoingRequest { id, method, body, headers: Vec::new() };
    connection.request(&outgoing, &mut waiter).await
}
