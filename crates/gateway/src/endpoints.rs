//! The routes of the service, one file for each group.

mod admin;
mod admission;
mod body;
mod chat;
mod console;
mod docs;
mod downloads;
mod event_tail;
mod files;
mod fixed_price;
mod form;
mod internal_call;
pub(crate) mod mcp;
mod me;
mod media;
mod messages;
mod model_request;
mod models;
mod operations;
mod pass_through;
mod research;
mod responses;
mod search;
mod upload;
mod web;
mod web_search;

pub(crate) use models::ANTHROPIC_VERSION;
pub(crate) use operations::serve_metrics;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use http::header::{CONTENT_TYPE, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Uri};
use hyper::body::Incoming;
use serde::Serialize;
use tower_service::Service as _;
use wire::error::Code;

use self::internal_call::InternalCalls;
use crate::config::Config;
use crate::failure::{ApiError, ApiResult};
use crate::openapi::{self, Operation, Routes};
use crate::request_info::{RequestInfo, Route};
use crate::request_log::sanitized_path;
use crate::service::{CLIENT_DOCUMENT, Service};

type AppState = Arc<Service>;

pub(crate) struct Endpoints {
    router: Router,
    routes: matchit::Router<Route>,
    calls: Arc<InternalCalls>,
}

impl Endpoints {
    pub(crate) fn new(service: &Arc<Service>) -> Result<Self, matchit::InsertError> {
        let described = routes(service);
        let mut known = matchit::Router::new();
        let mut patterns: Vec<_> = described
            .operations
            .iter()
            .map(|operation| (operation.route, operation.path))
            .chain([(mcp::PATH, mcp::PATH)])
            .chain(console::paths().map(|path| (path, path)))
            .collect();
        // One path may have several methods.
        patterns.sort_unstable();
        patterns.dedup();
        for (route, pattern) in patterns {
            known.insert(route, Route { pattern, operation: operation(pattern) })?;
        }
        let offered: Arc<str> = offered(&described.operations).into();
        let plain = described.router;
        let router = plain.clone().with_state(service.clone());
        let calls = InternalCalls {
            router,
            media: service.media.clone(),
            upstreams: service.upstreams.clone(),
        };
        let max_body_bytes = service.config.limits.max_body_bytes;
        let finished = service.lifecycle.finished.clone();
        let background = service.background.clone();
        let tools = Arc::new(mcp::Endpoint::new(&calls, max_body_bytes, finished, background));
        let pages = console::router(calls.clone());
        let router = plain
            .route(mcp::PATH, post(mcp::handle).layer(Extension(tools)))
            .merge(pages)
            .fallback(move |uri: Uri, headers: HeaderMap| async move {
                if console::accepts_html(&headers) {
                    return console::no_page();
                }
                not_found(&uri, &offered).into_response()
            })
            .method_not_allowed_fallback(wrong_method)
            .with_state(service.clone());
        Ok(Self { router, routes: known, calls: Arc::new(calls) })
    }

    pub(crate) fn route(&self, path: &str) -> Route {
        self.routes.at(path).map_or(Route::NONE, |found| *found.value)
    }

    pub(crate) async fn call(&self, request: Request<Incoming>, info: RequestInfo) -> Response {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(info);
        // Models may search the web there; requests of our own have no such extension.
        if matches!(request.uri().path(), "/v1/messages" | "/v1/responses") {
            request.extensions_mut().insert(self.calls.clone());
        }
        let Ok(response) = self.router.clone().call(request).await;
        response
    }
}

