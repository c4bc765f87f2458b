//! Endpoints for monitoring systems.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use wire::error::Code;

use super::{AppState, check_host};
use crate::clock;
use crate::failure::{ApiError, ApiResult, Dialect};
use crate::service::Service;

pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Ready: the store answers, and no drain has begun.
pub(super) async fn ready(State(service): State<AppState>) -> ApiResult<&'static str> {
    if service.lifecycle.is_stopping() {
        return Err(ApiError::new(Code::Draining, "the service is shutting down"));
    }
    service.billing.store.ping().await?;
    Ok("ready\n")
}

pub(super) async fn metrics(
    State(service): State<AppState>,
    headers: HeaderMap,
) -> ApiResult<impl IntoResponse> {
    const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    check_host(&service.config, &headers)?;
    for provider in service.all_providers() {
        provider.update_gauges(&service.metrics);
    }
    let spans_dropped = service.upstreams.tracer.as_ref().map_or(0, |tracer| tracer.dropped());
    Ok(([(CONTENT_TYPE, TYPE)], service.metrics.text(spans_dropped)))
}

/// Serves the metrics on a separate listener until the service stops.
pub(crate) async fn serve_metrics(
    current: impl Fn() -> Arc<Service> + Clone + Send + Sync + 'static,
    stopping: CancellationToken,
    listener: TcpListener,
) -> io::Result<()> {
    let answer = async move |headers: HeaderMap| {
        let answer = metrics(State(current()), headers).await;
        answer.map_err(|error| error.answer(Dialect::OpenAi, &clock::new_hold_id().to_string()))
    };
    let router = Router::new().route("/metrics", get(answer));
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { stopping.cancelled().await })
        .await
}
