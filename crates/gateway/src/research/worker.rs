//! Workers: each claims a job, runs its steps, and renews its claim meanwhile.
//!
//! **Invariant:** a worker processes a job only while its claim is valid. If it cannot renew the
//! claim, it stops before the claim expires, and all of its writes carry the number of its attempt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_store::{
    ErrorKind, FinishedStep, JobClaim, JobEnd, JobEndResult, JobRelease, JobStatus, NewJobEvent,
    ResearchJob,
};
use ledger::{EndReason, TokenCounts};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::engine::{self, Output, Request, State, Step};
use super::{Fault, Research, event, job_end, job_id};
use crate::background::BackgroundTask;
use crate::clock;
use crate::failure::chain;

/// The interval of checks for jobs that another process queued or lost.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The interval of checks whether another process cancelled a job.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
/// The wait before a failed step is retried; doubled for each retry.
const FIRST_RETRY: Duration = Duration::from_secs(2);
const MAX_RETRY: Duration = Duration::from_micros(gateway_store::MAX_PAUSE_MICROS.unsigned_abs());
/// The first wait for an unavailable store.
const STORE_PAUSE: Duration = Duration::from_millis(100);

/// Claims jobs until the service stops or is reloaded. A job that runs during a reload ends with the
/// configuration that it began with.
pub(super) async fn run(research: Arc<Research>) {
    let (billing, lease) = (&research.billing, clock::micros(research.config.research.lease));
    while !billing.lifecycle.replaced.is_cancelled() {
        if !research.web.search.is_usable() {
            // Claiming a job here would use up its attempts; a process that can search takes it.
            wait(&research).await;
            continue;
        }
        match billing.store.claim_job(billing.owner, lease).await {
            Ok(Some(job)) => Box::pin(work(&research, job)).await,
            Ok(None) => wait(&research).await,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "job not claimed");
                wait(&research).await;
            }
        }
    }
}

async fn wait(research: &Research) {
    tokio::select! {
        () = research.billing.lifecycle.replaced.cancelled() => {}
        () = research.queued.notified() => {}
        () = sleep(POLL_INTERVAL) => {}
    }
}

/// Processes a job until it ends, is given back, or is lost.
async fn work(research: &Research, job: ResearchJob) {
    let task = research.background.start(&job_id(job.id));
    let fence = JobClaim { id: job.id, attempt: job.attempt };
    let mut work = Work { research, fence, tries: job.tries, job: &job, claimed: Instant::now() };
    let (job, attempt) = (job_id(job.id), job.attempt);
    let left = tokio::select! {
        biased;
        () = task.cancelled.cancelled() => Outcome::Cancelled,
        left = work.steps(&task) => left,
    };
    tracing::debug!(job, attempt, left = ?left, "worker released a job");
}

#[derive(Debug)]
enum Outcome {
    EndResult,
    /// By the member.
    Cancelled,
    /// Another worker claimed it, or it has ended.
    Lost,
    /// The service stops, or the step is retried later.
    GivenBack,
}

struct Work<'a> {
    research: &'a Research,
    job: &'a ResearchJob,
    fence: JobClaim,
    /// The number of claims since the last finished step.
    tries: u32,
    /// When the claim was last known to be valid.
    claimed: Instant,
}

