//! The stream of what happened to a job, and of what goes on to happen.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gateway_store::ErrorKind;
use ledger::HoldId;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::super::paid::write_stream_headers;
use crate::background::{Follower, News};
use crate::failure::chain;
use crate::proxy::relay::comment;
use crate::research::{job_id, view};
use crate::service::Service;

/// How often to look for what another process wrote, or for a store that was away.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// How many events are taken at once.
const MAX_EVENTS_AT_ONCE: u32 = 256;

/// A stream of what happened after an event, and of what goes on to happen.
pub(super) fn tail(service: &Arc<Service>, follower: Follower, id: HoldId, after: i64) -> Response {
    let name = job_id(id);
    let news = service.background.news(&name);
    let service = service.clone();
    let tail = Tail { service, id, name, after, news, is_over: false, _follower: follower };
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
    id: HoldId,
    name: String,
    /// The number of the last event that is known already.
    after: i64,
    /// What tells of new events, as long as the job runs here.
    news: Option<News>,
    /// Whether nothing more is to be told.
    is_over: bool,
    _follower: Follower,
}

impl Tail {
    async fn next(&mut self) -> Option<Bytes> {
        let quiet_until = Instant::now() + self.service.keepalive();
        while !self.is_over {
            match self.look().await {
                Ok(Some(events)) => return Some(events),
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Temporary && !self.is_last_call() => {
                    tracing::debug!(error = %chain(&error), "a follower waits for the store");
                }
                Err(error) => {
                    tracing::error!(error = %chain(&error), "a follower was not told the rest");
                    break;
                }
            }
            if self.is_over {
                break;
            }
            if Instant::now() >= quiet_until {
                return Some(comment());
            }
            self.wait(quiet_until).await;
        }
        self.is_over = true;
        None
    }

    /// Looks for events; where there are none it matters whether more will come. A job ends in the
    /// transaction that writes its last event.
    async fn look(&mut self) -> Result<Option<Bytes>, gateway_store::Error> {
        match &mut self.news {
            // From here on; what is written while we read is looked at once more.
            Some(news) => news.mark_unchanged(),
            None => self.news = self.service.background.news(&self.name),
        }
        let status = self.service.store.job_status(self.id).await?;
        let events = self.service.store.job_events(self.id, self.after, MAX_EVENTS_AT_ONCE).await?;
        let is_all = events.len() < usize::try_from(MAX_EVENTS_AT_ONCE).unwrap_or(usize::MAX);
        let has_ended = status.is_none_or(|(status, _)| status.is_over());
        self.is_over = has_ended && is_all;
        let Some(last) = events.last() else { return Ok(None) };
        self.after = last.sequence;
        let joined: Vec<u8> =
            events.iter().flat_map(|event| view::event(&self.name, event)).collect();
        Ok(Some(joined.into()))
    }

    /// Waits until there may be more, or until it was quiet for too long.
    async fn wait(&mut self, quiet_until: Instant) {
        let soon = quiet_until.min(Instant::now() + POLL_EVERY);
        match &mut self.news {
            Some(news) => {
                if let Ok(Err(_)) = timeout_at(soon, news.changed()).await {
                    // It runs here no longer: all the rest is in the store.
                    self.news = None;
                }
            }
            None => sleep_until(soon).await,
        }
    }

    /// Whether the store is about to be closed, and will not come back.
    fn is_last_call(&self) -> bool {
        self.service.finished.is_cancelled()
    }
}
