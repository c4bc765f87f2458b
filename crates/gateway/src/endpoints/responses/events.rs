//! The events of a background response.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use gateway_store::Error;
use ledger::MemberId;
use tokio::time::Instant;

use crate::background::Follower;
use crate::billing::Billing;
use crate::endpoints::event_tail::{self, Batch, EventSource, MAX_EVENTS_AT_ONCE, TailContext};
use crate::endpoints::model_request::ModelApi;

/// How long the last events of a response may take to be written after its end.
const LAST_EVENTS: Duration = Duration::from_secs(1);

pub(super) struct Followed {
    pub(super) member: MemberId,
    pub(super) id: String,
    /// The sequence number of the last known event; -1 for none.
    pub(super) after: i64,
}

struct ResponseEvents {
    billing: Arc<Billing>,
    target: Followed,
    /// When the end of the response was first seen.
    over_since: Option<Instant>,
}

/// A stream of all events after the last known one.
pub(super) fn stream(api: &ModelApi, follower: Follower, target: Followed) -> Response {
    let context = TailContext {
        background: api.background.clone(),
        lifecycle: api.billing.lifecycle.clone(),
        keepalive: api.policy.keepalive,
    };
    let source = ResponseEvents { billing: api.billing.clone(), target, over_since: None };
    event_tail::stream(context, follower, source)
}

impl EventSource for ResponseEvents {
    fn id(&self) -> &str {
        &self.target.id
    }

    /// Only without new events, it matters whether more will follow.
    async fn read(&mut self, is_running: bool) -> Result<Batch, Error> {
        let (store, target) = (&self.billing.store, &mut self.target);
        let events = store.events(&target.id, target.after, MAX_EVENTS_AT_ONCE).await?;
        if let Some(last) = events.last() {
            target.after = last.sequence;
            let is_last = is_last(&last.event);
            let joined: Vec<u8> = events.into_iter().flat_map(|event| event.event).collect();
            let joined = joined.into();
            return Ok(if is_last { Batch::LastEvents(joined) } else { Batch::Events(joined) });
        }
        if is_running {
            return Ok(Batch::Nothing);
        }
        match store.response_status(target.member, &target.id).await?.as_deref() {
            None | Some("cancelled") => Ok(Batch::End),
            Some(status) if is_over(status) => {
                // The charge precedes the last events, which may not be written yet.
                let since = *self.over_since.get_or_insert_with(Instant::now);
                Ok(if since.elapsed() > LAST_EVENTS { Batch::End } else { Batch::Nothing })
            }
            Some(_) => Ok(Batch::Nothing),
        }
    }
}

fn is_last(event: &[u8]) -> bool {
    const LAST: [&[u8]; 3] = [b"completed", b"failed", b"incomplete"];
    let name = event.strip_prefix(b"event: response.");
    let name = name.and_then(|rest| rest.split(|byte| matches!(byte, b'\r' | b'\n')).next());
    name.is_some_and(|name| LAST.contains(&name))
}

pub(super) fn is_over(status: &str) -> bool {
    !matches!(status, "queued" | "in_progress")
}
