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

pub(crate) use operations::serve_metrics;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::{HeaderMap, Method, Request, Uri};
use hyper::body::Incoming;
use tower_service::Service as _;
use wire::error::Code;

use crate::failure::ApiError;
use crate::openapi::{Routes, media as made, member, operator, responses as described};
use crate::openapi::{research as jobs, search as searches, web as pages};
use crate::request_log::shown_path;
use crate::server::Arrival;
use crate::service::Service;

/// Where chats are asked for.
const CHAT_PATH: &str = "/v1/chat/completions";

/// All paths, with what each is called in logs and figures.
pub(crate) struct Endpoints {
    router: Router,
    routes: matchit::Router<Route>,
}

/// The route that a path matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    /// As the document writes it; empty for a path that is not there.
    pub(crate) pattern: &'static str,
    /// The group it belongs to, in a word.
    pub(crate) operation: &'static str,
}

impl Route {
    const CHAT: Self = Self::new(CHAT_PATH, "chat");
    const NONE: Self = Self::new("", "other");

    const fn new(pattern: &'static str, operation: &'static str) -> Self {
        Self { pattern, operation }
    }

    /// Whether it is asked by machines that look after this one.
    pub(crate) fn is_probe(self) -> bool {
        matches!(self.operation, "healthz" | "readyz" | "metrics")
    }

    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl Endpoints {
    pub(crate) fn new(service: &Arc<Service>) -> Result<Self, matchit::InsertError> {
        let described = routes(service);
        let mut known = matchit::Router::new();
        let mut patterns: Vec<_> = described
            .operations()
            .iter()
            .map(|operation| (operation.route(), operation.path))
            .chain([(crate::mcp::PATH.to_owned(), crate::mcp::PATH)])
            .collect();
        // One path may have several methods.
        patterns.sort_unstable();
        patterns.dedup();
        for (route, pattern) in patterns {
            known.insert(route, Route::new(pattern, operation(pattern)))?;
        }
        let router = mcp::add(described.into_router(), service)
            .fallback(not_found)
            .method_not_allowed_fallback(wrong_method)
            .with_state(service.clone());
        Ok(Self { router, routes: known })
    }

    /// The route of a path.
    pub(crate) fn route(&self, path: &str) -> Route {
        if path == CHAT_PATH {
            return Route::CHAT;
        }
        self.routes.at(path).map_or(Route::NONE, |found| *found.value)
    }

    /// Answers a request. The path that is asked for most is not looked up: the router would copy
    /// and box its way to the handler.
    pub(crate) async fn call(
        &self,
        service: &Arc<Service>,
        request: Request<Incoming>,
        arrival: Arrival,
    ) -> Response {
        let mut request = request.map(Body::new);
        if request.method() == Method::POST && request.uri().path() == CHAT_PATH {
            let (service, arrival) = (State(service.clone()), Extension(arrival));
            return Box::pin(chat::create(service, arrival, request)).await.into_response();
        }
        request.extensions_mut().insert(arrival);
        match self.router.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
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
        .on(&operator::READY, operations::ready);
    if service.config.metrics_listen.is_none() {
        routes = routes.on(&operator::METRICS, operations::metrics);
    }
    // Without a token there are no such paths.
    if service.config.admin_token.is_some() {
        routes = admin::add(routes);
    }
    let routes = downloads::add(oauth::add(routes, service), service);
    docs::describe(routes, &service.config)
}

async fn not_found(uri: Uri) -> ApiError {
    let path = shown_path(uri.path());
    ApiError::new(Code::NotFound, format!("there is no path {path}; see /docs"))
}

async fn wrong_method() -> ApiError {
    ApiError::new(Code::MethodNotAllowed, "this path does not know this method; see /docs")
}

/// Refuses hosts that are not ours, as `/mcp` does: a name that was made to lead here (DNS rebinding)
/// must not give a web page what is open to everybody who can connect.
pub(crate) fn check_host(service: &Service, headers: &HeaderMap) -> Result<(), ApiError> {
    crate::mcp::check_peer(headers, &service.config.public_url, &service.config.mcp)
}

/// What the route of this pattern is called in logs and figures.
fn operation(pattern: &str) -> &'static str {
    let parts: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["v1", "chat", ..] => "chat",
        ["v1", "responses", ..] => "responses",
        ["v1", "research", ..] => "research",
        ["v1", "models", ..] => "models",
        ["v1", "capabilities"] => "capabilities",
        ["v1", "me"] => "me",
        ["v1", "search"] => "search",
        ["v1", "requests", ..] => "receipt",
        ["v1", "media", "run"] => "media",
        ["v1", "media", ..] => "media_read",
        ["v1", "web", ..] => "fetch",
        ["v1", "downloads", ..] => "downloads",
        ["mcp"] => crate::mcp::OPERATION,
        ["admin", ..] => "admin",
        ["healthz"] => "healthz",
        ["readyz"] => "readyz",
        ["metrics"] => "metrics",
        ["openapi.json" | "docs"] => "docs",
        ["oauth", ..] => "oauth",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_named_by_whole_segments() {
        for (pattern, expected) in [
            ("/v1/me", "me"),
            ("/v1/media/run", "media"),
            ("/v1/media/runs/{id}", "media_read"),
            ("/v1/media/artifacts/{id}", "media_read"),
            ("/v1/models/{id}", "models"),
            ("/v1/messages", "other"),
        ] {
            assert_eq!(operation(pattern), expected, "{pattern}");
        }
    }
}
