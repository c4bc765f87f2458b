//! Errors before a method is called, as JSON-RPC messages: clients do not show other bodies.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Collected, Limited};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::failure::{ApiError, Dialect};

const MAX_REASON_BYTES: usize = 4096;
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INTERNAL_ERROR: i32 = -32603;

pub(super) struct OriginalRequest {
    has_json: bool,
    body: Bytes,
}

#[derive(Deserialize)]
struct Named {
    id: Value,
}

impl OriginalRequest {
    pub(super) fn new(headers: &HeaderMap, body: &Bytes) -> Self {
        Self { has_json: has_json(headers), body: body.clone() }
    }
}

/// The response to an error of the service as a JSON-RPC message; the details are in its data.
pub(crate) fn of_failure(error: &ApiError, request_id: &str) -> Response {
    let code = if error.code().status() < 500 { INVALID_REQUEST } else { INTERNAL_ERROR };
    let mut data = json!(error.detail(Some(request_id)));
    if let Some(data) = data.as_object_mut() {
        data.remove("message");
    }
    let error_object = json!({"code": code, "message": error.message(), "data": data});
    // The body was not read.
    let message = json!({"jsonrpc": "2.0", "id": null, "error": error_object});
    error.answer(Dialect::OpenAi, request_id).map(|_| Body::from(message.to_string()))
}

/// The response unchanged, or as a JSON-RPC message if it is an error in plain text.
pub(super) async fn as_json_rpc(response: Response, asked: &OriginalRequest) -> Response {
    let status = response.status();
    let is_refusal = status.is_client_error() || status.is_server_error();
    if !is_refusal || has_json(response.headers()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let reason = Limited::new(body, MAX_REASON_BYTES).collect().await;
    let reason = reason.map(Collected::to_bytes).unwrap_or_default();
    let (status, text) = message(status, &String::from_utf8_lossy(&reason), asked);
    head.status = status;
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(head, Body::from(text))
}

fn message(status: StatusCode, reason: &str, asked: &OriginalRequest) -> (StatusCode, String) {
    // rmcp reports unreadable bodies as an unsupported type, whatever the headers say.
    let is_unread = status == StatusCode::UNSUPPORTED_MEDIA_TYPE && asked.has_json;
    let (status, code, reason) = match first(&asked.body) {
        _ if !is_unread => (status, INVALID_REQUEST, reason),
        None => (StatusCode::BAD_REQUEST, PARSE_ERROR, "the body is not valid JSON"),
        Some(b'[') => {
            let reason = "there are no batches: send each message as a separate request";
            (StatusCode::BAD_REQUEST, INVALID_REQUEST, reason)
        }
        Some(_) => (StatusCode::BAD_REQUEST, INVALID_REQUEST, "the body is not a JSON-RPC message"),
    };
    let id = serde_json::from_slice::<Named>(&asked.body).ok().map(|named| named.id);
    let id = id.filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    // JSON-RPC requires null for an unknown id, and some clients ignore a message without an id.
    let error = json!({"code": code, "message": reason});
    (status, json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())
}

fn first(body: &[u8]) -> Option<u8> {
    let value: &RawValue = serde_json::from_slice(body).ok()?;
    value.get().bytes().next()
}

fn has_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

#[cfg(test)]
mod tests;
