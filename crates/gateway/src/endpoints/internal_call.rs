//! Requests that the service sends to its own routes, for the tools of `/mcp` and for its pages.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
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
    pub(super) media: Arc<Media>,
    pub(super) upstreams: Arc<Upstreams>,
}

impl InternalCalls {
    /// Sends a request with the key and the idempotency key of these headers.
    pub(super) async fn send(
        &self,
        info: &RequestInfo,
        headers: &HeaderMap,
        mut request: Request<Body>,
    ) -> ApiResult {
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
        request: Request<Body>,
    ) -> ApiResult {
        as_caller(caller.clone(), self.call(info, request)).await
    }

    async fn call(&self, info: &RequestInfo, mut request: Request<Body>) -> ApiResult {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        request.extensions_mut().insert(*info);
        let Ok(mut response) = self.router.clone().call(request).await;
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

pub(super) fn get(address: &str) -> ApiResult<Request<Body>> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = address.parse().map_err(|_| ApiError::internal())?;
    Ok(request)
}

pub(super) fn post(address: &str, body: impl Into<Body>) -> ApiResult<Request<Body>> {
    let mut request = get(address)?;
    *request.method_mut() = Method::POST;
    *request.body_mut() = body.into();
    Ok(request)
}

/// The address of a research job. Spaces become `+`, which no id contains.
pub(super) fn job_address(id: &str) -> String {
    let id: String = byte_serialize(id.as_bytes()).collect();
    format!("/v1/research/jobs/{id}")
}
