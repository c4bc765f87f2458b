//! `GET /openapi.json` and `GET /docs`: the description of the service. And
//! `GET /oauth/client-metadata.json`: the client document of the MCP client, which is
//! served only if its address can be a `client_id`.

mod page;

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::{AppState, check_host, console, json_text};
use crate::config::Config;
use crate::failure::ApiError;
use crate::openapi::{self, Operation, Routes};
use crate::service::CLIENT_DOCUMENT;

const DOCUMENT: &str = "/openapi.json";
const PAGE: &str = "/docs";

/// Adds both to all other routes; they also describe themselves.
pub(super) fn describe(routes: Routes<AppState>, config: &Arc<Config>) -> Routes<AppState> {
    let (mut operations, config) = (routes.operations.clone(), config.clone());
    operations.extend([DOCUMENT, PAGE].map(|path| Operation::new("get", path)));
    // Built on the first request: most processes get none.
    let made = Arc::new(LazyLock::new(move || {
        let document = openapi::document(&operations, &config);
        let page = page::render(&document, console::assets().path());
        (Bytes::from(document.to_string()), page)
    }));
    let shown = made.clone();
    routes
        .get(DOCUMENT, move |State(service): State<AppState>, headers: HeaderMap| async move {
            check_host(&service.config, &headers)?;
            let mut response = json_text(made.0.clone());
            pages::secure(response.headers_mut());
            Ok::<_, ApiError>(response)
        })
        .get(PAGE, move |State(service): State<AppState>, headers: HeaderMap| async move {
            check_host(&service.config, &headers)?;
            Ok::<_, ApiError>(pages::html(StatusCode::OK, shown.1.clone()))
        })
}

pub(super) fn add_client_document(routes: Routes<AppState>, document: Bytes) -> Routes<AppState> {
    routes.get(CLIENT_DOCUMENT, move || async move { json_text(document) })
}
