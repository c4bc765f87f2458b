//! Research jobs.

use ledger::{Hold, HoldId, MemberId, Refusal};

use super::Store;
use crate::error::Result;
use crate::research::{
    FinishedStep, JobClaim, JobEnd, JobEndResult, JobEvent, JobRelease, JobStatus, JobStep, NewJob,
    ResearchJob, Webhook, WebhookOutcome,
};

impl Store {
    /// Queues a job and opens its hold. A repeated idempotency key is
    /// [`ledger::IdempotencyConflict::Answered`] with the id of the first job.
    pub async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>> {
        dispatch!(self, create_job(job))
    }

    pub async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        dispatch!(self, job(member, id))
    }

    /// Returns status and attempt of a job of any member.
    pub async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        dispatch!(self, job_status(id))
    }

    /// Lists jobs of a member with an id below `before`, newest first.
    pub async fn jobs(
        &self,
        member: MemberId,
        before: HoldId,
        limit: u32,
    ) -> Result<Vec<ResearchJob>> {
        dispatch!(self, jobs(member, before, limit))
    }

    pub async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        dispatch!(self, job_steps(id))
    }

    /// Lists events of a job after a sequence number, in order.
    pub async fn job_events(&self, id: HoldId, after: i64, limit: u32) -> Result<Vec<JobEvent>> {
        dispatch!(self, job_events(id, after, limit))
    }

    /// Claims the job that has waited longest, or whose lease is over.
    pub async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<ResearchJob>> {
        dispatch!(self, claim_job(worker, lease_micros))
    }

    /// Renews a claim; returns whether it is still valid.
    pub async fn renew_job(&self, claim: JobClaim, lease_micros: i64) -> Result<bool> {
        dispatch!(self, renew_job(claim, lease_micros))
    }

    /// Records a finished step; returns whether the claim is still valid.
    pub async fn finish_step(&self, claim: JobClaim, step: FinishedStep) -> Result<bool> {
        dispatch!(self, finish_step(claim, step))
    }

    /// Releases a claimed job; returns whether the claim is still valid.
    pub async fn release_job(&self, claim: JobClaim, release: JobRelease) -> Result<bool> {
        dispatch!(self, release_job(claim, release))
    }

    pub async fn end_job(&self, end: JobEnd) -> Result<JobEndResult> {
        dispatch!(self, end_job(end))
    }

    /// Ends jobs that missed their deadline or used up their tries, at most a hundred; returns how
    /// many.
    pub async fn end_overdue_jobs(&self) -> Result<u64> {
        dispatch!(self, end_overdue_jobs())
    }

    /// Claims a webhook call that is due, until the lease is over.
    pub async fn claim_webhook(&self, lease_micros: i64) -> Result<Option<(Webhook, ResearchJob)>> {
        dispatch!(self, claim_webhook(lease_micros))
    }

    /// Records the result of a webhook call; returns whether the claim is still valid.
    pub async fn finish_webhook(&self, webhook: &Webhook, outcome: WebhookOutcome) -> Result<bool> {
        dispatch!(self, finish_webhook(webhook, outcome))
    }
}
