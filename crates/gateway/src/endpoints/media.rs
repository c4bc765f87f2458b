//! `POST /v1/media/run`, and what was made.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use gateway_store::Scope;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Method, Request};
use ledger::MemberId;
use wire::error::Code;
use wire::media::MediaRun;

use super::files::{self, File};
use super::operations::json;
use super::own;
use super::paid::{self, Received};
use super::path::Id;
use crate::config::Operation;
use crate::envelope::Envelope;
use crate::failure::ApiError;
use crate::media::{Ask, Context, Done, Finished, run};
use crate::rate;
use crate::server::Arrival;
use crate::service::Service;

/// Artifacts never change; only their member may keep them.
const CACHING: &str = "private, max-age=86400, immutable";

/// How the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As a description of what was made.
    Json,
    /// As the first file itself.
    Binary,
}

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let received = paid::receive(&service, request, Scope::Media, "media").await?;
    let Received { caller, bytes, idempotency } = received;
    let (ask, form) = read(&bytes)?;
    let member = caller.key.member;
    let Arrival { id, traced, .. } = arrival;
    let done = run(&service, Context { id, caller, idempotency, traced }, &ask).await?;
    match (done, form) {
        (Done::Now(finished), form) => Ok(now(&service, *finished, form)),
        (Done::Again(known), Form::Json) => Ok(paid::again(known)),
        (Done::Again(known), Form::Binary) => {
            let run: Option<MediaRun> = serde_json::from_slice(&known.answer.body).ok();
            let run = run.ok_or_else(ApiError::internal)?;
            let mut response = first(&service, member, &run).await?;
            paid::write_replayed(response.headers_mut());
            rate::write_receipt(response.headers_mut(), known.id, known.charged);
            Ok(response)
        }
    }
}

/// What a body asks for.
fn read(bytes: &[u8]) -> Result<(Ask, Form), ApiError> {
    const KNOWN: [&str; 3] = ["model", "input", "response"];
    let envelope = Envelope::parse(bytes)?;
    if let Some(other) = envelope.names().find(|name| !KNOWN.contains(name)) {
        let shown: String = other.chars().take(100).collect();
        let message = format!("`{shown}` is not known; options of the provider stand in `input`");
        return Err(ApiError::of_param(Code::InvalidRequest, shown, message));
    }
    let model = paid::required(&envelope, "model")?;
    let form: Option<String> = envelope.read("response", "a string")?;
    let form = match form.as_deref() {
        None | Some("json") => Form::Json,
        Some("binary") => Form::Binary,
        Some(_) => {
            let message = "`response` must be `json` or `binary`";
            return Err(ApiError::of_param(Code::InvalidRequest, "response", message));
        }
    };
    let input = envelope.raw("input").filter(|input| input.starts_with('{'));
    let Some(input) = input else {
        let message = "`input` must be an object with `prompt` or `text`";
        return Err(ApiError::of_param(Code::InvalidRequest, "input", message));
    };
    Ok((Ask { model, input: Bytes::copy_from_slice(input.as_bytes()) }, form))
}

/// What was made now.
fn now(service: &Service, finished: Finished, form: Form) -> Response {
    let Finished { run, first, room } = finished;
    let mut response = match (form, run.artifacts.first()) {
        (Form::Binary, Some(artifact)) => {
            let length = first.len();
            let mut response = Response::new(Body::from(first));
            let headers = response.headers_mut();
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
            files::write_content(headers, &artifact.media_type, &artifact.sha256);
            write_run(headers, &run.id);
            response
        }
        _ => json(&service.media_view(&run)),
    };
    rate::write_receipt(response.headers_mut(), run.hold, run.charge);
    rate::write_headers(room, response.headers_mut());
    response
}

/// The first file of a run of before.
async fn first(service: &Service, member: MemberId, run: &MediaRun) -> Result<Response, ApiError> {
    let artifact = run.artifacts.first().ok_or_else(ApiError::internal)?;
    let mut response =
        file(service, member, &artifact.id, (&Method::GET, &HeaderMap::new())).await?;
    write_run(response.headers_mut(), &run.id);
    Ok(response)
}

/// Where the manifest of an answer is that is a file.
fn write_run(headers: &mut HeaderMap, id: &str) {
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert("x-media-run-id", value);
    }
}

pub(super) async fn artifact(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    Id(id): Id,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = service.caller_for(&headers, Scope::Media).await?;
    let work = file(&service, caller.key.member, &id, (&method, &headers));
    own::answer(&service, &arrival, &caller, Operation::MediaRead, work).await
}

/// An artifact of a member, as far as it is wanted.
pub(super) async fn file(
    service: &Service,
    member: MemberId,
    id: &str,
    (method, headers): (&Method, &HeaderMap),
) -> Result<Response, ApiError> {
    let found = service.store.artifact(member, id).await?;
    let found = found.ok_or_else(|| missing("artifact"))?;
    let file = File {
        keep: &service.artifacts,
        object: &found.object,
        bytes: found.bytes,
        sha256: found.sha256,
        media_type: &found.media_type,
        caching: CACHING,
    };
    files::answer(&file, method, headers).await
}

pub(super) async fn manifest(
    State(service): State<Arc<Service>>,
    Extension(arrival): Extension<Arrival>,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let caller = service.caller_for(&headers, Scope::Media).await?;
    let work = async {
        let run = service.store.media_run(caller.key.member, &id).await?;
        let run = run.ok_or_else(|| missing("run"))?;
        Ok(json(&service.media_view(&run)))
    };
    own::answer(&service, &arrival, &caller, Operation::MediaRead, work).await
}

fn missing(what: &str) -> ApiError {
    ApiError::new(Code::NotFound, format!("there is no such {what} of yours, or its time is over"))
}
