//! The events of a job.

use std::sync::Arc;

use gateway_store::Error;
use ledger::HoldId;

use crate::endpoints::event_tail::{Batch, EventSource, MAX_EVENTS_AT_ONCE};
use crate::research::{Research, job_id, view};

pub(super) struct JobEvents {
    research: Arc<Research>,
    id: HoldId,
    name: String,
    /// The sequence number of the last known event.
    after: i64,
}

impl JobEvents {
    pub(super) fn new(research: &Arc<Research>, id: HoldId, after: i64) -> Self {
        Self { research: research.clone(), id, name: job_id(id), after }
    }
}

impl EventSource for JobEvents {
    fn id(&self) -> &str {
        &self.name
    }

    /// A job ends in the transaction that writes its last event.
    async fn read(&mut self, _: bool) -> Result<Batch, Error> {
        let store = &self.research.billing.store;
        let status = store.job_status(self.id).await?;
        let events = store.job_events(self.id, self.after, MAX_EVENTS_AT_ONCE).await?;
        let is_all = events.len() < usize::try_from(MAX_EVENTS_AT_ONCE).unwrap_or(usize::MAX);
        let is_over = status.is_none_or(|(status, _)| status.is_over()) && is_all;
        let Some(last) = events.last() else {
            return Ok(if is_over { Batch::End } else { Batch::Nothing });
        };
        self.after = last.sequence;
        let joined: Vec<u8> =
            events.iter().flat_map(|event| view::event(&self.name, event)).collect();
        Ok(if is_over { Batch::LastEvents(joined.into()) } else { Batch::Events(joined.into()) })
    }
}
