//! Streams of stored events, past and future.
//!
//! If the producer runs in this process, notifications say when to read the store; otherwise the
//! store is polled.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gateway_store::{Error, ErrorKind};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::background::{BackgroundTasks, Follower, Updates};
use crate::failure::chain;
use crate::proxy::relay::{StreamPolicy, comment};
use crate::response_headers;
use crate::service::Service;

/// The interval of reads while another process writes, or the store is unavailable.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
pub(super) const MAX_EVENTS_AT_ONCE: u32 = 256;

pub(super) trait EventSource: Send + 'static {
    fn id(&self) -> &str;

    fn read(&mut self, is_running: bool) -> impl Future<Output = Result<Batch, Error>> + Send;
}

pub(super) struct Batch {
    /// New events; empty for none.
    pub(super) events: Bytes,
    /// Whether no event follows.
    pub(super) is_last: bool,
}

struct Tail<S> {
    source: S,
    background: Arc<BackgroundTasks>,
    finished: CancellationToken,
    keepalive: Duration,
    /// Notifications, while the producer runs here.
    updates: Option<Updates>,
    is_over: bool,
    _follower: Follower,
}

pub(super) fn stream(service: &Service, follower: Follower, source: impl EventSource) -> Response {
    let tail = Tail {
        source,
        background: service.background.clone(),
        finished: service.lifecycle.finished.clone(),
        keepalive: StreamPolicy::new(&service.config).keepalive,
        updates: None,
        is_over: false,
        _follower: follower,
    };
    let pieces = futures_util::stream::unfold(tail, |mut tail| async move {
        let piece = tail.next().await?;
        Some((Ok::<Bytes, Infallible>(piece), tail))
    });
    let mut response = Body::from_stream(pieces).into_response();
    response_headers::write_stream(response.headers_mut());
    response
}

impl<S: EventSource> Tail<S> {
    async fn next(&mut self) -> Option<Bytes> {
        let quiet_until = Instant::now() + self.keepalive;
        while !self.is_over {
            match &mut self.updates {
                // Before the read, so that a write during the read is not missed.
                Some(updates) => updates.mark_unchanged(),
                None => self.updates = self.background.updates(self.source.id()),
            }
            let was_read = match self.source.read(self.updates.is_some()).await {
                Ok(Batch { events, is_last }) if !events.is_empty() => {
                    self.is_over = is_last;
                    return Some(events);
                }
                Ok(Batch { is_last: true, .. }) => break,
                Ok(_) => true,
                Err(error)
                    if error.kind() == ErrorKind::Temporary && !self.finished.is_cancelled() =>
                {
                    tracing::debug!(error = %chain(&error), "event stream waits for the database");
                    false
                }
                Err(error) => {
                    tracing::error!(error = %chain(&error), "event stream ended early");
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

    /// Waits for possible new events, or until a comment is due.
    async fn wait(&mut self, quiet_until: Instant, was_read: bool) {
        match &mut self.updates {
            Some(updates) if was_read => {
                if let Ok(Err(_)) = timeout_at(quiet_until, updates.changed()).await {
                    // It runs no longer: all events are in the store.
                    self.updates = None;
                }
            }
            _ => sleep_until(quiet_until.min(Instant::now() + POLL_INTERVAL)).await,
        }
    }
}
