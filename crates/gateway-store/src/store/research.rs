//! Research jobs.

use ledger::{Hold, HoldId, MemberId, Refusal};

use super::Store;
use crate::backend::Result;
use crate::research::{
    Fence, FinishedStep, GiveBack, Hook, HookOutcome, Job, JobEnd, JobEnded, JobEvent, JobStatus,
    JobStep, Jobs, NewJob,
};

impl Store {
    /// Queues a job and sets its price aside, in one transaction. A word that is repeated is
    /// [`ledger::Repeated::Answered`] as soon as there is the job, which has the id of that hold.
    pub async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>> {
        on_both!(self, store => store.create_job(job))
    }

    /// A job of a member.
    pub async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<Job>> {
        on_both!(self, store => store.job(member, id))
    }

    /// Where a job stands, whoever's it is, and its attempt.
    pub async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>> {
        on_both!(self, store => store.job_status(id))
    }

    /// Jobs of a member, newest first, those with an id below `before`.
    pub async fn jobs(&self, member: MemberId, before: HoldId, limit: u32) -> Result<Vec<Job>> {
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
    pub async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<Job>> {
        on_both!(self, store => store.claim_job(worker, lease_micros))
    }

    /// Keeps a claim; gives whether it still stands.
    pub async fn renew_job(&self, fence: Fence, lease_micros: i64) -> Result<bool> {
        on_both!(self, store => store.renew_job(fence, lease_micros))
    }

    /// Writes a step that was finished; gives whether the claim still stood.
    pub async fn finish_step(&self, fence: Fence, step: FinishedStep) -> Result<bool> {
        on_both!(self, store => store.finish_step(fence, step))
    }

    /// Gives a claimed job back; gives whether the claim still stood.
    pub async fn give_back_job(&self, fence: Fence, why: GiveBack) -> Result<bool> {
        on_both!(self, store => store.give_back_job(fence, why))
    }

    /// Ends a job and its hold, in one transaction.
    pub async fn end_job(&self, end: JobEnd) -> Result<JobEnded> {
        on_both!(self, store => store.end_job(end))
    }

    /// Ends jobs that are late, and those whose tries are used up; at most a hundred, gives how
    /// many.
    pub async fn reap_jobs(&self) -> Result<u64> {
        on_both!(self, store => store.reap_jobs())
    }

    /// Takes the end of a job that is to be told; nobody else has it until the lease is over.
    pub async fn claim_hook(&self, lease_micros: i64) -> Result<Option<(Hook, Job)>> {
        on_both!(self, store => store.claim_hook(lease_micros))
    }

    /// Writes what came of telling it; gives whether nobody else did meanwhile.
    pub async fn end_hook(&self, hook: &Hook, outcome: HookOutcome) -> Result<bool> {
        on_both!(self, store => store.end_hook(hook, outcome))
    }
}
