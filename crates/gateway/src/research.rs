//! Research jobs: a question becomes a report with numbered sources.
//!
//! A job lives in the store and is worked on step by step; whatever a step came to is stored before
//! the next one begins, so that any process can go on where another one stopped. [`engine`] says
//! which step comes next, from nothing but the steps that are finished. Each step is a file:
//! [`plan`], [`find`], [`read`], [`note`], [`write`] and [`check`]. [`worker`] claims jobs and keeps
//! the claims; [`desk`] is what members ask, whichever way they ask it; [`webhook`] tells the ends.
//!
//! Models are asked in plain words, and their answers are read as leniently as can be: a model that
//! understands nothing at all still leads to a report, made of what was found.

mod check;
pub(crate) mod desk;
mod engine;
mod find;
mod model;
mod note;
mod plan;
mod quote;
mod read;
pub(crate) mod view;
mod webhook;
mod words;
mod worker;
mod write;

use std::sync::Arc;

use ledger::HoldId;
use tokio::sync::Notify;

use crate::service::Service;

/// How ids of jobs begin, and those of their holds.
const JOB: &str = "job_";
const HOLD: &str = "req_";

/// How many webhooks are told at once: one peer that is slow must not hold up all others.
const TELLERS: u32 = 4;

/// What wakes those who wait for work.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// A job was queued here.
    queued: Notify,
    /// A job ended here.
    ended: Notify,
}

/// Starts the workers; they end when the service stops.
pub(crate) fn start(service: &Arc<Service>) {
    for _ in 0..service.config.research.workers {
        service.tasks.spawn(worker::run(service.clone()));
    }
    if service.config.research.webhook_secret.is_some() {
        for _ in 0..TELLERS {
            service.tasks.spawn(webhook::run(service.clone()));
        }
    }
}

/// What a job is called.
pub(crate) fn job_id(id: HoldId) -> String {
    id.to_string().replacen(HOLD, JOB, 1)
}

/// Reads what [`job_id`] gives.
pub(crate) fn parse_id(text: &str) -> Option<HoldId> {
    HoldId::parse(&format!("{HOLD}{}", text.strip_prefix(JOB)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_called_as_its_hold_is() {
        let id = HoldId::new(5, 7);
        assert_eq!(parse_id(&job_id(id)), Some(id));
        assert!(job_id(id).starts_with("job_") && job_id(id).len() == 36);
        for wrong in ["", "job_", "job_5", "req_5", &id.to_string(), "job_req_5"] {
            assert_eq!(parse_id(wrong), None, "{wrong}");
        }
    }
}
