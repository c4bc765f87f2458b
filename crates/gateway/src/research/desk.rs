//! What members do with jobs, whichever way they ask: over HTTP or as a tool.

use std::sync::Arc;
use std::time::Duration;

use gateway_store::{
    Error as StoreError, JobEnd, JobEndResult, JobStatus, JobStep, KeyRecord, NewJob, NewJobEvent,
    ResearchJob,
};
use ledger::{
    EndReason, HoldId, HoldRequest, IdempotencyConflict, IdempotencyKey, MemberId, Micros,
    RateLimitStatus, Refusal, TokenCounts,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use wire::error::Code;
use wire::research::{
    Depth, JobView, MAX_METADATA_BYTES, MAX_QUERY_CHARS, MAX_SOURCES, ResearchRequest,
};

use super::engine::{Bounds, Request};
use super::{job_id, parse_id, view};
use crate::catalogue::Model;
use crate::config::{Capability, Operation};
use crate::endpoints::paid;
use crate::failure::{ApiError, chain};
use crate::service::Service;
use crate::web::Target;

/// The most jobs of one page.
pub(crate) const MAX_LISTED: u32 = 100;
/// How often to look at a job that another process works on.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a job of which nobody knows whether it stands is cancelled, and how long between.
const MAX_CANCELS: u32 = 20;
const CANCEL_PAUSE: Duration = Duration::from_secs(2);
/// How long a store that failed is waited for, and how often it is asked.
const FIND_TIME: Duration = Duration::from_secs(10);
const FIND_PAUSE: Duration = Duration::from_millis(100);

/// A job that was asked for.
pub(crate) struct Started {
    pub(crate) job: ResearchJob,
    pub(crate) price: Micros,
    pub(crate) room: Option<RateLimitStatus>,
    /// Whether it was asked for before, with the same idempotency key.
    pub(crate) is_replayed: bool,
}

/// Queues a job. Nothing is held before it is known that somebody could work on it.
pub(crate) async fn start(
    service: &Arc<Service>,
    caller: &KeyRecord,
    (id, idempotency): (HoldId, Option<IdempotencyKey>),
    asked: ResearchRequest,
) -> Result<Started, ApiError> {
    check(service, &asked)?;
    let model = model(service, caller, asked.model.as_deref())?;
    if !service.search.is_usable() {
        let message = "research is not available at the moment: no provider of results is usable";
        return Err(unavailable(message));
    }
    let depth = asked.depth.unwrap_or(Depth::Standard);
    let preset = service.config.research.depth(depth);
    let price = price_micros(service, depth, &model.id);
    let pages = asked.max_sources.unwrap_or(preset.pages).min(preset.pages);
    let request = Request {
        depth: depth.word().to_owned(),
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
        operation: Operation::Research.word().into(),
        model: Some(model.id.clone()),
        owner: service.owner,
        lease_micros: service.lease_micros(),
        idempotency,
    };
    let told = json!({ "status": "queued" });
    let new = NewJob {
        hold,
        query: asked.query.trim().to_owned(),
        model: model.id.to_string(),
        request: serde_json::to_vec(&request).map_err(|_| ApiError::internal())?,
        webhook_url: asked.webhook_url,
        max_open: service.config.research.max_jobs_per_member,
        max_tries: service.config.research.attempts,
        deadline_micros: micros(service.config.research.expire),
        retention_micros: micros(service.config.research.kept),
        event: NewJobEvent { kind: "queued", data: told.to_string().into_bytes() },
    };
    queue(service, caller, new, Micros::new(price)).await
}

/// What a job of this depth costs with a model.
pub(crate) fn price_micros(service: &Service, depth: Depth, model: &str) -> i64 {
    let preset = service.config.research.depth(depth);
    let listed = || service.config.price_micros(Operation::Research, model);
    preset.price_micros.unwrap_or_else(listed)
}

async fn queue(
    service: &Arc<Service>,
    caller: &KeyRecord,
    new: NewJob,
    price: Micros,
) -> Result<Started, ApiError> {
    let (member, id) = (caller.key.member, new.hold.id);
    let ending = EndReason::ClientLeft;
    let mut unknown = Unknown { service, id, member, ending, is_known: false };
    let result = service.store.create_job(new).await;
    let (id, room, is_replayed) = match result {
        Ok(Ok(hold)) => (hold.id, hold.rate_limit, false),
        Ok(Err(refusal)) => {
            unknown.is_known = true;
            match refusal {
                Refusal::IdempotencyKeyUsed(IdempotencyConflict::Answered(id)) => (id, None, true),
                refusal => return Err(refusal.into()),
            }
        }
        Err(error) => {
            unknown.ending = EndReason::ServiceFailed;
            // The transaction may have been committed all the same.
            let found =
                read_again(service, member, id).await.map_err(|error| outcome_unknown(&error))?;
            let Some(job) = found else { return Err(error.into()) };
            unknown.is_known = true;
            service.bell.queued.notify_one();
            return Ok(Started { job, price, room: None, is_replayed: false });
        }
    };
    service.bell.queued.notify_one();
    let found = read_again(service, member, id).await.map_err(|error| {
        unknown.ending = EndReason::ServiceFailed;
        outcome_unknown(&error)
    })?;
    unknown.is_known = true;
    let Some(job) = found else {
        let message = "the job of this Idempotency-Key is not kept any more";
        return Err(ApiError::new(Code::Conflict, message));
    };
    Ok(Started { job, price, room, is_replayed })
}

/// The error of a client whose job may be queued; it is cancelled as soon as the store answers.
fn outcome_unknown(error: &StoreError) -> ApiError {
    tracing::error!(error = %chain(error), "cannot tell whether a job is queued");
    let message = "the database failed: the job may be queued; look at your jobs, or repeat the \
                   request with the same Idempotency-Key";
    ApiError::new(Code::OutcomeUnknown, message)
}

/// Reads a job, and waits for a store that fails over: an error would say that there is no job, while
/// it runs and is charged.
async fn read_again(
    service: &Service,
    member: MemberId,
    id: HoldId,
) -> Result<Option<ResearchJob>, StoreError> {
    let deadline = Instant::now() + FIND_TIME;
    loop {
        match service.store.job(member, id).await {
            Err(_) if Instant::now() < deadline => sleep(FIND_PAUSE).await,
            found => return found,
        }
    }
}

/// A job that was asked for, and of which nobody knows whether it exists: its client left, or the
/// store failed. Nobody would ever look at it.
struct Unknown<'a> {
    service: &'a Arc<Service>,
    id: HoldId,
    member: MemberId,
    ending: EndReason,
    is_known: bool,
}

