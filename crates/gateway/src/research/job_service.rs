//! Job operations for members: start, find, list, cancel.

use std::sync::Arc;
use std::time::Duration;

use gateway_store::{
    Error as StoreError, JobEnd, JobEndResult, JobStatus, JobStep, KeyRecord, NewJob, ResearchJob,
};
use ledger::{
    EndReason, HoldId, HoldRequest, IdempotencyConflict, IdempotencyKey, LimitStatus, MemberId,
    Micros, Refusal,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use web_reader::Target;
use wire::error::Code;
use wire::research::{
    Depth, JobView, MAX_METADATA_BYTES, MAX_QUERY_CHARS, MAX_SOURCES, ResearchRequest,
};

use super::engine::{Bounds, Request};
use super::{Research, event, job_end, job_id, parse_id, price_micros, view};
use crate::catalogue::Model;
use crate::clock;
use crate::config::{Capability, Operation};
use crate::failure::{ApiError, ApiResult, chain};

pub(crate) const MAX_LISTED: u32 = 100;
/// The interval of reads of a job that another process works on.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Attempts to cancel a job whose creation is uncertain, and the pause between them.
const MAX_CANCELS: u32 = 20;
const CANCEL_PAUSE: Duration = Duration::from_secs(2);
/// Retry time and interval of reading a job while the store fails.
const FIND_TIME: Duration = Duration::from_secs(10);
const FIND_PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct NewResearch {
    pub(crate) id: HoldId,
    pub(crate) idempotency: Option<IdempotencyKey>,
    pub(crate) request: ResearchRequest,
}

pub(crate) struct Started {
    pub(crate) job: ResearchJob,
    pub(crate) price: Micros,
    /// Remaining rate of the key.
    pub(crate) limit_status: LimitStatus,
    /// Whether an earlier request with the same idempotency key started it.
    pub(crate) is_replayed: bool,
}

impl Research {
    /// Queues a job. Nothing is held unless a worker could process it.
    pub(crate) async fn start_job(
        self: &Arc<Self>,
        caller: &KeyRecord,
        new: NewResearch,
    ) -> ApiResult<Started> {
        let NewResearch { id, idempotency, request: asked } = new;
        self.check(&asked)?;
        let model = self.model(caller, asked.model.as_deref())?;
        if !self.web.search.is_usable() {
            let message = "research is currently unavailable: no search provider is available";
            return Err(unavailable(message));
        }
        let depth = asked.depth.unwrap_or(Depth::Standard);
        let preset = self.config.research.depth(depth);
        let price = price_micros(&self.config, depth, &model.id);
        let pages = asked.max_sources.unwrap_or(preset.pages).min(preset.pages);
        let request = Request {
            depth: depth.to_string(),
            bounds: Bounds {
                rounds: preset.rounds,
                queries: preset.queries,
                pages,
                steps: preset.steps,
                tokens: preset.tokens,
                seconds: preset.time.as_secs().max(1),
            },
            metadata: asked.metadata.map_or(Value::Null, Value::Object),
        };
        let hold = HoldRequest {
            id,
            member: caller.key.member,
            lineage: caller.key.lineage,
            amount: Micros::new(price),
            operation: Operation::Research.as_str().into(),
            model: Some(model.id.clone()),
            owner: self.billing.owner,
            lease_micros: self.billing.lease_micros(),
            idempotency,
        };
        let new = NewJob {
            hold,
            query: asked.query.trim().to_owned(),
            model: model.id.to_string(),
            request: serde_json::to_vec(&request).map_err(|_| ApiError::internal())?,
            webhook_url: asked.webhook_url,
            max_open: self.config.research.max_jobs_per_member,
            max_tries: self.config.research.attempts,
            deadline_micros: clock::micros(self.config.research.expire),
            retention_micros: clock::micros(self.config.research.kept),
            event: event("queued", &json!({ "status": "queued" })),
        };
        self.queue(caller, new, Micros::new(price)).await
    }

    async fn queue(
        self: &Arc<Self>,
        caller: &KeyRecord,
        new: NewJob,
        price: Micros,
    ) -> ApiResult<Started> {
        let (member, id) = (caller.key.member, new.hold.id);
        let ending = EndReason::ClientLeft;
        let mut pending = PendingJob { research: self, id, member, ending, is_resolved: false };
        let result = self.billing.store.create_job(new).await;
        let (id, limit_status, is_replayed, failure) = match result {
            Ok(Ok(hold)) => (hold.id, hold.limits, false, None),
            Ok(Err(refusal)) => {
                pending.is_resolved = true;
                let Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(id)) = refusal else {
                    return Err(refusal.into());
                };
                (id, LimitStatus::default(), true, None)
            }
            Err(error) => {
                // The transaction may have been committed nevertheless.
                pending.ending = EndReason::ServiceFailed;
                (id, LimitStatus::default(), false, Some(error))
            }
        };
        self.queued.notify_one();
        let found = self.read_again(member, id).await.map_err(|error| {
            pending.ending = EndReason::ServiceFailed;
            outcome_unknown(&error)
        })?;
        let Some(job) = found else {
            return Err(match failure {
                // PostgreSQL may still commit after this read.
                Some(error @ StoreError::Unavailable(_)) => outcome_unknown(&error),
                Some(error) => error.into(),
                None => {
                    pending.is_resolved = true;
                    let message = "the job of this Idempotency-Key is no longer stored";
                    ApiError::new(Code::Conflict, message)
                }
            });
        };
        pending.is_resolved = true;
        Ok(Started { job, price, limit_status, is_replayed })
    }

    /// Reads a job, with retries while the store fails over: an error would mean that there is no
    /// job, while it runs and is charged.
    async fn read_again(
        &self,
        member: MemberId,
        id: HoldId,
    ) -> Result<Option<ResearchJob>, StoreError> {
        let deadline = Instant::now() + FIND_TIME;
        loop {
            match self.billing.store.job(member, id).await {
                Err(_) if Instant::now() < deadline => sleep(FIND_PAUSE).await,
                found => return found,
            }
        }
    }

    /// Validates a request, except for its model.
    fn check(&self, asked: &ResearchRequest) -> ApiResult<()> {
        let wrong = |param: &str, message: String| Err(ApiError::invalid(param, message));
        let says_nothing = |letter: char| letter.is_whitespace() || letter.is_control();
        if asked.query.chars().all(says_nothing) {
            return wrong("query", "`query` is empty".to_owned());
        }
        if asked.query.chars().count() > MAX_QUERY_CHARS {
            return wrong("query", format!("`query` is longer than {MAX_QUERY_CHARS} characters"));
        }
        if asked.max_sources.is_some_and(|count| !(1..=MAX_SOURCES).contains(&count)) {
            let message = format!("`max_sources` must be a whole number from 1 to {MAX_SOURCES}");
            return wrong("max_sources", message);
        }
        let metadata = asked.metadata.as_ref().and_then(|data| serde_json::to_vec(data).ok());
        if metadata.is_some_and(|bytes| bytes.len() > MAX_METADATA_BYTES) {
            let message = format!("`metadata` exceeds {MAX_METADATA_BYTES} bytes");
            return wrong("metadata", message);
        }
        let Some(url) = &asked.webhook_url else { return Ok(()) };
        if self.config.research.webhook_secret.is_none() {
            let message =
                "webhooks are disabled: the operator has not set `research.webhook_secret`";
            return wrong("webhook_url", message.to_owned());
        }
        let target = Target::parse(url);
        let reached = target.and_then(|target| self.web.reader.may_reach(&target));
        reached.map_err(|fault| {
            let message = fault.to_string().replace("`url`", "`webhook_url`");
            ApiError::of_param(ApiError::from(fault).code(), "webhook_url", message)
        })
    }

    /// The model of a job: the requested one, the operator's choice, or the first that is usable.
    fn model(&self, caller: &KeyRecord, asked: Option<&str>) -> ApiResult<Arc<Model>> {
        if let Some(asked) = asked {
            return self.upstreams.resolve(caller, asked, Capability::Chat);
        }
        let chosen =
            self.upstreams.default_chat_model(caller, self.config.research.model.as_deref());
        let message = "research is currently unavailable: this key has no usable chat model";
        chosen.ok_or_else(|| unavailable(message))
    }

    pub(crate) async fn find(&self, caller: &KeyRecord, id: &str) -> ApiResult<ResearchJob> {
        let id = parse_id(id).ok_or_else(missing)?;
        self.billing.store.job(caller.key.member, id).await?.ok_or_else(missing)
    }

    pub(crate) async fn view(&self, job: &ResearchJob) -> ApiResult<JobView> {
        let steps: Vec<JobStep> = self.billing.store.job_steps(job.id).await?;
        Ok(view::job(job, &steps))
    }

    /// A job of the caller, once it has ended or the timeout has passed.
    pub(crate) async fn find_over(
        &self,
        caller: &KeyRecord,
        id: &str,
        timeout: Duration,
    ) -> ApiResult<ResearchJob> {
        let until = Instant::now() + timeout;
        loop {
            // Before the read, so that an end during the read is not missed.
            let ended = self.ended.notified();
            let job = self.find(caller, id).await?;
            let is_last = Instant::now() >= until || self.billing.lifecycle.stopping.is_cancelled();
            if job.status.is_over() || is_last {
                return Ok(job);
            }
            let next = until.min(Instant::now() + POLL_INTERVAL);
            tokio::select! {
                _ = timeout_at(next, ended) => {}
                () = self.billing.lifecycle.stopping.cancelled() => sleep_until(Instant::now()).await,
            }
        }
    }

    /// Jobs of the caller before `after`, newest first, and whether there are more.
    pub(crate) async fn list(
        &self,
        caller: &KeyRecord,
        limit: u32,
        after: Option<&str>,
    ) -> ApiResult<(Vec<ResearchJob>, bool)> {
        let before = match after {
            None => HoldId::from_bytes([0xff; 16]),
            Some(after) => parse_id(after)
                .ok_or_else(|| ApiError::invalid("after", "`after` must be a job id"))?,
        };
        let mut jobs = self.billing.store.jobs(caller.key.member, before, limit + 1).await?;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = jobs.len() > most;
        jobs.truncate(most);
        Ok((jobs, has_more))
    }

    pub(crate) async fn cancel(&self, caller: &KeyRecord, id: &str) -> ApiResult<ResearchJob> {
        let job = self.find(caller, id).await?;
        if !job.status.is_over() {
            let ended = self
                .billing
                .store
                .end_job(cancelled(job.id, job.member, EndReason::Cancelled))
                .await?;
            if let JobEndResult::Ended(receipt) = ended {
                self.billing.ended(&receipt);
            }
            self.background.cancel(&job_id(job.id));
            self.ended.notify_waiters();
        }
        self.find(caller, id).await
    }
}

