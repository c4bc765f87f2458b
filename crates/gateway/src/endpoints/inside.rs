//! Requests that the service makes to itself, for the tools of `/mcp`: the handlers of the paths are
//! asked as if a request had come in, with the key of the caller.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::Response;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request};
use ledger::MemberId;

use super::path::Id;
use super::{body, capabilities, chat, me, media, models, research, search, web};
use crate::failure::ApiError;
use crate::server::Arrival;
use crate::service::Service;

/// What is asked.
#[derive(Debug)]
pub(crate) enum Ask {
    Capabilities,
    Models,
    Me,
    Chat(Bytes),
    Search(Bytes),
    Fetch(Bytes),
    Media(Bytes),
    StartResearch(Bytes),
    /// A job, waited for so many seconds.
    Research(String, u32),
}

/// Asks with the key, and the idempotency key, of these headers.
pub(crate) async fn ask(
    service: &Arc<Service>,
    arrival: &Arrival,
    headers: &HeaderMap,
    ask: Ask,
) -> Result<Response, ApiError> {
    let mut own = HeaderMap::new();
    own.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for name in [&AUTHORIZATION, &body::IDEMPOTENCY_KEY] {
        own.extend(headers.get(name).map(|value| (name.clone(), value.clone())));
    }
    let request = |bytes: Bytes| {
        let mut request = Request::new(Body::from(bytes));
        *request.headers_mut() = own.clone();
        request
    };
    let (service, arrival) = (State(service.clone()), Extension(*arrival));
    match ask {
        Ask::Capabilities => capabilities::list(service, arrival, own).await,
        Ask::Models => models::list(service, arrival, own).await,
        Ask::Me => me::show(service, arrival, own).await,
        Ask::Chat(bytes) => chat::create(service, arrival, request(bytes)).await,
        Ask::Search(bytes) => search::create(service, arrival, request(bytes)).await,
        Ask::Fetch(bytes) => web::fetch(service, arrival, request(bytes)).await,
        Ask::Media(bytes) => media::create(service, arrival, request(bytes)).await,
        Ask::StartResearch(bytes) => research::create(service, arrival, request(bytes)).await,
        Ask::Research(id, wait) => {
            let query = Query(research::FindQuery { wait: Some(wait.into()) });
            research::find(service, arrival, Id(id), Ok(query), own).await
        }
    }
}

/// The bytes of an artifact of a member. This counts for nothing: it belongs to a request that does.
pub(crate) async fn artifact(
    service: &Service,
    member: MemberId,
    id: &str,
) -> Result<Response, ApiError> {
    media::file(service, member, id, (&Method::GET, &HeaderMap::new())).await
}
