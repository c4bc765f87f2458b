//! The paths of the service, one file for each group.

pub(crate) mod admin;
mod body;
mod capabilities;
mod chat;
mod docs;
mod downloads;
mod files;
pub(crate) mod inside;
mod mcp;
mod me;
mod media;
mod models;
pub(crate) mod oauth;
mod operations;
mod own;
pub(crate) mod paid;
mod path;
mod research;
mod responses;
mod search;
mod web;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::{Method, Request};
use hyper::body::Incoming;
use tower_service::Service as _;
use wire::error::Code;

use crate::failure::ApiError;
use crate::openapi::{Routes, media as made, member, operator, responses as described};
use crate::openapi::{research as jobs, search as searches, web as pages};
use crate::server::Arrival;
use crate::service::Service;

/// Where chats are asked for.
const CHAT_PATH: &str = "/v1/chat/completions";

/// All paths.
pub(crate) fn router(service: &Arc<Service>) -> Router {
    mcp::add(routes(service).into_router(), service)
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .with_state(service.clone())
}

/// All paths, each with what it is described by.
fn routes(service: &Service) -> Routes {
    let mut routes = Routes::default()
        .on(&member::CHAT, chat::create)
        .on(&described::CREATE, responses::create)
        .on(&described::SHOW, responses::find)
        .on(&described::DELETE, responses::delete)
        .on(&described::CANCEL, responses::cancel)
        .on(&described::INPUT_ITEMS, responses::input_items)
        .on(&member::LIST_MODELS, models::list)
        .on(&member::FIND_MODEL, models::find)
        .on(&member::CAPABILITIES, capabilities::list)
        .on(&member::ME, me::show)
        .on(&member::FIND_RECEIPT, me::receipt)
        .on(&made::RUN, media::create)
        .on(&made::ARTIFACT, media::artifact)
        .on(&made::MANIFEST, media::manifest)
        .on(&jobs::CREATE, research::create)
        .on(&jobs::LIST, research::list)
        .on(&jobs::SHOW, research::find)
        .on(&jobs::FOLLOW, research::events)
        .on(&jobs::CANCEL, research::cancel)
        .on(&pages::FETCH, web::fetch)
        .on(&searches::CREATE, search::create)
        .on(&operator::HEALTH, operations::health)
        .on(&operator::READY, operations::ready)
        .on(&operator::METRICS, operations::metrics);
    // Without a token there are no such paths.
    if service.config.admin_token.is_some() {
        routes = admin::add(routes);
    }
    let routes = downloads::add(oauth::add(routes, service), service);
    docs::describe(routes, &service.config)
}

/// Answers a request. The path that is asked for most is not looked up: the router would copy and box
/// its way to the handler.
pub(crate) async fn call(
    service: &Arc<Service>,
    router: &Router,
    request: Request<Incoming>,
    arrival: Arrival,
) -> Response {
    let mut request = request.map(Body::new);
    if request.method() == Method::POST && request.uri().path() == CHAT_PATH {
        let (service, arrival) = (State(service.clone()), Extension(arrival));
        return Box::pin(chat::create(service, arrival, request)).await.into_response();
    }
    request.extensions_mut().insert(arrival);
    match router.clone().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
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
        (CHAT_PATH, "chat"),
        ("/v1/responses", "responses"),
        ("/v1/research/", "research"),
        ("/v1/models", "models"),
        ("/v1/capabilities", "capabilities"),
        ("/v1/me", "me"),
        ("/v1/search", "search"),
        ("/v1/requests/", "receipt"),
        ("/v1/media/runs/", "media_read"),
        ("/v1/media/run", "media"),
        ("/v1/media/", "media_read"),
        ("/v1/web/fetch", "fetch"),
        ("/v1/downloads/", "downloads"),
        (crate::mcp::PATH, crate::mcp::OPERATION),
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
