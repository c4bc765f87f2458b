//! Research jobs.

use ledger::{Hold, HoldId, MemberId, Refusal};

use super::Store;
use crate::backend::Result;
use crate::research::{
    FinishedStep, JobClaim, JobEnd, JobEndResult, JobEvent, JobRelease, JobStatus, JobStep, Jobs,
    NewJob, ResearchJob, Webhook, WebhookOutcome,
};

impl Store {
    /// Queues a job and sets its price aside, in one transaction. A word that is repeated is
    /// [`ledger::IdempotencyConflict::Answered`] as soon as there is the job, which has the id of that hold.
    pub async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>> {
        on_both!(self, store => store.create_job(job))
    }

    /// A job of a member.
    pub async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>> {
        on_both!(self, store => store.job(member, id))
    }

    /// Where a job stands, whoever's it is, and its attempt.
    pub async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        on_both!(self, store => store.job_status(id))
    }

    /// Jobs of a member, newest first, those with an id below `before`.
    pub async fn jobs(
        &self,
        member: MemberId,
        before: HoldId,
        limit: u32,
    ) -> Result<Vec<ResearchJob>> {
        on_both!(self, store => store.jobs(member, before, limit))
    }

    /// The finished steps of a job, in order.
    pub async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>> {
        on_both!(self, store => store.job_steps(id))
    }

    /// Events of a job after a sequence number, in order.
    pub async fn job_events(&self, id: HoldId, after: i64, limit: u32) -> Result<Vec<JobEvent>> {
        on_both!(self, store => store.job_events(id, after, limit))
    }

    /// Takes the job that waits for longest, or whose worker is gone. Nobody else has it until the
    /// lease is over.
    pub async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<ResearchJob>> {
        on_both!(self, store => store.claim_job(worker, lease_micros))
    }

    /// Keeps a claim; gives whether it still stands.
    pub async fn renew_job(&self, fence: JobClaim, lease_micros: i64) -> Result<bool> {
        on_both!(self, store => store.renew_job(fence, lease_micros))
    }

    /// Writes a step that was finished; gives whether the claim still stood.
    pub async fn finish_step(&self, fence: JobClaim, step: FinishedStep) -> Result<bool> {
        on_both!(self, store => store.finish_step(fence, step))
    }

    /// Gives a claimed job back; gives whether the claim still stood.
    pub async fn release_job(&self, fence: JobClaim, why: JobRelease) -> Result<bool> {
        on_both!(self, store => store.release_job(fence, why))
    }

    /// Ends a job and its hold, in one transaction.
    pub async fn end_job(&self, end: JobEnd) -> Result<JobEndResult> {
        on_both!(self, store => store.end_job(end))
    }

    /// Ends jobs that are late, and those whose tries are used up; at most a hundred, gives how
    /// many.
    pub async fn end_overdue_jobs(&self) -> Result<u64> {
        on_both!(self, store => store.end_overdue_jobs())
    }

    /// Takes the end of a job that is to be told; nobody else has it until the lease is over.
    pub async fn claim_webhook(&self, lease_micros: i64) -> Result<Option<(Webhook, ResearchJob)>> {
        on_both!(self, store => store.claim_webhook(lease_micros))
    }

    /// Writes what came of telling it; gives whether nobody else did meanwhile.
    pub async fn finish_webhook(&self, hook: &Webhook, outcome: WebhookOutcome) -> Result<bool> {
        on_both!(self, store => store.finish_webhook(hook, outcome))
    }
}
