//! The HTTP server: connections, their limits, and headers common to all responses.

mod connection;
mod connection_phase;
mod connections;
mod sendfile;
mod write_timeout;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::response::Response;
use http::header::{ALLOW, CONTENT_RANGE};
use http::{HeaderMap, Request};
use hyper::body::Incoming;
use ledger::HoldId;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;
use wire::error::Code;

use self::connection::Connection;
use self::connections::{Admission, ConnectionPermit, Connections};
use crate::clock;
use crate::endpoints::{ANTHROPIC_VERSION, Endpoints, mcp, serve_metrics};
use crate::failure::{ApiError, Dialect, Failed};
use crate::lifecycle::Lifecycle;
use crate::metrics::{GaugeGuard, Metrics};
use crate::problem::Problem;
use crate::reloader::Reloader;
use crate::request_info::{RequestInfo, Route};
use crate::request_log::RequestLog;
use crate::response_headers;
use crate::service::Service;
use crate::start::Ready;
use crate::trace::{Span, SpanKind};
use crate::upkeep;
use crate::worker_thread::Workers;

/// Pause after a failed accept, when the system is out of a resource.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

struct Edge {
    /// The active configuration; a reload replaces it.
    current: ArcSwap<Current>,
    lifecycle: Lifecycle,
    metrics: Arc<Metrics>,
}

/// The service with one configuration, and its routes.
struct Current {
    service: Arc<Service>,
    endpoints: Endpoints,
}

impl Current {
    fn new(service: &Arc<Service>) -> Result<Arc<Self>, matchit::InsertError> {
        let endpoints = Endpoints::new(service)?;
        Ok(Arc::new(Self { service: service.clone(), endpoints }))
    }
}

/// Serves until `shutdown` completes, then drains.
///
/// During the drain new requests get 503; whatever still runs at its end is aborted.
///
/// # Errors
/// If the worker threads cannot be started.
pub async fn serve(ready: Ready, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let Ready { service, listener, metrics, reloading } = ready;
    let workers = Workers::start()?;
    let current = Current::new(&service).map_err(io::Error::other)?;
    upkeep::start(&service);
    let lifecycle = service.lifecycle.clone();
    let edge = Arc::new(Edge {
        current: ArcSwap::new(current),
        lifecycle: lifecycle.clone(),
        metrics: service.metrics.clone(),
    });
    if let Some(listener) = metrics {
        let edge = edge.clone();
        let current = move || edge.current.load().service.clone();
        lifecycle.tasks.spawn(serve_metrics(current, lifecycle.stopping.clone(), listener));
    }
    let install = {
        let edge = edge.clone();
        move |service: &Arc<Service>| {
            let current = Current::new(service).map_err(|error| Problem::new(error.to_string()))?;
            edge.current.store(current);
            Ok(())
        }
    };
    let store = service.billing.store.clone();
    let reloader = Reloader::new(service, &reloading, install);
    lifecycle.tasks.spawn(reloader.run(reloading.requests));
    let connections = TaskTracker::new();
    let mut accepting = pin!(accept(&edge, &listener, &workers, &connections));
    tokio::select! {
        () = shutdown => {}
        () = &mut accepting => {}
    }
    // Clients that connect during the drain get 503.
    tokio::select! {
        () = drain(&edge, &connections) => {}
        () = accepting => {}
    }
    store.close().await;
    Ok(())
}

async fn accept(
    edge: &Arc<Edge>,
    listener: &TcpListener,
    workers: &Workers,
    tracker: &TaskTracker,
) {
    let connections = Connections::new(&edge.current.load().service.config.limits);
    loop {
        let accepted = listener.accept().await.and_then(|(stream, peer)| {
            // Another runtime drives it.
            Ok((stream.into_std()?, peer))
        });
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(permit) = admit(&connections, peer).await else { continue };
        let Some((worker, count)) = workers.least_loaded() else { return };
        let (edge, connections) = (edge.clone(), connections.clone());
        // The drain does not wait for connections that were opened during it.
        let is_stopping = edge.lifecycle.is_stopping();
        let drain_token = (!is_stopping).then(|| tracker.token());
        // The worker allocates the memory of the connection.
        worker.handle.spawn(async move {
            let stream = match TcpStream::from_std(stream) {
                Ok(stream) => stream,
                Err(error) => return tracing::warn!(%error, "connection not accepted"),
            };
            let connection = Connection::new(edge, peer);
            let (phase, number) = (connection.phase.clone(), permit.number);
            let task = tokio::spawn(connection.serve(stream, (count, permit, drain_token)));
            connections.started(number, phase, task.abort_handle());
        });
    }
}

