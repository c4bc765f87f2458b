//! `GET /oauth/client-metadata.json`: who the MCP client of this installation is.
//!
//! The document is the caller's; it is served only where an authorization server would take it.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use crate::openapi::{JSON, Routes, operator};
use crate::service::Service;

/// Adds the path if there is a document, and an address that can be a `client_id`.
pub(super) fn add(routes: Routes, service: &Service) -> Routes {
    let is_https = service.config.public_url.scheme_str() == Some("https");
    match service.client_document.get() {
        Some(document) if is_https => {
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
