//! `GET /oauth/client-metadata.json`: the client document of the MCP client of this installation. It
//! is served only if its address can be a `client_id`.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use super::state::AppState;
use crate::openapi::{JSON, Routes, operator};

/// Adds the path for a document.
pub(super) fn add(routes: Routes<AppState>, document: Bytes) -> Routes<AppState> {
    routes.on(&operator::CLIENT, move || async move {
        let mut response = Response::new(Body::from(document));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        response
    })
}
