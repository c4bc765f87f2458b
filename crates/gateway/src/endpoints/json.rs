//! JSON responses.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::failure::ApiError;

pub(super) fn json<T: Serialize>(value: &T) -> Response {
    let Ok(text) = serde_json::to_vec(value) else {
        return ApiError::internal().into_response();
    };
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
