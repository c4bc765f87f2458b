//! `GET /openapi.json` and `GET /docs`: the description of the service, generated from its table.

mod page;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::check_host;
use super::state::AppState;
use crate::config::Config;
use crate::failure::ApiError;
use crate::openapi::{self, Offer, Operation, Routes, operator};

/// The page may use only its inline style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";

/// Adds both to all other routes; they also describe themselves.
pub(super) fn describe(routes: Routes<AppState>, config: &Config) -> Routes<AppState> {
    let mut operations: Vec<&Operation> = routes.operations().to_vec();
    operations.extend([&operator::DOCUMENT, &operator::PAGE]);
    let server = config.public_url.to_string();
    let document =
        openapi::document(&operations, &Offer::new(config, server.trim_end_matches('/')));
    let page = Bytes::from(page::render(&document));
    let document = Bytes::from(document.to_string());
    let to = |media_type: &'static str, body: Bytes| {
        move |State(config): State<Arc<Config>>, headers: HeaderMap| async move {
            check_host(&config, &headers)?;
            Ok::<_, ApiError>(answer(media_type, body))
        }
    };
    routes.on(&operator::DOCUMENT, to(openapi::JSON, document)).on(&operator::PAGE, to(HTML, page))
}

fn answer(media_type: &'static str, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers: [(HeaderName, &'static str); 4] = [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
