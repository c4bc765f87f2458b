//! The MCP endpoint: the service's own operations as tools.
//!
//! The protocol is rmcp's, without sessions: every request stands for itself, so that any process
//! can answer it and nothing is kept between two. A tool asks the same handler that its path asks
//! ([`crate::endpoints::inside`]); so it costs, counts and fails as the plain request does.

mod answer;
mod call;
mod peer;
mod quick;
mod refusal;
mod running;
mod server;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use peer::check as check_peer;
pub(crate) use refusal::of_failure;

use self::quick::Quick;
use self::refusal::Asked;
use self::running::{Call, Running};
use self::server::Server;
use crate::clock;
use crate::identity::Caller;
use crate::service::Service;

/// Where it is.
pub(crate) const PATH: &str = "/mcp";
/// What the edge calls it.
pub(crate) const OPERATION: &str = "mcp";
/// How often a stream that waits says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What older clients tell their requests apart from those of others by.
static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The endpoint.
pub(crate) struct Endpoint {
    service: Arc<Service>,
    /// For what is answered at once.
    quick: StreamableHttpService<Server, NeverSessionManager>,
    /// For what may take long: a stream that shows signs of life.
    slow: StreamableHttpService<Server, NeverSessionManager>,
    running: Arc<Running>,
}

/// Just enough of a message to know what to do with it.
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
    /// Reads a message; what cannot be read is for the protocol to refuse.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether it counts against the rate of a key here. Calls of tools count where they end up,
    /// and notifications not at all.
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
    pub(crate) fn new(service: &Arc<Service>) -> Self {
        let max_body = usize::try_from(service.config.limits.max_body_bytes).unwrap_or(usize::MAX);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            // Who may ask is decided before.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(max_body)
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_cancellation_token(service.finished.clone());
        let serve = |is_quick: bool| {
            let server = Server::new(service);
            StreamableHttpService::new(
                move || Ok(server.clone()),
                Arc::new(NeverSessionManager::default()),
                config.clone().with_json_response(is_quick),
            )
        };
        Self {
            service: service.clone(),
            quick: serve(true),
            slow: serve(false),
            running: Arc::default(),
        }
    }

    /// Answers a request of somebody who may ask.
    pub(crate) async fn answer(
        &self,
        caller: Caller,
        mut request: Request<Bytes>,
        message: Option<&Message<'_>>,
    ) -> Response {
        let session = request.headers().get(&SESSION).and_then(|value| value.to_str().ok());
        let name = |id: &RawValue| Call {
            key: caller.key.id.clone(),
            session: session.unwrap_or_default().to_owned(),
            request: id.get().to_owned(),
        };
        let mut is_slow = false;
        let mut begun = None;
        if let Some(message) = message {
            if let Some(id) = message.params.as_ref().and_then(|params| params.request_id)
                && message.is("notifications/cancelled")
            {
                self.running.cancel(&name(id));
            }
            if let (Some(tool), Some(id)) = (message.tool(), message.id) {
                is_slow = tools::is_slow(tool);
                // Without a session there is no telling whose request is meant.
                begun = session.map(|_| self.running.begin(name(id)));
            }
        }
        let body = request.body().clone();
        if let Some(call) = Quick::read(request.headers(), &body) {
            request.extensions_mut().insert(caller);
            let (head, _) = request.into_parts();
            return call.answer(&self.service, &head, begun.as_ref()).await;
        }
        let extensions = request.extensions_mut();
        extensions.insert(caller);
        if let Some(begun) = begun {
            extensions.insert(begun);
        }
        let asked = Asked::new(request.headers(), request.body());
        let serve = if is_slow { &self.slow } else { &self.quick };
        let response = serve.handle(request.map(Full::new)).await.map(Body::new);
        let mut response = refusal::worded(response, &asked).await;
        let has_begun = response.status().is_success();
        if has_begun && message.is_some_and(|message| message.is("initialize")) {
            // Older clients send it back, and with it can call off what they asked for.
            let id = clock::new_hold_id().to_string();
            response
                .headers_mut()
                .extend(HeaderValue::from_str(&id).ok().map(|id| (SESSION.clone(), id)));
        }
        response
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Endpoint").finish_non_exhaustive()
    }
}
