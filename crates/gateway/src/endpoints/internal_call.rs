//! Requests that the service sends to its own routes, for the tools of `/mcp` and for its pages.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use form_urlencoded::byte_serialize;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use ledger::MemberId;
use tower_service::Service as _;

use super::{body, media};
use crate::failure::{ApiError, ApiResult, Failed};
use crate::identity::{API_KEY, Caller, as_caller};
use crate::media::Media;

use crate::openapi::{Operation, Verb, media as media_table, member, research};
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
        let (operation, body): (&Operation, Bytes) = match self {
            Self::Capabilities => (&member::CAPABILITIES, Bytes::new()),
            Self::Models => (&member::LIST_MODELS, Bytes::new()),
            Self::Me => (&member::ME, Bytes::new()),
            Self::Chat(body) => (&member::CHAT, body),
            Self::Search(body) => (&member::SEARCH, body),
            Self::Fetch(body) => (&member::FETCH, body),
            Self::Media(body) => (&media_table::RUN, body),
            Self::StartResearch(body) => (&research::CREATE, body),
            Self::Research { id, wait } => {
                return of_job(&research::SHOW, &id, &format!("wait={wait}"));
            }
            Self::ResearchEvents { id, after } => {
                return of_job(&research::FOLLOW, &id, &format!("starting_after={after}"));
            }
        };
        request(operation, operation.path, body)
    }
}

fn of_job(operation: &Operation, id: &str, query: &str) -> Option<Request<Body>> {
    // Spaces become `+`, which no id contains.
    let id: String = byte_serialize(id.as_bytes()).collect();
    let path = operation.path.replace("{id}", &id);
    request(operation, &format!("{path}?{query}"), Bytes::new())
}

fn request(operation: &Operation, path: &str, body: Bytes) -> Option<Request<Body>> {
    let mut request = Request::new(Body::from(body));
    *request.uri_mut() = path.parse::<Uri>().ok()?;
    if operation.verb == Verb::Post {
        *request.method_mut() = Method::POST;
    }
    Some(request)
}