impl Work<'_> {
    async fn steps(&mut self, task: &BackgroundTask) -> Outcome {
        let found = match self.research.billing.store.job_steps(self.job.id).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "steps of a job not loaded");
                return self.give_back(JobRelease::Stopping).await;
            }
        };
        let request = serde_json::from_slice::<Request>(&self.job.request);
        let state = State::from_steps(&found);
        let (request, mut state) = match (request, state) {
            (Ok(request), Ok(state)) => (request, state),
            (_, Err(fault)) => return self.fail(&fault).await,
            (Err(_), _) => {
                let fault = Fault::permanent("internal", "the stored request cannot be read");
                return self.fail(&fault).await;
            }
        };
        loop {
            let Some(step) = state.next(&request.bounds, engine::elapsed_seconds(self.job)) else {
                return self.complete(&state, &request).await;
            };
            let begun = Instant::now();
            let running = self.research.run_step(self.job, &request, &state, &step);
            let result = tokio::select! {
                biased;
                () = self.research.billing.lifecycle.stopping.cancelled() => {
                    return self.give_back(JobRelease::Stopping).await;
                }
                () = keep_claim(self.research, self.fence, self.claimed) => return Outcome::Lost,
                result = running => result,
            };
            let result = match result {
                Ok(result) => result,
                Err(fault) => return self.failed(&step, &fault).await,
            };
            let done = (&step, begun.elapsed());
            let finished = self.finish(done, result, &mut state, &request);
            if !self.write(finished).await {
                return Outcome::Lost;
            }
            self.tries = 0;
            task.notify();
        }
    }

    /// Adds the result of a step to the state; returns the row to write.
    fn finish(
        &self,
        (step, took): (&Step, Duration),
        (output, detail): (Output, Value),
        state: &mut State,
        request: &Request,
    ) -> FinishedStep {
        let number = state.done;
        let stored = serde_json::to_vec(&output).unwrap_or_default();
        state.add(output);
        let next = state.next(&request.bounds, engine::elapsed_seconds(self.job));
        let progress = state.progress(&request.bounds, next.as_ref());
        let data = json!({
            "step": { "number": number, "kind": step.kind(), "detail": detail },
            "progress": { "step": progress.step, "done": progress.done, "total": progress.total },
        });
        let mut events = vec![event("step.finished", &data)];
        if let Some(next) = &next {
            let data = json!({ "step": { "number": number + 1, "kind": next.kind() } });
            events.push(event("step.started", &data));
        }
        FinishedStep {
            number,
            kind: step.kind().to_owned(),
            detail: detail.to_string().into_bytes(),
            output: stored,
            took_micros: clock::micros(took),
            progress,
            events,
            lease_micros: clock::micros(self.research.config.research.lease),
        }
    }

    /// Writes a step. Returns whether the claim was valid.
    async fn write(&mut self, step: FinishedStep) -> bool {
        let store = &self.research.billing.store;
        let write = || async {
            let asked = Instant::now();
            Ok((asked, store.finish_step(self.fence, step.clone()).await?))
        };
        let Some((asked, was_valid)) = self.retried("step not stored", write).await else {
            return false;
        };
        self.claimed = asked;
        was_valid
    }

    async fn retried<T, F: Future<Output = Result<T, gateway_store::Error>>>(
        &self,
        failure: &'static str,
        write: impl Fn() -> F,
    ) -> Option<T> {
        let mut pause = STORE_PAUSE;
        loop {
            match write().await {
                Ok(written) => return Some(written),
                Err(error) if error.kind() == ErrorKind::Temporary && self.may_be_valid() => {
                    tracing::warn!(error = %chain(&error), "{failure}, retrying");
                    sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => {
                    tracing::error!(error = %chain(&error), "{failure}");
                    return None;
                }
            }
        }
    }

    fn may_be_valid(&self) -> bool {
        self.claimed.elapsed() < self.research.config.research.lease * 9 / 10
    }

    /// Retries a failed step later, up to the limit of tries.
    async fn failed(&self, step: &Step, fault: &Fault) -> Outcome {
        tracing::warn!(
            job = job_id(self.job.id),
            step = step.kind(),
            error = fault.message,
            tries = self.tries,
            "research step failed"
        );
        if !fault.is_temporary || self.tries >= self.job.max_tries {
            return self.fail(fault).await;
        }
        let wait = FIRST_RETRY.saturating_mul(1 << self.tries.min(16)).min(MAX_RETRY);
        let data = json!({
            "step": { "kind": step.kind() },
            "error": { "code": fault.code, "message": fault.message },
            "retry_in_seconds": wait.as_secs(),
        });
        let event = event("step.failed", &data);
        self.give_back(JobRelease::Failed { after_micros: clock::micros(wait), event }).await
    }

    async fn give_back(&self, why: JobRelease) -> Outcome {
        match self.research.billing.store.release_job(self.fence, why).await {
            Ok(true) => Outcome::GivenBack,
            Ok(false) => Outcome::Lost,
            Err(error) => {
                // Its lease expires, and another worker continues.
                tracing::warn!(error = %chain(&error), "job not released");
                Outcome::Lost
            }
        }
    }

    async fn complete(&self, state: &State, request: &Request) -> Outcome {
        let tokens =
            TokenCounts { input: Some(state.spent.input), output: Some(state.spent.output) };
        let event = event("completed", &json!({ "status": "completed" }));
        self.end(JobEnd {
            tokens,
            result: Some(state.result().to_string().into_bytes()),
            progress: Some(state.progress(&request.bounds, None)),
            ..self.job_end(JobStatus::Completed, EndReason::Complete, event)
        })
        .await
    }

    async fn fail(&self, fault: &Fault) -> Outcome {
        let error = json!({ "code": fault.code, "message": fault.message });
        let ending = match fault.code {
            // A complete answer without content.
            "no_sources" => EndReason::Complete,
            "internal" => EndReason::ServiceFailed,
            _ => EndReason::UpstreamFailed,
        };
        let event = event("failed", &json!({ "status": "failed", "error": error }));
        self.end(JobEnd {
            error: Some(error.to_string().into_bytes()),
            ..self.job_end(JobStatus::Failed, ending, event)
        })
        .await
    }

    fn job_end(&self, status: JobStatus, reason: EndReason, event: NewJobEvent) -> JobEnd {
        let attempt = Some(self.job.attempt);
        JobEnd { attempt, ..job_end((self.job.id, self.job.member), status, reason, event) }
    }

    async fn end(&self, end: JobEnd) -> Outcome {
        let store = &self.research.billing.store;
        let end_job = || store.end_job(end.clone());
        let Some(JobEndResult::Ended(receipt)) = self.retried("job end not stored", end_job).await
        else {
            return Outcome::Lost;
        };
        self.research.billing.ended(&receipt);
        self.research.ended.notify_waiters();
        Outcome::EndResult
    }
}

/// Renews a claim; returns when it is lost or about to expire.
async fn keep_claim(research: &Research, fence: JobClaim, mut claimed: Instant) {
    let (store, lease) = (&research.billing.store, research.config.research.lease);
    let mut renewed = claimed;
    loop {
        sleep(STATUS_INTERVAL.min(lease / 3)).await;
        if renewed.elapsed() < lease / 3 {
            let found = store.job_status(fence.id).await;
            let is_ours = |found: &Option<(JobStatus, i64)>| {
                found.is_some_and(|(status, attempt)| !status.is_over() && attempt == fence.attempt)
            };
            if found.is_ok_and(|found| !is_ours(&found)) {
                return;
            }
            continue;
        }
        let asked = Instant::now();
        match store.renew_job(fence, clock::micros(lease)).await {
            Ok(true) => (claimed, renewed) = (asked, asked),
            Ok(false) => return,
            Err(error) => tracing::warn!(error = %chain(&error), "job claim not renewed"),
        }
        if claimed.elapsed() >= lease * 9 / 10 {
            return;
        }
    }
}
