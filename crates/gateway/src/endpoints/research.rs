//! `/v1/research/jobs`: start, show, follow and cancel jobs.

use std::sync::Arc;
use std::time::Duration;

use gateway_store::{Error, Scope};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use ledger::HoldId;
use serde::Deserialize;
use wire::research::{JobList, JobView};

use super::admission::{MemberRead, MemberRequest, ReadAccess, Received};
use super::event_tail::{self, Batch, EventSource, MAX_EVENTS_AT_ONCE};
use super::{Id, RawQuery, body, json, parse_query};
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::research::{MAX_LISTED, NewResearch, Research, Started, job_id, view};
use crate::response_headers;

const ACCESS: ReadAccess =
    ReadAccess { scope: Some(Scope::Research), operation: Operation::ResearchRead };
const FIELDS: &[&str] = &["query", "model", "depth", "max_sources", "webhook_url", "metadata"];
const DEFAULT_LISTED: u32 = 20;
/// Maximum wait for the end of a job, in seconds.
const MAX_WAIT: u64 = 60;

#[derive(Debug, Default, Deserialize)]
pub(super) struct FindQuery {
    pub(super) wait: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ListQuery {
    limit: Option<u32>,
    after: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct EventsQuery {
    starting_after: Option<i64>,
}

pub(super) async fn create(request: MemberRequest) -> ApiResult {
    let received = request.receive(Scope::Research, "research").await?;
    let Received { service, info, caller, bytes, idempotency } = received;
    let research = &service.research;
    let request = body::parse(&bytes, wrong)?;
    let new = NewResearch { id: info.id, idempotency, request };
    let started = Box::pin(research.start_job(&caller, new)).await?;
    let Started { job, price, limit_status, is_replayed } = started;
    // A new job has no steps yet; if reading them failed, an error would hide a running job.
    let view = if is_replayed { research.view(&job).await? } else { view::job(&job, &[]) };
    let mut response = json(&view);
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    if let Ok(location) = HeaderValue::try_from(format!("/v1/research/jobs/{}", view.id)) {
        headers.insert(LOCATION, location);
    }
    if is_replayed {
        response_headers::write_replayed(headers);
    }
    match job.charged {
        Some(charged) => response_headers::write_receipt(headers, job.id, charged),
        None => response_headers::write_price(headers, job.id, price),
    }
    response_headers::write_limits(limit_status, headers);
    Ok(response)
}

pub(super) async fn find(Id(id): Id, query: RawQuery<FindQuery>, read: MemberRead) -> ApiResult {
    let research = &read.service.research;
    read.answer(ACCESS, async |caller: &Caller| {
        let query = parse_query(query)?;
        let wait = query.wait.unwrap_or(0);
        if wait > MAX_WAIT {
            let message = format!("`wait` must be at most {MAX_WAIT} seconds");
            return Err(ApiError::invalid("wait", message));
        }
        let job = research.find_over(caller, &id, Duration::from_secs(wait)).await?;
        Ok(json(&research.view(&job).await?))
    })
    .await
}

pub(super) async fn list(query: RawQuery<ListQuery>, read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        let query = parse_query(query)?;
        let limit = query.limit.unwrap_or(DEFAULT_LISTED);
        if !(1..=MAX_LISTED).contains(&limit) {
            let message = format!("`limit` must be from 1 to {MAX_LISTED}");
            return Err(ApiError::invalid("limit", message));
        }
        let after = query.after.as_deref();
        let (jobs, has_more) = read.service.research.list(caller, limit, after).await?;
        let brief = |job| JobView { report: None, ..view::job(job, &[]) };
        let data: Vec<JobView> = jobs.iter().map(brief).collect();
        let last_id = data.last().map(|job| job.id.clone());
        Ok(json(&JobList { object: "list".to_owned(), data, has_more, last_id }))
    })
    .await
}

pub(super) async fn events(
    Id(id): Id,
    query: RawQuery<EventsQuery>,
    read: MemberRead,
) -> ApiResult {
    let research = &read.service.research;
    read.answer(ACCESS, async |caller: &Caller| {
        let query = parse_query(query)?;
        if query.starting_after.is_some_and(i64::is_negative) {
            let message = "`starting_after` must be at least 0";
            return Err(ApiError::invalid("starting_after", message));
        }
        let job = research.find(caller, &id).await?;
        let last = read.headers.get("last-event-id").and_then(|value| value.to_str().ok());
        let last = last.and_then(|last| last.trim().parse().ok());
        let after = query.starting_after.or(last).unwrap_or(0);
        let follower = research.background.follow(caller.key.lineage)?;
        let source =
            JobEvents { research: research.clone(), id: job.id, name: job_id(job.id), after };
        Ok(event_tail::stream(&read.service, follower, source))
    })
    .await
}

pub(super) async fn cancel(Id(id): Id, read: MemberRead) -> ApiResult {
    let research = &read.service.research;
    read.answer(ACCESS, async |caller: &Caller| {
        let job = research.cancel(caller, &id).await?;
        Ok(json(&research.view(&job).await?))
    })
    .await
}

fn wrong(path: &str, message: &str) -> ApiError {
    if let Some(unknown) = body::unknown(message, FIELDS) {
        return unknown;
    }
    let (name, wanted) = match path {
        "model" => ("model", "the id of a chat model"),
        "depth" => ("depth", "`quick`, `standard` or `deep`"),
        "max_sources" => ("max_sources", "a whole number from 1 to 50"),
        "webhook_url" => ("webhook_url", "an http or https URL"),
        path if path.starts_with("metadata") => ("metadata", "an object"),
        _ => ("query", "a string of 1 to 4000 characters"),
    };
    ApiError::invalid(name, format!("`{name}` must be {wanted}"))
}

struct JobEvents {
    research: Arc<Research>,
    id: HoldId,
    name: String,
    /// The sequence number of the last known event.
    after: i64,
}

impl EventSource for JobEvents {
    fn id(&self) -> &str {
        &self.name
    }

    /// A job ends in the transaction that writes its last event.
    async fn read(&mut self, _: bool) -> Result<Batch, Error> {
        let store = &self.research.billing.store;
        let status = store.job_status(self.id).await?;
        let events = store.job_events(self.id, self.after, MAX_EVENTS_AT_ONCE).await?;
        let is_all = events.len() < usize::try_from(MAX_EVENTS_AT_ONCE).unwrap_or(usize::MAX);
        let is_last = status.is_none_or(|(status, _)| status.is_over()) && is_all;
        self.after = events.last().map_or(self.after, |last| last.sequence);
        let events: Vec<u8> =
            events.iter().flat_map(|event| view::event(&self.name, event)).collect();
        Ok(Batch { events: events.into(), is_last })
    }
}

#[cfg(test)]
mod tests;
