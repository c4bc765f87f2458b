//! Workers: each claims a job, does its steps, and keeps its claim meanwhile.
//!
//! **Invariant:** nobody works on a job without a claim that stands. A worker that cannot renew its
//! claim stops before the claim is over, and whatever it writes names the attempt it has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_store::{
    ErrorKind, FinishedStep, JobClaim, JobEnd, JobEndResult, JobRelease, JobStatus, NewJobEvent,
    ResearchJob,
};
use ledger::{EndReason, TokenCounts};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::engine::{self, Fault, Request, State, Step};
use super::job_id;
use crate::background::Running;
use crate::failure::chain;
use crate::service::Service;

/// How often to look for jobs that another process queued, or whose worker is gone.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often to look whether another process cancelled a job.
const STATUS_EVERY: Duration = Duration::from_secs(1);
/// How long to wait before a step that failed is tried again; twice as long each time.
const FIRST_RETRY: Duration = Duration::from_secs(2);
const MAX_RETRY: Duration = Duration::from_micros(gateway_store::MAX_PAUSE_MICROS.unsigned_abs());
/// How long to wait for a store that is away, at first.
const STORE_PAUSE: Duration = Duration::from_millis(100);

/// Claims jobs until the service stops.
pub(super) async fn run(service: Arc<Service>) {
    let lease = micros(service.config.research.lease);
    while !service.stopping.is_cancelled() {
        if !service.search.is_usable() {
            // Whoever can search takes them; to claim them here would use up their tries.
            wait(&service).await;
            continue;
        }
        match service.store.claim_job(service.owner, lease).await {
            Ok(Some(job)) => Box::pin(work(&service, job)).await,
            Ok(None) => wait(&service).await,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "no job was claimed");
                wait(&service).await;
            }
        }
    }
}

