//! Research jobs: a question becomes a report with numbered sources.
//!
//! A job lives in the store and is processed step by step; the result of a step is stored before the
//! next one begins, so that any process can continue where another one stopped. [`engine`] determines
//! the next step from the finished steps alone. Each step is a file: [`plan`], [`read`],
//! [`note`], [`write`] and [`check`]. [`worker`] claims jobs and renews the claims; [`job_service`]
//! is the interface for members; [`webhook`] reports the ends of jobs.
//!
//! Prompts are plain text, and answers are parsed leniently: a model that follows no instruction
//! still leads to a report, made of what was found.

mod check;
mod engine;
mod job_service;
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

use gateway_store::{JobEnd, JobStatus, NewJobEvent};
use ledger::{EndReason, HoldId, MemberId, TokenCounts};
use serde_json::Value;
use tokio::sync::Notify;
use wire::research::Depth;

pub(crate) use job_service::{MAX_LISTED, NewResearch, Started};

use crate::background::BackgroundTasks;
use crate::billing::Billing;
use crate::config::{Config, Operation};
use crate::upstreams::Upstreams;
use crate::web_services::WebServices;

/// The prefixes of the ids of jobs and of their holds.
const JOB: &str = "job_";
const HOLD: &str = "req_";

/// The number of webhook senders: a slow receiver must not block all others.
const WEBHOOK_SENDERS: u32 = 4;

pub(crate) struct Research {
    pub(crate) config: Arc<Config>,
    pub(crate) billing: Arc<Billing>,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) web: Arc<WebServices>,
    pub(crate) background: Arc<BackgroundTasks>,
    pub(crate) queued: Notify,
    pub(crate) ended: Notify,
}

impl Research {
    /// Starts the workers; they end when the service stops.
    pub(crate) fn start(self: &Arc<Self>) {
        let tasks = &self.billing.lifecycle.tasks;
        for _ in 0..self.config.research.workers {
            tasks.spawn(worker::run(self.clone()));
        }
        if self.config.research.webhook_secret.is_some() {
            for _ in 0..WEBHOOK_SENDERS {
                tasks.spawn(webhook::run(self.clone()));
            }
        }
    }
}

pub(crate) fn price_micros(config: &Config, depth: Depth, model: &str) -> i64 {
    let listed = || config.price_micros(Operation::Research, model);
    config.research.depth(depth).price_micros.unwrap_or_else(listed)
}

pub(crate) fn job_id(id: HoldId) -> String {
    id.to_string().replacen(HOLD, JOB, 1)
}

pub(crate) fn parse_id(text: &str) -> Option<HoldId> {
    HoldId::parse(&format!("{HOLD}{}", text.strip_prefix(JOB)?))
}

/// Why a step of a job failed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    code: &'static str,
    message: String,
    is_temporary: bool,
}

impl Fault {
    fn temporary(message: impl Into<String>) -> Self {
        Self { code: "upstream_unavailable", message: message.into(), is_temporary: true }
    }

    fn permanent(code: &'static str, message: &str) -> Self {
        Self { code, message: message.to_owned(), is_temporary: false }
    }
}

fn event(kind: &'static str, data: &Value) -> NewJobEvent {
    NewJobEvent { kind, data: data.to_string().into_bytes() }
}

/// The end of a job without a result.
fn job_end(
    (id, member): (HoldId, MemberId),
    status: JobStatus,
    reason: EndReason,
    event: NewJobEvent,
) -> JobEnd {
    JobEnd {
        id,
        member,
        attempt: None,
        status,
        reason,
        tokens: TokenCounts::default(),
        result: None,
        error: None,
        progress: None,
        events: vec![event],
    }
}

#[cfg(test)]
mod tests;
