//! `POST /v1/media/run`, and the artifacts of runs.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use gateway_store::Scope;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Method};
use ledger::MemberId;
use wire::error::Code;
use wire::media::MediaRun;

use super::admission::{MemberRead, MemberRequest, ReadAccess, Received};
use super::files::{self, File};
use super::fixed_price::replayed;
use super::{Id, json, model_request};
use crate::config::Operation;
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::media::{Done, Finished, Media, MediaRequest, RunContext};
use crate::raw_object::RawObject;
use crate::request_info::RequestInfo;
use crate::response_headers;

/// Artifacts never change; only their member may cache them.
const CACHING: &str = "private, max-age=86400, immutable";
const ACCESS: ReadAccess =
    ReadAccess { scope: Some(Scope::Media), operation: Operation::MediaRead };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Binary,
}

pub(super) async fn create(request: MemberRequest) -> ApiResult {
    let received = request.receive(Scope::Media, "media").await?;
    let Received { service, info, caller, bytes, idempotency } = received;
    let (request, form) = parse(&bytes)?;
    let member = caller.key.member;
    let RequestInfo { id, span, .. } = info;
    let done = service.media.run(RunContext { id, caller, idempotency, span }, &request).await?;
    delivered(&service.media, member, done, form).await
}

/// Runs media; the response is the first file.
pub(super) async fn answer_with_file(
    media: &Arc<Media>,
    context: RunContext,
    request: &MediaRequest,
) -> ApiResult {
    let member = context.caller.key.member;
    let done = media.run(context, request).await?;
    delivered(media, member, done, Form::Binary).await
}

async fn delivered(media: &Media, member: MemberId, done: Done, form: Form) -> ApiResult {
    match (done, form) {
        (Done::Now(finished), form) => Ok(response(media, *finished, form)),
        (Done::Replay(replay), Form::Json) => Ok(replayed(replay)),
        (Done::Replay(replay), Form::Binary) => {
            let run: Option<MediaRun> = serde_json::from_slice(&replay.answer.body).ok();
            let run = run.ok_or_else(ApiError::internal)?;
            let mut response = first_file(media, member, &run).await?;
            response_headers::write_replayed(response.headers_mut());
            response_headers::write_receipt(response.headers_mut(), replay.id, replay.charged);
            Ok(response)
        }
    }
}

fn parse(bytes: &[u8]) -> ApiResult<(MediaRequest, Form)> {
    const KNOWN: [&str; 3] = ["model", "input", "response"];
    let object = RawObject::parse(bytes)?;
    if let Some(other) = object.names().find(|name| !KNOWN.contains(name)) {
        let shown: String = other.chars().take(100).collect();
        let message = format!("unknown field `{shown}`; put options of the provider in `input`");
        return Err(ApiError::invalid(shown, message));
    }
    let model = model_request::required(&object, "model")?;
    let form: Option<String> = object.read("response", "a string")?;
    let form = match form.as_deref() {
        None | Some("json") => Form::Json,
        Some("binary") => Form::Binary,
        Some(_) => {
            return Err(ApiError::invalid("response", "`response` must be `json` or `binary`"));
        }
    };
    let input = object.raw("input").filter(|input| input.starts_with('{'));
    let Some(input) = input else {
        let message = "`input` must be an object with `prompt` or `text`";
        return Err(ApiError::invalid("input", message));
    };
    Ok((MediaRequest { model, input: Bytes::copy_from_slice(input.as_bytes()) }, form))
}

fn response(media: &Media, finished: Finished, form: Form) -> Response {
    let Finished { run, first, limit_status } = finished;
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
        _ => json(&media.view(&run)),
    };
    response_headers::write_receipt(response.headers_mut(), run.hold, run.charge);
    response_headers::write_limits(limit_status, response.headers_mut());
    response
}

async fn first_file(media: &Media, member: MemberId, run: &MediaRun) -> ApiResult {
    let artifact = run.artifacts.first().ok_or_else(ApiError::internal)?;
    let mut response = file(media, member, &artifact.id, &Method::GET, &HeaderMap::new()).await?;
    write_run(response.headers_mut(), &run.id);
    Ok(response)
}

/// Adds the run id to a file response.
fn write_run(headers: &mut HeaderMap, id: &str) {
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert("x-media-run-id", value);
    }
}

pub(super) async fn artifact(Id(id): Id, method: Method, read: MemberRead) -> ApiResult {
    read.answer(ACCESS, async |caller: &Caller| {
        file(&read.service.media, caller.key.member, &id, &method, &read.headers).await
    })
    .await
}

pub(super) async fn file(
    media: &Media,
    member: MemberId,
    id: &str,
    method: &Method,
    headers: &HeaderMap,
) -> ApiResult {
    let found = media.billing.store.artifact(member, id).await?;
    let found = found.ok_or_else(|| missing("artifact"))?;
    let file = File {
        store: &media.artifacts,
        object: &found.object,
        bytes: found.bytes,
        sha256: found.sha256,
        media_type: &found.media_type,
        caching: CACHING,
    };
    files::answer(&file, method, headers).await
}

pub(super) async fn manifest(Id(id): Id, read: MemberRead) -> ApiResult {
    let media = &read.service.media;
    let find = async |caller: &Caller| {
        let run = media.billing.store.media_run(caller.key.member, &id).await?;
        let run = run.ok_or_else(|| missing("run"))?;
        Ok(json(&media.view(&run)))
    };
    read.answer(ACCESS, find).await
}

fn missing(what: &str) -> ApiError {
    ApiError::new(Code::NotFound, format!("no such {what}, or it has expired"))
}