async fn wait(service: &Service) {
    tokio::select! {
        () = service.stopping.cancelled() => {}
        () = service.bell.queued.notified() => {}
        () = sleep(LOOK_EVERY) => {}
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Works on a job until it ends, is given back, or is lost.
async fn work(service: &Arc<Service>, job: ResearchJob) {
    let running = Running::start(service, &job_id(job.id));
    let fence = JobClaim { id: job.id, attempt: job.attempt };
    let mut desk = Work { service, fence, tries: job.tries, job: &job, claimed: Instant::now() };
    let (job, attempt) = (job_id(job.id), job.attempt);
    let left = tokio::select! {
        biased;
        () = running.cancelled.cancelled() => Left::Cancelled,
        left = desk.steps(&running) => left,
    };
    tracing::debug!(job, attempt, left = ?left, "a worker left a job");
}

/// Why a worker leaves a job.
#[derive(Debug)]
enum Left {
    /// It has ended, by us.
    Ended,
    /// Its member ended it.
    Cancelled,
    /// It is another one's, or over.
    Lost,
    /// The service stops, or the step is tried later.
    GivenBack,
}

/// A claimed job.
struct Work<'a> {
    service: &'a Arc<Service>,
    job: &'a ResearchJob,
    fence: JobClaim,
    /// How often it was claimed since a step was finished.
    tries: u32,
    /// When the claim was last known to stand.
    claimed: Instant,
}

impl Work<'_> {
    async fn steps(&mut self, running: &Running) -> Left {
        let found = match self.service.store.job_steps(self.job.id).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "the steps of a job were not read");
                return self.give_back(JobRelease::Stopping).await;
            }
        };
        let request = serde_json::from_slice::<Request>(&self.job.request);
        let state = State::of(&found);
        let (request, mut state) = match (request, state) {
            (Ok(request), Ok(state)) => (request, state),
            (_, Err(fault)) => return self.fail(&fault).await,
            (Err(_), _) => {
                let fault = Fault::later("what was asked cannot be read");
                return self.fail(&Fault { code: "internal", is_temporary: false, ..fault }).await;
            }
        };
        loop {
            let Some(step) = state.next(&request.bounds, engine::elapsed_seconds(self.job)) else {
                return self.complete(&state, &request).await;
            };
            let begun = Instant::now();
            let doing = engine::run(self.service, self.job, (&request, &state), &step);
            let done = tokio::select! {
                biased;
                () = self.service.stopping.cancelled() => {
                    return self.give_back(JobRelease::Stopping).await;
                }
                () = beat(self.service, self.fence, self.claimed) => return Left::Lost,
                done = doing => done,
            };
            let (output, detail) = match done {
                Ok(done) => done,
                Err(fault) => return self.failed(&step, &fault).await,
            };
            let number = state.done;
            let stored = serde_json::to_vec(&output).unwrap_or_default();
            state.add(output);
            let took = begun.elapsed();
            let finished =
                self.finished((number, &step, took), (detail, stored), (&state, &request));
            if !self.write(finished).await {
                return Left::Lost;
            }
            self.tries = 0;
            running.wrote();
        }
    }

    /// A step that was done, with what comes next.
    fn finished(
        &self,
        (number, step, took): (u32, &Step, Duration),
        (detail, output): (Value, Vec<u8>),
        (state, request): (&State, &Request),
    ) -> FinishedStep {
        let next = state.next(&request.bounds, engine::elapsed_seconds(self.job));
        let progress = state.progress(&request.bounds, next.as_ref());
        let told = json!({
            "step": { "number": number, "kind": step.kind(), "detail": detail },
            "progress": { "step": progress.step, "done": progress.done, "total": progress.total },
        });
        let mut events = vec![event("step.finished", &told)];
        if let Some(next) = &next {
            let told = json!({ "step": { "number": number + 1, "kind": next.kind() } });
            events.push(event("step.started", &told));
        }
        FinishedStep {
            number,
            kind: step.kind().to_owned(),
            detail: detail.to_string().into_bytes(),
            output,
            took_micros: micros(took),
            progress,
            events,
            lease_micros: micros(self.service.config.research.lease),
        }
    }

    /// Writes a step, as long as the claim may stand. Gives whether it stood.
    async fn write(&mut self, step: FinishedStep) -> bool {
        let mut pause = STORE_PAUSE;
        loop {
            let asked = Instant::now();
            match self.service.store.finish_step(self.fence, step.clone()).await {
                Ok(stood) => {
                    self.claimed = asked;
                    return stood;
                }
                Err(error) if error.kind() == ErrorKind::Temporary && self.may_stand() => {
                    tracing::warn!(error = %chain(&error), "a step waits for the store");
                    sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => {
                    tracing::error!(error = %chain(&error), "a step was not stored");
                    return false;
                }
            }
        }
    }

    fn may_stand(&self) -> bool {
        self.claimed.elapsed() < self.service.config.research.lease * 9 / 10
    }

    /// A step was not done: later again, unless that was tried often enough.
    async fn failed(&self, step: &Step, fault: &Fault) -> Left {
        tracing::warn!(
            job = job_id(self.job.id),
            step = step.kind(),
            error = fault.message,
            tries = self.tries,
            "a step of a job failed"
        );
        if !fault.is_temporary || self.tries >= self.job.max_tries {
            return self.fail(fault).await;
        }
        let wait = FIRST_RETRY.saturating_mul(1 << self.tries.min(16)).min(MAX_RETRY);
        let told = json!({
            "step": { "kind": step.kind() },
            "error": { "code": fault.code, "message": fault.message },
            "retry_in_seconds": wait.as_secs(),
        });
        let event = event("step.failed", &told);
        self.give_back(JobRelease::Failed { after_micros: micros(wait), event }).await
    }

    async fn give_back(&self, why: JobRelease) -> Left {
        match self.service.store.release_job(self.fence, why).await {
            Ok(true) => Left::GivenBack,
            Ok(false) => Left::Lost,
            Err(error) => {
                // Its lease ends, and somebody else goes on.
                tracing::warn!(error = %chain(&error), "a job was not given back");
                Left::Lost
            }
        }
    }

    async fn complete(&self, state: &State, request: &Request) -> Left {
        let end = JobEnd {
            id: self.job.id,
            member: self.job.member,
            attempt: Some(self.job.attempt),
            status: JobStatus::Completed,
            reason: EndReason::Complete,
            tokens: TokenCounts {
                input: Some(state.spent.input),
                output: Some(state.spent.output),
            },
            result: Some(state.result().to_string().into_bytes()),
            error: None,
            progress: Some(state.progress(&request.bounds, None)),
            events: vec![event("completed", &json!({ "status": "completed" }))],
        };
        self.end(end).await
    }

    async fn fail(&self, fault: &Fault) -> Left {
        let error = json!({ "code": fault.code, "message": fault.message });
        let ending = match fault.code {
            // Without a report, a job that is complete is empty.
            "no_sources" => EndReason::Complete,
            "internal" => EndReason::ServiceFailed,
            _ => EndReason::UpstreamFailed,
        };
        let end = JobEnd {
            id: self.job.id,
            member: self.job.member,
            attempt: Some(self.job.attempt),
            status: JobStatus::Failed,
            reason: ending,
            tokens: TokenCounts::default(),
            result: None,
            error: Some(error.to_string().into_bytes()),
            progress: None,
            events: vec![event("failed", &json!({ "status": "failed", "error": error }))],
        };
        self.end(end).await
    }

    /// Ends the job, as long as the claim may stand.
    async fn end(&self, end: JobEnd) -> Left {
        let mut pause = STORE_PAUSE;
        loop {
            match self.service.store.end_job(end.clone()).await {
                Ok(JobEndResult::Ended(receipt)) => {
                    self.service.meter.ended(&receipt);
                    self.service.bell.ended.notify_waiters();
                    return Left::Ended;
                }
                Ok(JobEndResult::NotEnded) => return Left::Lost,
                Err(error) if error.kind() == ErrorKind::Temporary && self.may_stand() => {
                    tracing::warn!(error = %chain(&error), "the end of a job waits for the store");
                    sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => {
                    tracing::error!(error = %chain(&error), "a job was not ended");
                    return Left::Lost;
                }
            }
        }
    }
}

fn event(kind: &'static str, data: &Value) -> NewJobEvent {
    NewJobEvent { kind, data: data.to_string().into_bytes() }
}

/// Keeps a claim; ends when it does not stand any more, or may not for long.
async fn beat(service: &Service, fence: JobClaim, mut claimed: Instant) {
    let lease = service.config.research.lease;
    let mut renewed = claimed;
    loop {
        sleep(STATUS_EVERY.min(lease / 3)).await;
        if renewed.elapsed() < lease / 3 {
            let found = service.store.job_status(fence.id).await;
            let is_ours = |found: &Option<(JobStatus, i64)>| {
                found.is_some_and(|(status, attempt)| !status.is_over() && attempt == fence.attempt)
            };
            if found.is_ok_and(|found| !is_ours(&found)) {
                return;
            }
            continue;
        }
        let asked = Instant::now();
        match service.store.renew_job(fence, micros(lease)).await {
            Ok(true) => (claimed, renewed) = (asked, asked),
            Ok(false) => return,
            Err(error) => tracing::warn!(error = %chain(&error), "a claim was not renewed"),
        }
        if claimed.elapsed() >= lease * 9 / 10 {
            return;
        }
    }
}
