//! Opening a session: the transport, the order of handshakes, and their fallbacks.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::handshake::{discover, initialize};
use super::{
    HandshakeResult, Inner, Request, Session, Timeouts, response_cache, server_requests,
    subscription,
};
use crate::config::{Endpoint, HttpEndpoint, HttpTransport, Protocol, ServerEntry, Verify};
use crate::content;
use crate::error::Error;
use crate::guardian::Guardian;
use crate::host::Host;
use crate::message::{Params, RpcError, truncated};
use crate::oauth::credentials::Credentials;
use crate::oauth::login::InteractiveSignIn;
use crate::protocol::{Era, LEGACY_VERSIONS};
use crate::router::Router;
use crate::transport::http::HttpConnection;
use crate::transport::http_client::{Authorizer, HttpClient};
use crate::transport::sse::SseConnection;
use crate::transport::stdio::{StdioConnection, StdioContext};
use crate::transport::{Connection, preflight};

const MAX_INSTRUCTION_BYTES: usize = 4096;
const EXIT_REASON_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectStep {
    pub name: &'static str,
    pub outcome: Result<String, String>,
    pub took: Duration,
}

pub type StepObserver<'a> = &'a (dyn Fn(ConnectStep) + Send + Sync);

#[derive(Debug, Default)]
pub(crate) struct ReconnectState {
    /// It connected before: skip the pre-flight and the transport fallback.
    connected: AtomicBool,
    /// It supports the older transport only.
    sse: AtomicBool,
    credentials: OnceLock<Option<Arc<Credentials>>>,
}

impl ReconnectState {
    /// The OAuth credentials of the server, created on first use.
    pub(crate) fn credentials(
        &self,
        entry: &ServerEntry,
        host: &Arc<Host>,
    ) -> Result<Option<Arc<Credentials>>, Error> {
        let Endpoint::Http(endpoint) = &entry.endpoint else { return Ok(None) };
        if let Some(known) = self.credentials.get() {
            return Ok(known.clone());
        }
        let made = Credentials::of(entry, endpoint, host)?;
        Ok(self.credentials.get_or_init(|| made).clone())
    }