/// A job that was requested and may or may not exist. Dropping it unresolved, because the client
/// disconnected or the store failed, cancels the job: nobody knows its id.
struct PendingJob<'a> {
    research: &'a Arc<Research>,
    id: HoldId,
    member: MemberId,
    ending: EndReason,
    is_resolved: bool,
}

impl Drop for PendingJob<'_> {
    fn drop(&mut self) {
        if self.is_resolved {
            return;
        }
        let (billing, ending) = (self.research.billing.clone(), self.ending);
        let (id, member) = (self.id, self.member);
        billing.lifecycle.tasks.clone().spawn(async move {
            for _ in 0..MAX_CANCELS {
                match billing.store.end_job(cancelled(id, member, ending)).await {
                    Ok(_) => return,
                    Err(error) => {
                        tracing::warn!(error = %chain(&error), "job not cancelled, retrying");
                    }
                }
                tokio::time::sleep(CANCEL_PAUSE).await;
            }
        });
    }
}

/// The error of a client whose job may be queued; it is cancelled as soon as the store answers.
fn outcome_unknown(error: &StoreError) -> ApiError {
    tracing::error!(error = %chain(error), "unknown whether a job was queued");
    let message = "the database failed, and the job may have been queued; list your jobs, or \
                   repeat the request with the same Idempotency-Key";
    ApiError::new(Code::OutcomeUnknown, message)
}

fn unavailable(message: &str) -> ApiError {
    ApiError::new(Code::CapabilityUnavailable, message).retry_after(Duration::from_secs(5))
}

fn missing() -> ApiError {
    ApiError::new(Code::NotFound, "no job with this id")
}

/// The store determines the charge by whether a step had begun.
fn cancelled(id: HoldId, member: MemberId, ending: EndReason) -> JobEnd {
    let event = event("cancelled", &json!({ "status": "cancelled" }));
    job_end((id, member), JobStatus::Cancelled, ending, event)
}
