//! Research jobs: durable work that runs for minutes, next to the hold that pays for it.
//!
//! A job has the id of its hold. The hold is [`JOB_OWNER`]'s, which is no process: no lease of a
//! process ends it, and neither does a start after a crash. It stands for exactly as long as its
//! job is queued or running, because only the end of the job ends it, in the same transaction; and
//! every job ends, since it has a deadline that any process enforces. So money cannot be given back
//! for work that goes on, however long all processes were away.
//!
//! Whoever claims a job raises its `attempt`. That number is the fence: every write names it, and
//! with an older one nothing is written.

use ledger::{
    AnswerProgress, ChargeRule, EndReason, Hold, HoldId, HoldRequest, LineageId, MemberId, Micros,
    Receipt, Refusal, Time, TokenCounts,
};

use crate::backend::Result;

/// Who has the holds of jobs: no process, whose numbers begin at 1.
pub const JOB_OWNER: i64 = i64::MIN;

/// The longest pause before a failed step is retried. A job that is free only later than that was
/// written before the clock was set back.
pub const MAX_PAUSE_MICROS: i64 = 5 * 60 * 1_000_000;

/// A hundred years: as long as its job lives.
pub(crate) const JOB_LEASE_MICROS: i64 = 100 * 365 * 86_400 * 1_000_000;

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// It waits for a worker.
    Queued,
    /// A worker has it.
    Running,
    /// It has a report, and was charged.
    Completed,
    /// It came to nothing, and was not charged.
    Failed,
    /// Its member ended it.
    Cancelled,
    /// It did not end in time.
    Expired,
}

impl JobStatus {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Expired,
    ];

    /// As it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// Reads what [`Self::as_str`] gives.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing more happens to it.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// A job that is to be queued with its hold.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// What is to be set aside. Its id becomes that of the job; owner and lease are the store's.
    pub hold: HoldRequest,
    /// What is asked.
    pub query: String,
    /// The model that works on it.
    pub model: String,
    /// All else that was asked, JSON.
    pub request: Vec<u8>,
    /// Where its end is told.
    pub webhook_url: Option<String>,
    /// How many jobs, queued or running, the member may have with this one.
    pub max_open: u32,
    /// How often it is claimed without a step being finished.
    pub max_tries: u32,
    /// How long it may take, queued or running.
    pub deadline_micros: i64,
    /// How long it is kept after its end.
    pub kept_micros: i64,
    /// Its first event.
    pub event: NewJobEvent,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResearchJob {
    /// Its id, which is that of its hold.
    pub id: HoldId,
    /// Whose.
    pub member: MemberId,
    /// By which key.
    pub lineage: LineageId,
    /// Where it stands.
    pub status: JobStatus,
    /// What is asked.
    pub query: String,
    /// The model that works on it.
    pub model: String,
    /// All else that was asked, JSON.
    pub request: Vec<u8>,
    /// How often it was claimed: the fence.
    pub attempt: i64,
    /// How often it was claimed since a step was finished.
    pub tries: u32,
    /// How often that may be.
    pub max_tries: u32,
    /// How far it is.
    pub progress: Progress,
    /// When it was queued.
    pub created_at: Time,
    /// When it was first claimed.
    pub started_at: Option<Time>,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// Until when it must have ended.
    pub deadline: Time,
    /// What it came to, JSON.
    pub result: Option<Vec<u8>>,
    /// Why it came to nothing, JSON.
    pub error: Option<Vec<u8>>,
    /// What was charged, once it has ended.
    pub charged: Option<Micros>,
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// What is being done.
    pub step: String,
    /// How many steps are done.
    pub done: u32,
    /// How many there will be, as far as that is known.
    pub total: u32,
}

/// A step that was finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStep {
    /// Its number, from 0 without gaps.
    pub number: u32,
    /// What kind it is.
    pub kind: String,
    /// By which attempt it was done.
    pub attempt: i64,
    /// What is shown of it, JSON.
    pub detail: Vec<u8>,
    /// What later steps work with; nothing once the job has ended.
    pub output: Option<Vec<u8>>,
    /// When it began.
    pub started_at: Time,
    /// When it ended.
    pub finished_at: Time,
}

/// An event that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJobEvent {
    /// Its name.
    pub kind: &'static str,
    /// What it tells, JSON.
    pub data: Vec<u8>,
}

/// An event of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobEvent {
    /// Its number, from 1 without gaps.
    pub sequence: i64,
    /// When.
    pub at: Time,
    /// Its name.
    pub kind: String,
    /// What it tells, JSON.
    pub data: Vec<u8>,
}

/// Which claim of a job: what a worker shows with everything it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobClaim {
    /// The job.
    pub id: HoldId,
    /// Its attempt.
    pub attempt: i64,
}

/// A step that a worker has finished, and what comes next.
#[derive(Debug, Clone)]
pub struct FinishedStep {
    /// Its number: how many were finished before.
    pub number: u32,
    /// What kind it is.
    pub kind: String,
    /// What is shown of it, JSON.
    pub detail: Vec<u8>,
    /// What later steps work with.
    pub output: Vec<u8>,
    /// How long it took.
    pub took_micros: i64,
    /// How far the job is now.
    pub progress: Progress,
    /// What is told of it.
    pub events: Vec<NewJobEvent>,
    /// How long the claim lasts from now.
    pub lease_micros: i64,
}