impl Drop for Unknown<'_> {
    fn drop(&mut self) {
        if self.is_known {
            return;
        }
        let (service, ending) = (self.service.clone(), self.ending);
        let (id, member) = (self.id, self.member);
        service.tasks.clone().spawn(async move {
            for _ in 0..MAX_CANCELS {
                match service.store.end_job(cancelled(id, member, ending)).await {
                    Ok(_) => return,
                    Err(error) => tracing::warn!(error = %chain(&error), "a job may stand"),
                }
                tokio::time::sleep(CANCEL_PAUSE).await;
            }
        });
    }
}

/// What is wrong with a request, apart from its model.
fn check(service: &Service, asked: &ResearchRequest) -> Result<(), ApiError> {
    let wrong = |param: &str, message: String| {
        Err(ApiError::of_param(Code::InvalidRequest, param, message))
    };
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
        let message = format!("`metadata` is larger than {MAX_METADATA_BYTES} bytes");
        return wrong("metadata", message);
    }
    let Some(url) = &asked.webhook_url else { return Ok(()) };
    if service.config.research.webhook_secret.is_none() {
        let message = "this service sends no webhooks: its operator has set no secret for them";
        return wrong("webhook_url", message.to_owned());
    }
    let target = Target::parse(url);
    let reached = target.and_then(|target| service.reader.may_reach(&target));
    reached.map_err(|fault| {
        let message = fault.to_string().replace("`url`", "`webhook_url`");
        ApiError::of_param(ApiError::from(fault).code(), "webhook_url", message)
    })
}