/// Admits a connection, unless its address has too many. At the total limit it replaces an idle
/// connection that was never authenticated, or waits.
async fn admit(connections: &Arc<Connections>, peer: SocketAddr) -> Option<ConnectionPermit> {
    loop {
        match connections.admit(peer.ip()) {
            Admission::Admitted(permit) => return Some(permit),
            Admission::Refused => {
                tracing::debug!(%peer, "too many connections from one address");
                return None;
            }
            Admission::Full => connections.make_room(ACCEPT_PAUSE).await,
        }
    }
}

async fn drain(edge: &Edge, connections: &TaskTracker) {
    tracing::info!(connections = connections.len(), "draining");
    let lifecycle = &edge.lifecycle;
    lifecycle.stop();
    connections.close();
    lifecycle.tasks.close();
    let all = async {
        connections.wait().await;
        lifecycle.tasks.wait().await;
    };
    let limit = edge.current.load().service.config.limits.drain;
    if tokio::time::timeout(limit, all).await.is_err() {
        tracing::warn!("drain timed out");
    }
    lifecycle.finished.cancel();
}

/// Answers one request: runs its handler, logs, counts and traces it.
async fn answer(
    connection: &Connection,
    request: Request<Incoming>,
) -> (Response, Arc<RequestLog>) {
    let Connection { edge, peer, phase, .. } = connection;
    let current = edge.current.load_full();
    let Current { service, endpoints } = &*current;
    let id = clock::new_hold_id();
    let route = endpoints.route(request.uri().path());
    let method = request.method().clone();
    let dialect = dialect(route, request.headers());
    let log = RequestLog::new(id, route, &request, *peer);
    let tracer = service.upstreams.tracer.as_ref();
    let span = tracer.and_then(|tracer| tracer.begin(request.headers()));
    let started = span.map(|_| clock::now().micros());
    let running = GaugeGuard::new(&service.metrics.running);
    let mut response = if service.lifecycle.is_stopping() && !route.is_probe() {
        let error = ApiError::new(Code::Draining, "the service is shutting down");
        axum::response::IntoResponse::into_response(error)
    } else {
        log.scope(endpoints.call(request, RequestInfo { id, span, peer: *peer, parent: None }))
            .await
    };
    drop(running);
    if log.is_authenticated() {
        phase.authenticated();
    }
    let failed = response.extensions_mut().remove::<Failed>();
    if let Some(Failed(error)) = &failed {
        response = failure(route, dialect, error, id, response);
    }
    if let Some(value) = response_headers::id_value(id) {
        if dialect == Dialect::Anthropic {
            response_headers::write_anthropic(response.headers_mut(), &value);
        }
        response.headers_mut().insert(&response_headers::REQUEST_ID, value);
    }
    let status = response.status().as_u16();
    service.metrics.answered(route.operation, status, log.begun.elapsed());
    if let (Some(tracer), Some(context), Some(started)) = (tracer, span, started) {
        tracer.record(Span {
            context,
            kind: SpanKind::Server,
            name: route.operation,
            started,
            ended: clock::now().micros(),
            failed: status >= 500,
            attributes: vec![
                ("http.request.method", method.as_str().into()),
                ("http.route", route.pattern.into()),
                ("http.response.status_code", status.into()),
                ("agent.request_id", id.to_string().into()),
            ],
        });
    }
    if service.config.log.requests && !route.is_probe() {
        let code = failed.as_ref().map_or("", |Failed(error)| error.code().as_str());
        log.answered(status, code);
    }
    (response, log)
}

/// The dialect of a request's errors and headers. Both Anthropic and OpenAI have `/v1/models`.
fn dialect(route: Route, headers: &HeaderMap) -> Dialect {
    let is_anthropic = route.operation == "messages"
        || (route.operation == "models" && headers.contains_key(ANTHROPIC_VERSION));
    if is_anthropic { Dialect::Anthropic } else { Dialect::OpenAi }
}

/// The response of a failure, in the form of its route.
fn failure(
    route: Route,
    dialect: Dialect,
    error: &ApiError,
    id: HoldId,
    mut response: Response,
) -> Response {
    let kept = [ALLOW, CONTENT_RANGE]
        .map(|name| response.headers_mut().remove(&name).map(|value| (name, value)));
    let mut response = match route.operation {
        mcp::OPERATION => mcp::of_failure(error, &id.to_string()),
        _ => error.answer(dialect, &id.to_string()),
    };
    response.headers_mut().extend(kept.into_iter().flatten());
    response
}
