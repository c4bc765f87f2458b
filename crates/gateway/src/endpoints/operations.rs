//! What machines that look after this one ask for; and answers in JSON.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use wire::error::Code;

use crate::failure::ApiError;
use crate::service::Service;

/// The process lives.
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// The service can take requests: the store answers, and it is not about to stop.
pub(super) async fn ready(State(service): State<Arc<Service>>) -> Result<&'static str, ApiError> {
    if service.stopping.is_cancelled() {
        return Err(ApiError::new(Code::Draining, "the service is about to stop"));
    }
    service.store.ping().await?;
    Ok("ready\n")
}

pub(super) async fn metrics(State(service): State<Arc<Service>>) -> impl IntoResponse {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    (
        [(CONTENT_TYPE, TYPE)],
        service.meter.text_with(service.tracer.as_ref().map(|tracer| tracer.dropped())),
    )
}

/// An answer in JSON.
pub(super) fn json<T: Serialize>(value: &T) -> Response {
    let Ok(text) = serde_json::to_vec(value) else {
        return ApiError::internal().into_response();
    };
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