/// The model that works on a job: the one that is asked for, the operator's choice, or the first
/// that can be used.
fn model(
    service: &Service,
    caller: &KeyRecord,
    asked: Option<&str>,
) -> Result<Arc<Model>, ApiError> {
    if let Some(asked) = asked {
        return paid::resolve(service, caller, asked, Capability::Chat);
    }
    let chosen = service.chat_model(caller, service.config.research.model.as_deref());
    let message = "research is not available at the moment: no chat model of this key is usable";
    chosen.ok_or_else(|| unavailable(message))
}

fn unavailable(message: &str) -> ApiError {
    ApiError::new(Code::CapabilityUnavailable, message).retry_after(Duration::from_secs(5))
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// A job of the caller.
pub(crate) async fn find(
    service: &Service,
    caller: &KeyRecord,
    id: &str,
) -> Result<ResearchJob, ApiError> {
    let id = parse_id(id).ok_or_else(missing)?;
    service.store.job(caller.key.member, id).await?.ok_or_else(missing)
}

fn missing() -> ApiError {
    ApiError::new(Code::NotFound, "there is no job of this id of yours")
}

/// A job as it is shown, with all of its steps.
pub(crate) async fn shown(service: &Service, job: &ResearchJob) -> Result<JobView, ApiError> {
    let steps: Vec<JobStep> = service.store.job_steps(job.id).await?;
    Ok(view::job(job, &steps))
}

/// A job of the caller, once it is over or this much time has passed.
pub(crate) async fn find_over(
    service: &Service,
    caller: &KeyRecord,
    id: &str,
    patience: Duration,
) -> Result<ResearchJob, ApiError> {
    let until = Instant::now() + patience;
    loop {
        // From here on; what happens while we read is looked at once more.
        let ended = service.bell.ended.notified();
        let job = find(service, caller, id).await?;
        let is_last = Instant::now() >= until || service.stopping.is_cancelled();
        if job.status.is_over() || is_last {
            return Ok(job);
        }
        let next = until.min(Instant::now() + LOOK_EVERY);
        tokio::select! {
            _ = timeout_at(next, ended) => {}
            () = service.stopping.cancelled() => sleep_until(Instant::now()).await,
        }
    }
}

/// Jobs of the caller, newest first, those before `after`; and whether there are more.
pub(crate) async fn list(
    service: &Service,
    caller: &KeyRecord,
    limit: u32,
    after: Option<&str>,
) -> Result<(Vec<ResearchJob>, bool), ApiError> {
    let before = match after {
        None => HoldId::from_bytes([0xff; 16]),
        Some(after) => parse_id(after).ok_or_else(|| {
            let message = "`after` must be the id of a job";
            ApiError::of_param(Code::InvalidRequest, "after", message)
        })?,
    };
    let mut jobs = service.store.jobs(caller.key.member, before, limit + 1).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = jobs.len() > most;
    jobs.truncate(most);
    Ok((jobs, has_more))
}

/// Ends a job; one that is over stays as it is.
pub(crate) async fn cancel(
    service: &Service,
    caller: &KeyRecord,
    id: &str,
) -> Result<ResearchJob, ApiError> {
    let job = find(service, caller, id).await?;
    if !job.status.is_over() {
        let ended =
            service.store.end_job(cancelled(job.id, job.member, EndReason::Cancelled)).await?;
        if let JobEndResult::Ended(receipt) = ended {
            service.meter.ended(&receipt);
        }
        service.background.cancel(&job_id(job.id));
        service.bell.ended.notify_waiters();
    }
    find(service, caller, id).await
}

/// The store decides what it costs, by whether a step had begun.
fn cancelled(id: HoldId, member: MemberId, ending: EndReason) -> JobEnd {
    let told = json!({ "status": "cancelled" });
    JobEnd {
        id,
        member,
        attempt: None,
        status: JobStatus::Cancelled,
        reason: ending,
        tokens: TokenCounts::default(),
        result: None,
        error: None,
        progress: None,
        events: vec![NewJobEvent { kind: "cancelled", data: told.to_string().into_bytes() }],
    }
}