    /// Waits for token renewals, which must not be aborted.
    pub(crate) async fn renewals_finished(&self) {
        if let Some(Some(credentials)) = self.credentials.get() {
            credentials.renewals_finished().await;
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct SessionConnector<'a> {
    pub(crate) entry: &'a Arc<ServerEntry>,
    pub(crate) host: &'a Arc<Host>,
    pub(crate) guardian: &'a Arc<Guardian>,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) reconnect_state: &'a ReconnectState,
    pub(crate) steps: Option<StepObserver<'a>>,
}

impl SessionConnector<'_> {
    pub(crate) async fn connect(&self) -> Result<Session, Error> {
        tracing::debug!(server = %self.entry.name, protocol = ?self.entry.protocol, "connecting");
        let connected = match &self.entry.endpoint {
            Endpoint::Stdio(endpoint) => {
                if let Some(suspicion) = crate::config::danger::suspicion(endpoint) {
                    return Err(Error::Suspicious { reason: suspicion.to_string() });
                }
                self.by_protocol(HttpTransport::Streamable).await
            }
            Endpoint::Http(endpoint) => self.remote(endpoint).await,
        };
        let redactor = &self.host.redactor;
        let (inner, mut handshake) = connected.map_err(|error| error.redacted(redactor))?;
        content::redact_value(&mut handshake.server_info, redactor);
        handshake.instructions = handshake
            .instructions
            .map(|text| truncated(&redactor.redact_known(&text), MAX_INSTRUCTION_BYTES));
        self.reconnect_state.connected.store(true, Ordering::Release);
        let era = handshake.era;
        let _ = inner.handshake.set(handshake);
        if era == Era::Stateless {
            subscription::start(&inner);
        } else if let Connection::Http(connection) = &inner.connection {
            connection.listen();
        }
        self.set_log_level(&inner, era).await;
        Ok(Session { inner })
    }

    /// Asks a legacy server for its log messages; every stateless request names the level.
    async fn set_log_level(&self, inner: &Arc<Inner>, era: Era) {
        let offers = inner.handshake.get().is_some_and(|handshake| handshake.offers("logging"));
        let Some(level) = self.entry.log_level.filter(|_| era == Era::Legacy && offers) else {
            return;
        };
        let params = Params::default().with("level", &level);
        let within = Timeouts::total(self.entry.connect_timeout);
        // A server without its log messages still works.
        if let Err(error) = inner.request(Request::new("logging/setLevel", params, within)).await {
            self.warn(&format!("the log level was not set: {error}"));
        }
    }

    async fn remote(
        &self,
        endpoint: &HttpEndpoint,
    ) -> Result<(Arc<Inner>, HandshakeResult), Error> {
        if endpoint.verify == Verify::Off {
            self.warn(
                "certificate verification is off (`ssl_verify: false`): others on the network can \
                 read and change the traffic",
            );
        }
        if endpoint.transport == HttpTransport::Sse
            || self.reconnect_state.sse.load(Ordering::Acquire)
        {
            return self.by_protocol(HttpTransport::Sse).await;
        }
        let first_time = !self.reconnect_state.connected.load(Ordering::Acquire);
        if first_time && !endpoint.skip_preflight {
            self.preflight(endpoint).await?;
        }
        let first = match self.by_protocol(HttpTransport::Streamable).await {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        if !first_time || !is_sse_only_refusal(&first) {
            return Err(first);
        }
        match self.by_protocol(HttpTransport::Sse).await {
            Ok(connected) => {
                self.reconnect_state.sse.store(true, Ordering::Release);
                self.warn(
                    "the server supports only the older SSE transport; set `transport: sse` to \
                     connect faster",
                );
                Ok(connected)
            }
            Err(second) => Err(both_failed(first, "over the older SSE transport", second)),
        }
    }

    async fn preflight(&self, endpoint: &HttpEndpoint) -> Result<(), Error> {
        let began = Instant::now();
        let client = HttpClient::new(endpoint, self.host)?;
        let probed = preflight::probe(&client, self.entry.connect_timeout).await;
        self.report_step("preflight", began, probed, |()| "content type accepted".to_owned())
    }

    async fn by_protocol(
        &self,
        transport: HttpTransport,
    ) -> Result<(Arc<Inner>, HandshakeResult), Error> {
        let within = self.entry.connect_timeout;
        // The older transport has no stateless era.
        let protocol = match transport {
            HttpTransport::Sse => Protocol::Legacy,
            HttpTransport::Streamable => self.entry.protocol,
        };
        let is_stateless = protocol == Protocol::Stateless;
        let (era, fallback, most) = if is_stateless {
            (Era::Stateless, Era::Legacy, within / 4)
        } else {
            (Era::Legacy, Era::Stateless, within)
        };
        let inner = self.open(transport).await?;
        let first = match self.attempt(&inner, era, most).await {
            Ok(handshake) => return Ok((inner, handshake)),
            Err(error) => error,
        };
        let is_final = match protocol {
            Protocol::Legacy => true,
            Protocol::Auto => !is_initialize_refusal(&first),
            Protocol::Stateless => is_final_discover_error(&first),
        };
        if is_final {
            return Err(first);
        }
        let inner = self.again(inner, transport).await?;
        match self.attempt(&inner, fallback, within).await {
            Ok(handshake) => Ok((inner, handshake)),
            Err(second) if is_stateless => Err(both_failed(first, "with `initialize`", second)),
            Err(_) => Err(first),
        }
    }

    /// Performs the handshake of an era.
    async fn attempt(
        &self,
        inner: &Arc<Inner>,
        era: Era,
        within: Duration,
    ) -> Result<HandshakeResult, Error> {
        let began = Instant::now();
        let (name, handshake) = match era {
            Era::Legacy => ("initialize", initialize(inner, within).await),
            Era::Stateless => ("server/discover", discover(inner, within).await),
        };
        // The exit of a process that could not be written to is known a moment later.
        let handshake = match handshake {
            Err(Error::Unsent) => {
                let over = tokio::time::timeout(EXIT_REASON_TIMEOUT, inner.router.closed()).await;
                Err(over.map_or(Error::Unsent, |reason| reason.error()))
            }
            other => other,
        };
        self.report_step(name, began, handshake, |handshake| {
            format!("{} era, version {}", handshake.era, handshake.version)
        })
    }

    /// The connection for a second attempt: the same process if it is alive, else a new one.
    async fn again(
        &self,
        inner: Arc<Inner>,
        transport: HttpTransport,
    ) -> Result<Arc<Inner>, Error> {
        if let Connection::Stdio(connection) = &inner.connection {
            // A server that exits on an unknown method does so at once.
            let _ = tokio::time::timeout(Duration::from_millis(50), inner.router.closed()).await;
            if inner.router.close_reason().is_none() {
                return Ok(inner);
            }
            connection.close();
            connection.ended().await;
        }
        drop(inner);
        self.open(transport).await
    }

    /// Opens the transport. The older one may require a sign-in already here.
    async fn open(&self, transport: HttpTransport) -> Result<Arc<Inner>, Error> {
        let credentials = self.reconnect_state.credentials(self.entry, self.host)?;
        let mut sign_in = InteractiveSignIn::new(credentials.as_ref(), self.host);
        loop {
            match self.open_as(transport, credentials.clone()).await {
                Ok(inner) => return Ok(inner),
                Err(error) => sign_in.resolve(error).await?,
            }
        }
    }

    async fn open_as(
        &self,
        transport: HttpTransport,
        credentials: Option<Arc<Credentials>>,
    ) -> Result<Arc<Inner>, Error> {
        let began = Instant::now();
        let (router, events) = Router::new();
        let connection = match &self.entry.endpoint {
            Endpoint::Stdio(endpoint) => {
                let around = StdioContext {
                    server: &self.entry.name,
                    host: self.host,
                    guardian: self.guardian,
                    tasks: self.tasks,
                };
                let started = StdioConnection::start(endpoint, around, &router);
                let started = self.report_step("start", began, started, |connection| {
                    format!("process {}", connection.group_id())
                });
                Connection::Stdio(Arc::new(started?))
            }
            Endpoint::Http(endpoint) => {
                let authorizer = credentials.clone().map(|one| one as Arc<dyn Authorizer>);
                let client = HttpClient::new(endpoint, self.host)?.authorized_by(authorizer);
                match transport {
                    HttpTransport::Streamable => {
                        let (router, tasks) = (Arc::clone(&router), self.tasks.clone());
                        Connection::Http(Arc::new(HttpConnection::new(client, router, tasks)))
                    }
                    HttpTransport::Sse => {
                        let opening = SseConnection::open(client, Arc::clone(&router), self.tasks);
                        let within = self.entry.connect_timeout;
                        let opened = tokio::time::timeout(within, opening).await;
                        let opened = opened.unwrap_or_else(|_| {
                            Err(Error::connect_timeout("GET (event stream)", within))
                        });
                        let opened = self.report_step("event stream", began, opened, |_| {
                            "stream open".to_owned()
                        });
                        Connection::Sse(Arc::new(opened?))
                    }
                }
            }
        };
        let inner = self.inner(connection, router, credentials);
        server_requests::start(&inner, events);
        Ok(inner)
    }

    fn inner(
        &self,
        connection: Connection,
        router: Arc<Router>,
        credentials: Option<Arc<Credentials>>,
    ) -> Arc<Inner> {
        Arc::new(Inner {
            entry: Arc::clone(self.entry),
            host: Arc::clone(self.host),
            connection,
            router,
            credentials,
            tasks: self.tasks.clone(),
            handshake: OnceLock::new(),
            common_meta: OnceLock::new(),
            next_id: AtomicU64::new(1),
            active_calls: AtomicUsize::new(0),
            cancellations: TaskTracker::new(),
            cache: response_cache::ResponseCache::default(),
            log: Mutex::default(),
            began: Instant::now(),
        })
    }

    fn report_step<T>(
        &self,
        name: &'static str,
        began: Instant,
        result: Result<T, Error>,
        describe: impl FnOnce(&T) -> String,
    ) -> Result<T, Error> {
        let took = began.elapsed();
        let outcome = result.as_ref().map(describe);
        let outcome =
            outcome.map_err(|error| self.host.redactor.redact(&error.to_string()).into_owned());
        let server = &self.entry.name;
        match &outcome {
            Ok(result) => tracing::debug!(%server, step = name, result, ?took, "connect step done"),
            Err(error) => {
                tracing::debug!(%server, step = name, error, ?took, "connect step failed");
            }
        }
        if let Some(steps) = self.steps {
            steps(ConnectStep { name, outcome, took });
        }
        result
    }

    fn warn(&self, text: &str) {
        self.host.warn(&self.entry.name, text);
    }
}

fn both_failed(first: Error, attempt: &'static str, second: Error) -> Error {
    Error::BothFailed { first: Box::new(first), attempt, second: Box::new(second) }
}

/// Whether a server of the older transport refuses like this.
fn is_sse_only_refusal(error: &Error) -> bool {
    match error {
        Error::Http { status, .. } => matches!(status, 400 | 404 | 405),
        Error::BothFailed { second, .. } => is_sse_only_refusal(second),
        _ => false,
    }
}

/// Whether a stateless-only server refuses `initialize` like this.
fn is_initialize_refusal(error: &Error) -> bool {
    match error {
        Error::Rpc(_) => true,
        Error::Http { status, .. } => (400..500).contains(status),
        _ => false,
    }
}

/// Whether a failed `server/discover` rules out `initialize`: a stateless-only error that names no
/// version with a handshake, or an error that `initialize` would hit as well.
fn is_final_discover_error(error: &Error) -> bool {
    match error {
        Error::Rpc(error) if error.code == RpcError::UNSUPPORTED_VERSION => {
            let supported = error.supported_versions();
            !supported.iter().any(|version| LEGACY_VERSIONS.contains(&version.as_str()))
        }
        Error::Rpc(error) => error.is_modern(),
        Error::UnknownVersion { version } => {
            !LEGACY_VERSIONS.iter().any(|known| version.contains(known))
        }
        Error::SignIn { .. }
        | Error::OAuth(_)
        | Error::Forbidden { .. }
        | Error::Unreachable { .. }
        | Error::Tls { .. }
        | Error::Redirect { .. } => true,
        _ => false,
    }
}