/// Why a worker gives a job back.
#[derive(Debug, Clone)]
pub enum JobRelease {
    /// It stops: another one goes on at once, and nothing counts against the job.
    Stopping,
    /// The step failed, and is tried again later.
    Failed {
        /// How much later.
        after_micros: i64,
        /// What is told of it.
        event: NewJobEvent,
    },
}

/// How a job ends.
#[derive(Debug, Clone)]
pub struct JobEnd {
    /// Which.
    pub id: HoldId,
    /// Whose it is.
    pub member: MemberId,
    /// The attempt of the worker that ends it; nothing if it is its member who does.
    pub attempt: Option<i64>,
    /// Where it stands then; one that is over.
    pub status: JobStatus,
    /// What ended it. The store adds how far the job had come, and has the rule from both.
    pub ending: EndReason,
    /// What its models counted.
    pub tokens: TokenCounts,
    /// What it came to, JSON.
    pub result: Option<Vec<u8>>,
    /// Why it came to nothing, JSON.
    pub error: Option<Vec<u8>>,
    /// How far it came.
    pub progress: Option<Progress>,
    /// What is told of it.
    pub events: Vec<NewJobEvent>,
}

impl JobEnd {
    /// The rule by which the hold ends, for a job of this status with this many finished steps.
    ///
    /// Every step asks a model, searches or reads a page, and a worker begins one as soon as it has
    /// claimed the job. A job that is queued again without a finished step has only met failures.
    pub(crate) fn rule(&self, status: JobStatus, done: u32) -> ChargeRule {
        let reached = if self.result.is_some() {
            AnswerProgress::Content
        } else if status == JobStatus::Running || done > 0 {
            AnswerProgress::Begun
        } else {
            AnswerProgress::Nothing
        };
        self.ending.rule(reached)
    }
}

/// What came of ending a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEndResult {
    /// The job ended now.
    Ended(Receipt),
    /// Nothing changed: the job had ended before, another worker has it, or it does not exist.
    NotEnded,
}

/// The end of a job that is to be told to its member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Which job.
    pub id: HoldId,
    /// Where to.
    pub url: String,
    /// Which try this is, from 1: the fence of it.
    pub tries: u32,
}

/// What came of telling it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// It was taken.
    Delivered,
    /// It is given up.
    GivenUp,
    /// It is tried again, so much later.
    Again {
        /// How much later.
        after_micros: i64,
    },
}

/// What both databases do for jobs, one transaction a method. [`crate::Store`] documents each.
pub(crate) trait Jobs {
    async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>>;
    async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>>;
    async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>>;
    async fn jobs(&self, member: MemberId, before: HoldId, limit: u32) -> Result<Vec<ResearchJob>>;
    async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>>;
    async fn job_events(&self, id: HoldId, after: i64, limit: u32) -> Result<Vec<JobEvent>>;
    async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<ResearchJob>>;
    async fn renew_job(&self, fence: JobClaim, lease_micros: i64) -> Result<bool>;
    async fn finish_step(&self, fence: JobClaim, step: FinishedStep) -> Result<bool>;
    async fn release_job(&self, fence: JobClaim, why: JobRelease) -> Result<bool>;
    async fn end_job(&self, end: JobEnd) -> Result<JobEndResult>;
    async fn end_overdue_jobs(&self) -> Result<u64>;
    async fn claim_webhook(&self, lease_micros: i64) -> Result<Option<(Webhook, ResearchJob)>>;
    async fn finish_webhook(&self, hook: &Webhook, outcome: WebhookOutcome) -> Result<bool>;
}

/// The most jobs that end by themselves in one transaction, and that are removed in one sweep.
pub(crate) const MAX_REAPED: u32 = 100;

/// What is written where a job ends without a worker.
pub(crate) struct Unattended {
    pub(crate) status: JobStatus,
    pub(crate) kind: &'static str,
    pub(crate) error: Vec<u8>,
    pub(crate) ending: EndReason,
}

impl Unattended {
    /// A job whose time is over, or whose workers have all stopped.
    pub(crate) fn of(is_late: bool) -> Self {
        let (status, kind, code, message) = if is_late {
            (JobStatus::Expired, "expired", "expired", "the job did not end in time")
        } else {
            let message = "everyone who worked on the job stopped before a step was finished";
            (JobStatus::Failed, "failed", "attempts_exhausted", message)
        };
        let error = serde_json::json!({ "code": code, "message": message });
        let ending = if is_late { EndReason::LeaseOver } else { EndReason::ServiceFailed };
        Self { status, kind, error: error.to_string().into_bytes(), ending }
    }

    pub(crate) fn event(&self) -> NewJobEvent {
        let error: serde_json::Value = serde_json::from_slice(&self.error).unwrap_or_default();
        let data = serde_json::json!({ "status": self.status.as_str(), "error": error });
        NewJobEvent { kind: self.kind, data: data.to_string().into_bytes() }
    }

    pub(crate) fn end(&self, id: HoldId, member: MemberId) -> JobEnd {
        JobEnd {
            id,
            member,
            attempt: None,
            status: self.status,
            ending: self.ending,
            tokens: TokenCounts::default(),
            result: None,
            error: Some(self.error.clone()),
            progress: None,
            events: vec![self.event()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_read_as_it_is_written() {
        for status in JobStatus::ALL {
            assert_eq!(JobStatus::parse(status.as_str()), Some(status));
        }
        assert_eq!(JobStatus::parse("done"), None);
        assert_eq!(JobStatus::ALL.iter().filter(|status| !status.is_over()).count(), 2);
    }
}
