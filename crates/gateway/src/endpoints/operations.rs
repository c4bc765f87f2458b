//! What machines that look after this one ask for; and answers in JSON.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use tokio::net::TcpListener;
use wire::error::Code;

use super::check_host;
use crate::clock;
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

pub(super) async fn metrics(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    check_host(&service, &headers)?;
    for provider in service.providers.iter().chain(service.search.upstreams()) {
        service.meter.health(&provider.name, &provider.health);
    }
    let spans_dropped = service.tracer.as_ref().map(|tracer| tracer.dropped());
    Ok(([(CONTENT_TYPE, TYPE)], service.meter.text_with(spans_dropped)))
}

/// Serves the figures on a listener of their own, until the service stops.
pub(crate) async fn serve_metrics(service: Arc<Service>, listener: TcpListener) -> io::Result<()> {
    let stopping = service.stopping.clone();
    let answer = |State(service): State<Arc<Service>>, headers: HeaderMap| async move {
        let answer = metrics(State(service), headers).await;
        answer.map_err(|error| error.answer(&clock::new_hold_id().to_string()))
    };
    let router = Router::new().route("/metrics", get(answer)).with_state(service);
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { stopping.cancelled().await })
        .await
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
