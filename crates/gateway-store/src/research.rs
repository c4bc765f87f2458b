//! Research jobs: durable work of several minutes, with the hold that pays for it.
//!
//! A job has the id of its hold. The owner of the hold is [`JOB_OWNER`], which is no process, so that
//! neither a lease nor a restart ends it. The hold lives exactly as long as its job is queued or
//! running: one transaction ends both. Every job ends, because any process enforces its deadline.
//! Money is therefore never given back for work that continues, however long all processes were down.
//!
//! Each claim of a job increments its `attempt`, a fencing token: a write with an older one has no
//! effect.

use ledger::{
    AnswerProgress, ChargeRule, EndReason, HoldId, HoldRequest, LineageId, MemberId, Micros,
    Receipt, Time, TokenCounts,
};
use serde_json::json;

/// The owner of job holds. Processes have owner numbers from 1.
pub const JOB_OWNER: i64 = i64::MIN;
/// Maximum pause before a failed step is retried. A queued job due later than that was written
/// before the clock was set back.
pub const MAX_PAUSE_MICROS: i64 = 5 * 60 * 1_000_000;
/// A hundred years: the hold lives as long as its job.
pub(crate) const JOB_LEASE_MICROS: i64 = 100 * 365 * 86_400 * 1_000_000;

ledger::named_enum! {
    pub enum JobStatus {
        Queued = "queued",
        Running = "running",
        /// The job has a report and was charged.
        Completed = "completed",
        /// The job failed and was not charged.
        Failed = "failed",
        Cancelled = "cancelled",
        /// The job missed its deadline.
        Expired = "expired",
    }
}

