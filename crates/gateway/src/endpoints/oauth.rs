//! `GET /oauth/client-metadata.json`: who the MCP client of this installation is.
//!
//! The document is the caller's; it is served only where an authorization server would take it.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use crate::openapi::{JSON, Routes, operator};
use crate::service::Service;

/// Where it is served.
pub(crate) const PATH: &str = "/oauth/client-metadata.json";

/// Adds the path if there is a document, and an address that can be a `client_id`.
pub(super) fn add(routes: Routes, service: &Service) -> Routes {
    match service.client_document.get() {
        Some(document) if service.client_document_address().is_some() => {
            let document = document.clone();
            routes.on(&operator::CLIENT, move || async move {
                let mut response = Response::new(Body::from(document));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
                response
            })
        }
        _ => routes,
    }
}
