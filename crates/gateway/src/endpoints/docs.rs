//! `GET /openapi.json` and `GET /docs`: the description of the service, generated from its table. And
//! `GET /oauth/client-metadata.json`: the client document of the MCP client, which is
//! served only if its address can be a `client_id`.

mod page;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::state::{AppState, Shared};
use super::{check_host, console};
use crate::config::Config;
use crate::failure::ApiError;
use crate::openapi::{self, JSON, Offer, Operation, Routes, operator};

/// Adds both to all other routes; they also describe themselves.
pub(super) fn describe(routes: Routes<AppState>, config: &Config) -> Routes<AppState> {
    let mut operations: Vec<&Operation> = routes.operations.clone();
    operations.extend([&operator::DOCUMENT, &operator::PAGE]);
    let server = config.public_url.to_string();
    let document =
        openapi::document(&operations, &Offer::new(config, server.trim_end_matches('/')));
    let page = page::render(&document, console::assets().path());
    let document = Bytes::from(document.to_string());
    routes
        .on(
            &operator::DOCUMENT,
            move |State(config): Shared<Config>, headers: HeaderMap| async move {
                check_host(&config, &headers)?;
                Ok::<_, ApiError>(json(document))
            },
        )
        .on(&operator::PAGE, move |State(config): Shared<Config>, headers: HeaderMap| async move {
            check_host(&config, &headers)?;
            Ok::<_, ApiError>(pages::html(StatusCode::OK, page))
        })
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    pages::secure(response.headers_mut());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(openapi::JSON));
    response
}

pub(super) fn add_client_document(routes: Routes<AppState>, document: Bytes) -> Routes<AppState> {
    routes.on(&operator::CLIENT, move || async move {
        let mut response = Response::new(Body::from(document));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        response
    })
}
