//! The stream of what happened to a background response, and of what goes on to happen.
//!
//! Of a response that runs in this process one is told when to look into the store; into what
//! another process writes one looks now and then.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gateway_store::ErrorKind;
use ledger::MemberId;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::super::paid::write_stream_headers;
use crate::background::{Follower, News};
use crate::failure::chain;
use crate::proxy::relay::comment;
use crate::service::Service;

/// How often to look for what another process wrote, or for a store that was away.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// How many events are taken at once.
const MAX_EVENTS_AT_ONCE: u32 = 256;
/// How long the last events of a response that is over may take to be written.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// Which response is followed, and from where.
pub(super) struct Followed {
    pub(super) member: MemberId,
    pub(super) id: String,
    /// The sequence number of the last event that is known already; -1 for none.
    pub(super) after: i64,
}

/// A stream of what happened after an event, and of what goes on to happen.
pub(super) fn tail(service: &Arc<Service>, follower: Follower, target: Followed) -> Response {
    let tail = Tail {
        news: service.background.news(&target.id),
        service: service.clone(),
        target,
        over_since: None,
        is_over: false,
        _follower: follower,
    };
    let pieces = futures_util::stream::unfold(tail, |mut tail| async move {
        let piece = tail.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(piece), tail))
    });
    let mut response = Body::from_stream(pieces).into_response();
    write_stream_headers(response.headers_mut());
    response
}

struct Tail {
    service: Arc<Service>,
    target: Followed,
    /// What tells of new events, as long as the response runs here.
    news: Option<News>,
    /// Since when the response is known to be over.
    over_since: Option<Instant>,
    /// Whether nothing more is to be told.
    is_over: bool,
    _follower: Follower,
}

/// What a look into the store shows.
enum Found {
    Events(Bytes),
    Nothing,
    /// Nothing, and there will be no more.
    End,
}

impl Tail {
    async fn next(&mut self) -> Option<Bytes> {
        let quiet_until = Instant::now() + self.service.keepalive();
        while !self.is_over {
            let was_read = match self.look().await {
                Ok(Found::Events(events)) => return Some(events),
                Ok(Found::End) => break,
                Ok(Found::Nothing) => true,
                Err(error) if error.kind() == ErrorKind::Temporary && !self.is_last_call() => {
                    tracing::debug!(error = %chain(&error), "a follower waits for the store");
                    false
                }
                Err(error) => {
                    tracing::error!(error = %chain(&error), "a follower was not told the rest");
                    break;
                }
            };
            if Instant::now() >= quiet_until {
                return Some(comment());
            }
            self.wait(quiet_until, was_read).await;
        }
        self.is_over = true;
        None
    }

    /// Looks for events first; only where there are none it matters whether more will come.
    async fn look(&mut self) -> Result<Found, gateway_store::Error> {
        if let Some(news) = &mut self.news {
            // From here on; what is written while we read is looked at once more.
            news.mark_unchanged();
        }
        let (store, target) = (&self.service.store, &mut self.target);
        let events = store.events(&target.id, target.after, MAX_EVENTS_AT_ONCE).await?;
        if let Some(last) = events.last() {
            target.after = last.sequence;
            self.is_over = is_last(&last.event);
            let joined: Vec<u8> = events.into_iter().flat_map(|event| event.event).collect();
            return Ok(Found::Events(joined.into()));
        }
        if self.news.is_some() {
            return Ok(Found::Nothing);
        }
        match store.response_status(target.member, &target.id).await?.as_deref() {
            None | Some("cancelled") => Ok(Found::End),
            Some(status) if is_over(status) => {
                // It is charged first and told then: its last events may be on their way.
                let since = *self.over_since.get_or_insert_with(Instant::now);
                Ok(if since.elapsed() > LAST_EVENTS { Found::End } else { Found::Nothing })
            }
            Some(_) => Ok(Found::Nothing),
        }
    }

    /// Waits until there may be more, or until it was quiet for too long.
    async fn wait(&mut self, quiet_until: Instant, was_read: bool) {
        match &mut self.news {
            Some(news) if was_read => {
                if let Ok(Err(_)) = timeout_at(quiet_until, news.changed()).await {
                    // It runs no longer: all the rest is in the store.
                    self.news = None;
                }
            }
            _ => sleep_until(quiet_until.min(Instant::now() + POLL_EVERY)).await,
        }
    }

    /// Whether the store is about to be closed, and will not come back.
    fn is_last_call(&self) -> bool {
        self.service.finished.is_cancelled()
    }
}

/// Whether an event is the last one of its response.
fn is_last(event: &[u8]) -> bool {
    const LAST: [&[u8]; 3] = [b"completed", b"failed", b"incomplete"];
    let name = event.strip_prefix(b"event: response.");
    let name = name.and_then(|rest| rest.split(|byte| matches!(byte, b'\r' | b'\n')).next());
    name.is_some_and(|name| LAST.contains(&name))
}

/// Whether nothing more happens to a response.
pub(super) fn is_over(status: &str) -> bool {
    !matches!(status, "queued" | "in_progress")
}
