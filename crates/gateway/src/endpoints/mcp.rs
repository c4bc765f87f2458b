//! The MCP endpoint: the operations of the service as tools.
//!
//! rmcp implements the protocol, without sessions: any process can answer any request. A tool calls
//! the same route as a plain request ([`super::internal_call`]), so that it costs, counts and fails
//! in the same way.

mod answer;
mod call;
mod refusal;
mod server;
mod tools;

pub(crate) use refusal::of_failure;

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use gateway_store::Scope;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use wire::error::Code;

use self::refusal::OriginalRequest;
use self::server::Server;
use super::admission::identify;
use super::internal_call::InternalCalls;
use super::{AppState, body, check_host};
use crate::background::BackgroundTasks;
use crate::config::Mcp;
use crate::failure::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::raw_object::check_values;
use crate::{clock, request_log};

pub(crate) const PATH: &str = "/mcp";
pub(crate) const OPERATION: &str = "mcp";
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Scopes the request ids of older clients.
static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

pub(crate) struct Endpoint {
    /// For quick tools: a JSON response.
    quick: StreamableHttpService<Server, NeverSessionManager>,
    /// For slow tools: a stream with keep-alive comments.
    slow: StreamableHttpService<Server, NeverSessionManager>,
    /// Running calls, which their clients can cancel.
    background: Arc<BackgroundTasks>,
}

/// The fields of a message that decide how it is handled.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Parses a message; rmcp rejects an invalid one.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether it counts against the rate of a key here. The route behind a tool counts calls;
    /// notifications do not count.
    pub(crate) fn is_counted(&self) -> bool {
        self.id.is_some() && !self.is("tools/call")
    }

    fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    fn tool(&self) -> Option<&str> {
        self.params.as_ref()?.name.as_deref().filter(|_| self.is("tools/call"))
    }
}

impl Endpoint {
    pub(super) fn new(
        calls: &InternalCalls,
        max_body_bytes: u64,
        finished: CancellationToken,
        background: Arc<BackgroundTasks>,
    ) -> Self {
        let max_body = usize::try_from(max_body_bytes).unwrap_or(usize::MAX);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            // The handler has checked the host.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(max_body)
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_cancellation_token(finished);
        let serve = |is_quick: bool| {
            let server = Server::new(calls.clone());
            StreamableHttpService::new(
                move || Ok(server.clone()),
                Arc::new(NeverSessionManager::default()),
                config.clone().with_json_response(is_quick),
            )
        };
        Self { quick: serve(true), slow: serve(false), background }
    }

    pub(crate) async fn answer(
        &self,
        caller: Caller,
        mut request: Request<Bytes>,
        message: Option<&Message<'_>>,
    ) -> Response {
        let session = request.headers().get(&SESSION).and_then(|value| value.to_str().ok());
        let name = |id: &RawValue| call_name(&caller.key.id, session.unwrap_or_default(), id.get());
        let mut is_slow = false;
        let mut begun = None;
        if let Some(message) = message {
            if let Some(id) = message.params.as_ref().and_then(|params| params.request_id)
                && message.is("notifications/cancelled")
            {
                self.background.cancel(&name(id));
            }
            if let (Some(tool), Some(id)) = (message.tool(), message.id) {
                is_slow = tools::is_slow(tool);
                // Without a session, ids of requests are ambiguous.
                begun = session.map(|_| Arc::new(self.background.start(&name(id))));
            }
        }
        let extensions = request.extensions_mut();
        extensions.insert(caller);
        if let Some(begun) = begun {
            extensions.insert(begun);
        }
        let asked = OriginalRequest::new(request.headers(), request.body());
        let serve = if is_slow { &self.slow } else { &self.quick };
        let response = serve.handle(request.map(Full::new)).await.map(Body::new);
        let mut response = refusal::as_json_rpc(response, &asked).await;
        let has_begun = response.status().is_success();
        if has_begun && message.is_some_and(|message| message.is("initialize")) {
            // Older clients send it back, and can then cancel their requests.
            let id = clock::new_hold_id().to_string();
            response
                .headers_mut()
                .extend(HeaderValue::from_str(&id).ok().map(|id| (SESSION.clone(), id)));
        }
        response
    }
}

pub(in crate::endpoints) async fn handle(
    State(service): State<AppState>,
    Extension(endpoint): Extension<Arc<Endpoint>>,
    request: Request<Body>,
) -> ApiResult {
    let (mut head, body) = request.into_parts();
    if let Err(error) = check_host(&service.config, &head.headers) {
        body::discard(&head.headers, body);
        return Err(error);
    }
    let (caller, body) = identify(&service, &head.headers, body, Scope::Mcp).await?;
    let limits = &service.config.limits;
    let bytes = body::read(limits, &head.headers, body).await?;
    check_values(&bytes)?;
    let bytes = service.parsing.admit(bytes, limits.body_timeout).await?;
    let message = Message::read(&bytes);
    // An unreadable message counts too.
    if message.as_ref().is_none_or(Message::is_counted) {
        service.billing.admit(&caller).await?;
    }
    // Tools do not need it, and would hold it as long as they run.
    head.extensions.remove::<Arc<Endpoint>>();
    if let Some(log) = request_log::current() {
        head.extensions.insert(log);
    }
    let request = Request::from_parts(head, bytes.clone());
    Ok(endpoint.answer(caller, request, message.as_ref()).await)
}

/// The name of a call among the tasks of this process; `request` is the id of its request, as JSON.
fn call_name(key: &str, session: &str, request: &str) -> String {
    format!("{key}\n{session}\n{request}")
}

/// Rejects browser requests of other sites, and DNS rebinding.
pub(super) fn check_peer(headers: &HeaderMap, public_url: &Uri, config: &Mcp) -> ApiResult<()> {
    let own = public_url.host().unwrap_or_default();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let host_is_known = host.is_some_and(|host| {
        let host = host.host();
        is_this_machine_or_an_address(host) || is_one_of(host, own, &config.allowed_hosts)
    });
    if !host_is_known {
        let message = "unknown Host; the operator can allow it in `mcp.allowed_hosts`";
        return Err(ApiError::new(Code::OriginRefused, message));
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let uri = origin.parse::<Uri>().ok().filter(|uri| uri.scheme().is_some());
    let origin_is_known = config.allowed_origins.iter().any(|known| known == origin)
        || uri.is_some_and(|uri| {
            let is_own =
                uri.scheme() == public_url.scheme() && uri.authority() == public_url.authority();
            is_own || uri.host().is_some_and(is_this_machine)
        });
    if origin_is_known {
        return Ok(());
    }
    let message = "unknown Origin; the operator can allow it in `mcp.allowed_origins`";
    Err(ApiError::new(Code::OriginRefused, message))
}

fn is_one_of(host: &str, own: &str, others: &[String]) -> bool {
    host.eq_ignore_ascii_case(own) || others.iter().any(|known| host.eq_ignore_ascii_case(known))
}

/// IP addresses are safe: only a name can be rebound.
fn is_this_machine_or_an_address(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some()
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|it| it.is_loopback())
}

fn address(host: &str) -> Option<std::net::IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests;
