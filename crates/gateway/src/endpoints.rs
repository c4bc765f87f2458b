//! The paths of the service, one file for each group.

mod body;
mod chat;
mod me;
mod models;
mod operations;
mod paid;
mod responses;

use std::sync::Arc;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use wire::error::Code;

use crate::failure::ApiError;
use crate::service::Service;

/// All paths.
pub(crate) fn router(service: &Arc<Service>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/{id}", get(responses::find).delete(responses::delete))
        .route("/v1/responses/{id}/cancel", post(responses::cancel))
        .route("/v1/responses/{id}/input_items", get(responses::input_items))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::find))
        .route("/v1/me", get(me::show))
        .route("/v1/requests/{id}", get(me::receipt))
        .route("/healthz", get(operations::health))
        .route("/readyz", get(operations::ready))
        .route("/metrics", get(operations::metrics))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .with_state(service.clone())
}

async fn not_found() -> impl IntoResponse {
    ApiError::new(Code::NotFound, "there is no such path; see /docs")
}

async fn wrong_method() -> impl IntoResponse {
    ApiError::new(Code::MethodNotAllowed, "this path does not know this method; see /docs")
}

/// What a path is called in logs and figures.
pub(crate) fn operation(path: &str) -> &'static str {
    const PATHS: &[(&str, &str)] = &[
        ("/v1/chat/completions", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/models", "models"),
        ("/v1/me", "me"),
        ("/v1/requests/", "receipt"),
        ("/admin/", "admin"),
        ("/healthz", "healthz"),
        ("/readyz", "readyz"),
        ("/metrics", "metrics"),
        ("/openapi.json", "docs"),
        ("/docs", "docs"),
        ("/oauth/", "oauth"),
    ];
    PATHS.iter().find(|(start, _)| path.starts_with(start)).map_or("other", |(_, word)| word)
}

/// Whether it is asked by machines that look after this one.
pub(crate) fn is_probe(operation: &str) -> bool {
    matches!(operation, "healthz" | "readyz" | "metrics")
}