fn routes(service: &Service) -> Routes<AppState> {
    let config = &service.config;
    let mut routes = Routes::new()
        .post("/v1/chat/completions", chat::create)
        .post("/v1/completions", chat::complete)
        .post("/v1/embeddings", pass_through::create)
        .post("/v1/moderations", pass_through::create)
        .post("/v1/rerank", pass_through::create)
        .post("/v1/images/generations", pass_through::create)
        .post("/v1/images/edits", pass_through::create)
        .post("/v1/audio/speech", pass_through::create)
        .post("/v1/audio/transcriptions", pass_through::create)
        .post("/v1/messages", messages::create)
        .post("/v1/messages/count_tokens", messages::count_tokens)
        .post("/v1/responses", responses::create)
        .post("/v1/responses/compact", responses::compact)
        .post("/v1/responses/input_tokens", responses::input_tokens)
        .get("/v1/responses/{id}", responses::find)
        .delete("/v1/responses/{id}", responses::delete)
        .post("/v1/responses/{id}/cancel", responses::cancel)
        .get("/v1/responses/{id}/input_items", responses::input_items)
        .get("/v1/models", models::list)
        .get_any(("/v1/models/{id}", "/v1/models/{*id}"), models::find)
        .get("/v1/capabilities", models::capabilities)
        .get("/v1/me", me::show)
        .get("/v1/me/usage", me::usage)
        .get("/v1/requests/{id}", me::receipt)
        .post("/v1/media/run", media::create)
        .get("/v1/media/artifacts/{id}", media::artifact)
        .get("/v1/media/runs/{id}/manifest.json", media::manifest)
        .post("/v1/research/jobs", research::create)
        .get("/v1/research/jobs", research::list)
        .get("/v1/research/jobs/{id}", research::find)
        .get("/v1/research/jobs/{id}/events", research::events)
        .post("/v1/research/jobs/{id}/cancel", research::cancel)
        .post("/v1/web/fetch", web::fetch)
        .post("/v1/search", search::create)
        .get("/healthz", operations::health)
        .get("/readyz", operations::ready);
    if config.metrics_listen.is_none() {
        routes = routes.get("/metrics", operations::metrics);
    }
    // Without a token these paths do not exist.
    if config.admin_token.is_some() {
        routes = admin::add(routes);
    }
    // The client document of the MCP client, if its address can be a `client_id`.
    if let Some(document) = service.client_document().cloned() {
        routes = routes.get(CLIENT_DOCUMENT, move || async move { json_text(document) });
    }
    docs::describe(downloads::add(routes, config), config)
}

/// The paths of the member API, for clients of other services.
fn offered(operations: &[Operation]) -> String {
    let is_offered = |it: &&Operation| {
        it.verb == "post" && it.path.starts_with("/v1/") && !it.path.contains('{')
    };
    let paths: Vec<&str> = operations.iter().filter(is_offered).map(|it| it.path).collect();
    paths.join(", ")
}

fn not_found(uri: &Uri, offered: &str) -> ApiError {
    let path = sanitized_path(uri.path());
    let message = if path.starts_with("/v1/") {
        format!("unknown path {path}; known paths: {offered}; see /docs")
    } else {
        format!("unknown path {path}; see /docs")
    };
    ApiError::new(Code::NotFound, message)
}

async fn wrong_method(headers: HeaderMap) -> ApiError {
    // Codex tries a WebSocket first, and retries without delay only after this status.
    if headers.get(UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
    {
        let message = "WebSockets are not supported; send the request with POST";
        return ApiError::new(Code::WebSocketNotOffered, message);
    }
    ApiError::new(Code::MethodNotAllowed, "method not allowed for this path; see /docs")
}

/// Rejects unknown hosts: a name that resolves to this machine (DNS rebinding) must not give a
/// web page access to open paths.
fn check_host(config: &Config, headers: &HeaderMap) -> ApiResult<()> {
    mcp::check_peer(headers, &config.public_url, &config.mcp)
}

fn json<T: Serialize>(value: &T) -> Response {
    serde_json::to_vec(value).map_or_else(|_| ApiError::internal().into_response(), json_text)
}

fn json_text(text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(openapi::JSON));
    response
}

fn operation(pattern: &'static str) -> &'static str {
    /// Paths after `/v1` that are named like their operation.
    const SAME: [&str; 15] = [
        "chat", "completions", "embeddings", "moderations", "rerank", "images", "audio",
        "messages", "responses", "research", "models", "capabilities", "me", "search", "downloads",
    ];
    let parts: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["v1", name, ..] if SAME.contains(name) => name,
        ["v1", "requests", ..] => "receipt",
        ["v1", "media", "run"] => "media",
        ["v1", "media", ..] => "media_read",
        ["v1", "web", ..] => "fetch",
        ["mcp"] => mcp::OPERATION,
        [name @ ("admin" | "healthz" | "readyz" | "metrics" | "oauth"), ..] => name,
        ["openapi.json" | "docs"] => "docs",
        _ if console::paths().any(|path| path == pattern) => console::OPERATION,
        _ => "other",
    }
}

/// The id in a path. One that is not UTF-8 gives 404.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(_) => Err(ApiError::new(Code::NotFound, "invalid id")),
        }
    }
}

/// An unchecked query: errors are reported after authentication.
pub(super) type RawQuery<T> = Result<Query<T>, QueryRejection>;

pub(super) fn parse_query<T>(query: RawQuery<T>) -> ApiResult<T> {
    query.map(|Query(query)| query).map_err(|error| {
        ApiError::new(Code::InvalidRequest, format!("invalid query: {}", error.body_text()))
    })
}

#[cfg(test)]
mod tests;
