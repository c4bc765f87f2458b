//! `/v1/research/jobs`: jobs are started, looked at, followed and cancelled.

mod tail;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use gateway_store::Scope;
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use serde::Deserialize;
use wire::error::Code;
use wire::research::{JobList, JobView};

use super::operations::json;
use super::paid::{self, Received, write_replayed};
use super::path::{self, Asked, Id};
use super::{body, own};
use crate::background::Follower;
use crate::config::Operation;
use crate::failure::ApiError;
use crate::identity::Caller;
use crate::rate;
use crate::research::desk::{self, MAX_LISTED, Started};
use crate::research::view;
use crate::server::Arrival;
use crate::service::Service;

/// What a key needs for looking at jobs, and what that is called.
const LOOKING: (Scope, Operation) = (Scope::Research, Operation::ResearchRead);
/// The fields of a request.
const FIELDS: &[&str] = &["query", "model", "depth", "max_sources", "webhook_url", "metadata"];
/// How many jobs a page has, unless told.
const DEFAULT_LISTED: u32 = 20;
/// The longest that somebody waits for the end of a job, in seconds.
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

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let received = paid::receive(&service, request, Scope::Research, "research").await?;
    let Received { caller, bytes, idempotency } = received;
    let asked = body::parse(&bytes, wrong)?;
    let started =
        Box::pin(desk::start(&service, &caller, (arrival.id, idempotency), asked)).await?;
    let Started { job, price, room, is_replayed } = started;
    let shown = desk::shown(&service, &job).await?;
    let mut response = json(&shown);
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    if let Ok(place) = HeaderValue::try_from(format!("/v1/research/jobs/{}", shown.id)) {
        headers.insert(LOCATION, place);
    }
    if is_replayed {
        write_replayed(headers);
    }
    match job.charged {
        Some(charged) => rate::write_receipt(headers, job.id, charged),
        None => rate::write_price(headers, job.id, price),
    }
    rate::write_headers(room, headers);
    Ok(response)
}

pub(super) async fn find(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    Id(id): Id,
    query: Asked<FindQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    own::look(&service, &arrival, &headers, LOOKING, async |caller: &Caller| {
        let query = path::query(query)?;
        let wait = query.wait.unwrap_or(0);
        if wait > MAX_WAIT {
            let message = format!("`wait` must be at most {MAX_WAIT} seconds");
            return Err(ApiError::of_param(Code::InvalidRequest, "wait", message));
        }
        let job = desk::find_over(&service, caller, &id, Duration::from_secs(wait)).await?;
        Ok(json(&desk::shown(&service, &job).await?))
    })
    .await
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    query: Asked<ListQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    own::look(&service, &arrival, &headers, LOOKING, async |caller: &Caller| {
        let query = path::query(query)?;
        let limit = query.limit.unwrap_or(DEFAULT_LISTED);
        if !(1..=MAX_LISTED).contains(&limit) {
            let message = format!("`limit` must be 1 to {MAX_LISTED}");
            return Err(ApiError::of_param(Code::InvalidRequest, "limit", message));
        }
        let (jobs, has_more) = desk::list(&service, caller, limit, query.after.as_deref()).await?;
        let brief = |job| JobView { report: None, ..view::job(job, &[]) };
        let data: Vec<JobView> = jobs.iter().map(brief).collect();
        let last_id = data.last().map(|job| job.id.clone());
        Ok(json(&JobList { object: "list".to_owned(), data, has_more, last_id }))
    })
    .await
}

pub(super) async fn events(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    Id(id): Id,
    query: Asked<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    own::look(&service, &arrival, &headers, LOOKING, async |caller: &Caller| {
        let query = path::query(query)?;
        if query.starting_after.is_some_and(i64::is_negative) {
            let message = "`starting_after` must be at least 0";
            return Err(ApiError::of_param(Code::InvalidRequest, "starting_after", message));
        }
        let job = desk::find(&service, caller, &id).await?;
        let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
        let last = last.and_then(|last| last.trim().parse().ok());
        let after = query.starting_after.or(last).unwrap_or(0);
        let follower = Follower::admit(&service, caller.key.lineage)?;
        Ok(tail::tail(&service, follower, job.id, after))
    })
    .await
}

pub(super) async fn cancel(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    own::look(&service, &arrival, &headers, LOOKING, async |caller: &Caller| {
        let job = desk::cancel(&service, caller, &id).await?;
        Ok(json(&desk::shown(&service, &job).await?))
    })
    .await
}

/// What is wrong with the shape of a body.
fn wrong(path: &str, said: &str) -> ApiError {
    if let Some(unknown) = body::unknown(said, FIELDS) {
        return unknown;
    }
    let (name, wanted) = match path {
        "model" => ("model", "the id of a chat model"),
        "depth" => ("depth", "`quick`, `standard` or `deep`"),
        "max_sources" => ("max_sources", "a whole number from 1 to 50"),
        "webhook_url" => ("webhook_url", "an http or https address"),
        path if path.starts_with("metadata") => ("metadata", "a mapping"),
        _ => ("query", "a string of 1 to 4000 characters"),
    };
    ApiError::of_param(Code::InvalidRequest, name, format!("`{name}` must be {wanted}"))
}

#[cfg(test)]
mod tests {
    use wire::research::ResearchRequest;

    use super::*;

    #[test]
    fn a_wrong_request_names_the_field() {
        let wrong = |text: &str| {
            let error = body::parse::<ResearchRequest>(text.as_bytes(), wrong).unwrap_err();
            let param = error.body().error.param.unwrap_or_default();
            (error.code().word(), param, error.message().to_owned())
        };
        let of =
            |param: &str, message: &str| ("invalid_request", param.to_owned(), message.to_owned());
        let depth = "`depth` must be `quick`, `standard` or `deep`";
        assert_eq!(wrong(r#"{"query":"a","depth":"slow"}"#), of("depth", depth));
        let dept = "`dept` is not known here; did you mean `depth`?";
        assert_eq!(wrong(r#"{"query":"a","dept":"deep"}"#), of("dept", dept));
        let query = "`query` must be a string of 1 to 4000 characters";
        assert_eq!(wrong("{}"), of("query", query));
        assert_eq!(wrong(r#"{"query":"a","metadata":[]}"#).1, "metadata");
        assert_eq!(wrong(r#"{"query":"a","max_sources":-1}"#).1, "max_sources");
        assert_eq!(wrong("[]").0, "invalid_request");
        assert_eq!(wrong("{").0, "invalid_json");
        assert_eq!(wrong("").0, "invalid_json");
    }
}
