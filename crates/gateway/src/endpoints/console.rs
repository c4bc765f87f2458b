//! The web pages: sign-in, the pages of members and those of operators.
//!
//! **Boundary:** a handler takes a [`context::MemberContext`] or a [`context::OperatorContext`], which exist only
//! for a valid session, and reads a form only with [`context::PageContext::submitted`], which checks its origin
//! and its token. Handlers change nothing themselves: operator actions are those of `operator`, and
//! requests of members go to the routes of the API, which charge them.

mod context;
mod fields;
mod filters;
mod key;
mod key_bounds;
mod keys;
mod media;
mod models;
mod operator;
mod page;
mod receipts;
mod research;
mod sign_in;
mod team;
mod usage;

use std::sync::{Arc, LazyLock};

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Router};
use http::HeaderMap;
use http::header::ACCEPT;
use pages::{Asset, AssetSet};

use self::page::PageError;
use super::AppState;
use super::internal_call::InternalCalls;

pub(super) const OPERATION: &str = "console";

pub(super) fn assets() -> &'static AssetSet {
    static ASSETS: LazyLock<AssetSet> = LazyLock::new(|| {
        let script = include_str!("../../assets/playground.js");
        AssetSet::new(&[Asset::new("playground.js", "text/javascript; charset=utf-8", script)])
    });
    &ASSETS
}

fn routes() -> Vec<(&'static str, MethodRouter<AppState>)> {
    let mut routes = vec![
        ("/", get(sign_in::root)),
        ("/assets/{version}/{name}", get(asset)),
        ("/sign-in", post(sign_in::sign_in)),
        ("/sign-out", post(sign_in::sign_out)),
        ("/sessions", get(sign_in::sessions)),
        ("/sessions/{id}/end", post(sign_in::end)),
        ("/usage", get(usage::show)),
        ("/usage.csv", get(usage::csv)),
        ("/receipts", get(receipts::list)),
        ("/receipts/{id}", get(receipts::show)),
        ("/keys", get(keys::list).post(keys::create)),
        ("/keys/new", get(keys::form)),
        ("/keys/{id}", get(key::show).post(key::change)),
        ("/keys/{id}/rotate", post(key::rotate)),
        ("/keys/{id}/revoke", post(key::revoke)),
        ("/team", get(team::show)),
        ("/team/members/{id}", get(team::member).post(team::set_budget)),
        ("/team/usage", get(usage::show_team)),
        ("/team/usage.csv", get(usage::csv_of_team)),
        ("/models", get(models::list)),
        ("/playground", get(models::playground)),
        ("/playground/chat", post(models::chat)),
        ("/research", get(research::list).post(research::start)),
        ("/research/{id}", get(research::show)),
        ("/research/{id}/events", get(research::events)),
        ("/research/{id}/cancel", post(research::cancel)),
        ("/media", get(media::list)),
        ("/media/{id}", get(media::file)),
        ("/connect", get(models::connect)),
    ];
    routes.extend(operator::routes());
    routes
}

pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    routes().into_iter().map(|(path, _)| path)
}

pub(super) fn router(calls: InternalCalls) -> Router<AppState> {
    let add = |router: Router<AppState>, (path, methods)| router.route(path, methods);
    routes()
        .into_iter()
        .fold(Router::new(), add)
        .layer(Extension(Arc::new(calls)))
        .layer(Extension(Arc::new(usage::SlowUsage::default())))
}

/// Whether a browser asks for a page. Programs ask for anything, or for JSON.
pub(super) fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

pub(super) fn no_page() -> Response {
    PageError::missing("page").into_response()
}

async fn asset(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let found = assets().answer(&version, &name, &headers);
    found.unwrap_or_else(|| PageError::missing("file").into_response())
}
