//! Requests that the service sends to its own routes, for the tools of `/mcp` and for its pages.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use form_urlencoded::byte_serialize;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request};
use ledger::MemberId;
use tower_service::Service as _;

use super::{body, media};
use crate::failure::{ApiError, ApiResult, Failed};
use crate::identity::{API_KEY, Caller, as_caller};
use crate::media::Media;
use crate::request_info::RequestInfo;
use crate::upstreams::Upstreams;

#[derive(Clone)]
pub(super) struct InternalCalls {
    pub(super) router: Router,
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) media: Arc<Media>,
}

#[derive(Debug)]
pub(super) enum InternalRequest {
    Capabilities,
    Models,
    Me,
    Chat(Bytes),
    Search(Bytes),
    Fetch(Bytes),
    Media(Bytes),
    StartResearch(Bytes),
    /// Waits for the end of a job, in seconds.
    Research {
        id: String,
        wait: u32,
    },
    ResearchEvents {
        id: String,
        after: i64,
    },
}

impl InternalCalls {
    /// Sends a request with the key and the idempotency key of these headers.
    pub(super) async fn send(
        &self,
        info: &RequestInfo,
        headers: &HeaderMap,
        request: InternalRequest,
    ) -> ApiResult {
        let mut request = request.into_http().ok_or_else(ApiError::internal)?;
        let own = request.headers_mut();
        for name in [&AUTHORIZATION, &API_KEY, &body::IDEMPOTENCY_KEY] {
            own.extend(headers.get(name).map(|value| (name.clone(), value.clone())));
        }
        self.call(info, request).await
    }

    pub(super) async fn send_as(
        &self,
        info: &RequestInfo,
        caller: &Caller,
        request: InternalRequest,
    ) -> ApiResult {
        let request = request.into_http().ok_or_else(ApiError::internal)?;
        as_caller(caller.clone(), self.call(info, request)).await
    }

    async fn call(&self, info: &RequestInfo, mut request: Request<Body>) -> ApiResult {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        request.extensions_mut().insert(*info);
        let mut response = match self.router.clone().call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        match response.extensions_mut().remove::<Failed>() {
            Some(Failed(error)) => Err(error),
            None => Ok(response),
        }
    }

    /// An artifact of a member. It counts against no rate: the request that needs it does.
    pub(super) async fn artifact(&self, member: MemberId, id: &str) -> ApiResult {
        media::file(&self.media, member, id, &Method::GET, &HeaderMap::new()).await
    }
}

impl InternalRequest {
    /// The request to the route; `None` if its address is invalid.
    fn into_http(self) -> Option<Request<Body>> {
        match self {
            Self::Capabilities => read("/v1/capabilities"),
            Self::Models => read("/v1/models"),
            Self::Me => read("/v1/me"),
            Self::Chat(body) => post("/v1/chat/completions", body),
            Self::Search(body) => post("/v1/search", body),
            Self::Fetch(body) => post("/v1/web/fetch", body),
            Self::Media(body) => post("/v1/media/run", body),
            Self::StartResearch(body) => post("/v1/research/jobs", body),
            Self::Research { id, wait } => {
                read(&format!("/v1/research/jobs/{}?wait={wait}", segment(&id)))
            }
            Self::ResearchEvents { id, after } => {
                let id = segment(&id);
                read(&format!("/v1/research/jobs/{id}/events?starting_after={after}"))
            }
        }
    }
}

/// An id as a part of a path. Spaces become `+`, which no id contains.
fn segment(id: &str) -> String {
    byte_serialize(id.as_bytes()).collect()
}

fn read(address: &str) -> Option<Request<Body>> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = address.parse().ok()?;
    Some(request)
}

fn post(address: &str, body: Bytes) -> Option<Request<Body>> {
    let mut request = read(address)?;
    *request.method_mut() = Method::POST;
    *request.body_mut() = Body::from(body);
    Some(request)
}
