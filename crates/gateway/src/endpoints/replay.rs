//! Responses from stored answers.

use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use crate::billing::Replay;
use crate::response_headers::{self, EVENT_STREAM};

pub(super) fn replayed(replay: Replay) -> Response {
    let Replay { id, charged, answer } = replay;
    let is_stream = answer.content_type == EVENT_STREAM;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    if is_stream {
        response_headers::write_stream(headers);
    } else if let Ok(value) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(CONTENT_TYPE, value);
    }
    response_headers::write_replayed(headers);
    response_headers::write_receipt(headers, id, charged);
    response
}