impl JobStatus {
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

#[derive(Debug, Clone)]
pub struct NewJob {
    /// The hold. Its id becomes that of the job; the store sets owner and lease.
    pub hold: HoldRequest,
    pub query: String,
    pub model: String,
    /// The other parameters, JSON.
    pub request: Vec<u8>,
    pub webhook_url: Option<String>,
    /// Maximum open jobs of the member, including this one.
    pub max_open: u32,
    /// The most claims without a finished step.
    pub max_tries: u32,
    /// The time until the job expires.
    pub deadline_micros: i64,
    /// Retention of the job after its end.
    pub retention_micros: i64,
    pub event: NewJobEvent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResearchJob {
    pub id: HoldId,
    pub member: MemberId,
    pub lineage: LineageId,
    pub status: JobStatus,
    pub query: String,
    pub model: String,
    /// The other parameters, JSON.
    pub request: Vec<u8>,
    /// Number of claims: the fencing token.
    pub attempt: i64,
    /// Claims since the last finished step.
    pub tries: u32,
    /// The most claims without a finished step.
    pub max_tries: u32,
    pub progress: Progress,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    pub deadline: Time,
    /// The result, JSON.
    pub result: Option<Vec<u8>>,
    /// The error, JSON.
    pub error: Option<Vec<u8>>,
    pub charged: Option<Micros>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    pub step: String,
    /// Number of finished steps.
    pub done: u32,
    /// Expected number of steps.
    pub total: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStep {
    /// Number of the step, from 0 without gaps.
    pub number: u32,
    pub kind: String,
    /// The attempt that finished it.
    pub attempt: i64,
    /// The public details, JSON.
    pub detail: Vec<u8>,
    /// Input for later steps; deleted when the job ends.
    pub output: Option<Vec<u8>>,
    pub started_at: Time,
    pub finished_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJobEvent {
    pub kind: &'static str,
    /// The data, JSON.
    pub data: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEvent {
    /// Number of the event, from 1 without gaps.
    pub sequence: i64,
    pub at: Time,
    pub kind: String,
    /// The data, JSON.
    pub data: Vec<u8>,
}

/// A worker's claim of a job. Every write of the worker names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobClaim {
    pub id: HoldId,
    /// The attempt: the fencing token.
    pub attempt: i64,
}

#[derive(Debug, Clone)]
pub struct FinishedStep {
    /// Number of the step: the steps that were finished before.
    pub number: u32,
    pub kind: String,
    /// The public details, JSON.
    pub detail: Vec<u8>,
    pub output: Vec<u8>,
    pub took_micros: i64,
    pub progress: Progress,
    pub events: Vec<NewJobEvent>,
    pub lease_micros: i64,
}

#[derive(Debug, Clone)]
pub enum JobRelease {
    /// The worker stops. Another one can continue at once; the attempt does not count.
    Stopping,
    /// The step failed and is retried later.
    Failed { after_micros: i64, event: NewJobEvent },
}

#[derive(Debug, Clone)]
pub struct JobEnd {
    pub id: HoldId,
    pub member: MemberId,
    /// The attempt of the worker that ends the job; `None` if the member ends it.
    pub attempt: Option<i64>,
    pub status: JobStatus,
    /// Why the job ended. Together with its progress this decides about the charge.
    pub reason: EndReason,
    pub tokens: TokenCounts,
    /// The result, JSON.
    pub result: Option<Vec<u8>>,
    /// The error, JSON.
    pub error: Option<Vec<u8>>,
    pub progress: Option<Progress>,
    pub events: Vec<NewJobEvent>,
}

impl JobEnd {
    /// The rule for the hold of a job with this status and number of finished steps.
    ///
    /// Every step costs money, and a worker starts one as soon as it has claimed the job. A job that
    /// is queued again without a finished step has only met failures.
    pub(crate) fn rule(&self, status: JobStatus, done: u32) -> ChargeRule {
        let progress = if self.result.is_some() {
            AnswerProgress::Content
        } else if status == JobStatus::Running || done > 0 {
            AnswerProgress::Begun
        } else {
            AnswerProgress::Nothing
        };
        self.reason.rule(progress)
    }

    /// The end of a job without a hold. Only its job ends a hold, so the job can only fail.
    pub(crate) fn without_hold(&self) -> Self {
        Self::automatic(self.id, self.member, false)
    }

    /// The end of a job that missed its deadline, or has used up its tries.
    pub(crate) fn automatic(id: HoldId, member: MemberId, is_late: bool) -> Self {
        let (status, code, message) = if is_late {
            (JobStatus::Expired, "expired", "the job did not end in time")
        } else {
            let message = "all attempts ended before a step was finished";
            (JobStatus::Failed, "attempts_exhausted", message)
        };
        let error = json!({ "code": code, "message": message });
        let data = json!({ "status": status.as_str(), "error": error });
        let event = NewJobEvent { kind: status.as_str(), data: data.to_string().into_bytes() };
        Self {
            id,
            member,
            attempt: None,
            status,
            reason: if is_late { EndReason::LeaseOver } else { EndReason::ServiceFailed },
            tokens: TokenCounts::default(),
            result: None,
            error: Some(error.to_string().into_bytes()),
            progress: None,
            events: vec![event],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEndResult {
    Ended(Receipt),
    /// Nothing changed: the job had ended before, another worker has it, or it does not exist.
    NotEnded,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: HoldId,
    pub url: String,
    /// Number of this try, from 1: the fencing token.
    pub tries: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookOutcome {
    Delivered,
    /// No further try.
    GivenUp,
    Retry {
        after_micros: i64,
    },
}

impl WebhookOutcome {
    /// The stored outcome, and the delay of the next try.
    pub(crate) fn stored(self) -> (Option<&'static str>, i64) {
        match self {
            Self::Delivered => (Some("delivered"), 0),
            Self::GivenUp => (Some("given_up"), 0),
            Self::Retry { after_micros } => (None, after_micros),
        }
    }
}

impl JobRelease {
    /// Number of tries to give back, delay of the next claim, and events to append.
    pub(crate) fn parts(&self) -> (i64, i64, &[NewJobEvent]) {
        match self {
            Self::Stopping => (1, 0, &[]),
            Self::Failed { after_micros, event } => (0, *after_micros, std::slice::from_ref(event)),
        }
    }
}

#[cfg(test)]
mod tests;
