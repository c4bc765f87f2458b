//! The edge: connections, their limits, and what every answer carries.

mod passage;
mod sent;
mod turn;
mod visit;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::response::Response;
use http::Request;
use http::header::{ALLOW, CONTENT_RANGE};
use hyper::body::Incoming;
use ledger::HoldId;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use wire::error::Code;

use self::visit::Visit;
use crate::apart::Apart;
use crate::clock;
use crate::endpoints;
use crate::failure::{ApiError, Failed};
use crate::lane::Lanes;
use crate::mcp;
use crate::rate;
use crate::service::Service;
use crate::trace;
use crate::upkeep;

/// How long to wait before accepting again when the machine is out of something.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the edge knows about a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    /// The id of the request, of its hold and of its receipt.
    pub(crate) id: HoldId,
    /// Where it stands in a trace, if it is traced.
    pub(crate) traced: Option<trace::Place>,
    /// Who sent it.
    pub(crate) peer: SocketAddr,
}

/// Serves until `shutdown` is done, then lets what runs come to its end.
///
/// New requests get 503 from then on; whatever still runs when the time to drain is over is cut.
///
/// # Errors
/// If the threads of connections cannot be started.
pub async fn serve(
    service: Arc<Service>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let lanes = Lanes::start()?;
    upkeep::start(&service);
    let connections = TaskTracker::new();
    let mut accepting = pin!(accept(&service, &listener, &lanes, &connections));
    tokio::select! {
        () = shutdown => {}
        () = &mut accepting => {}
    }
    // Whoever comes while the rest comes to its end is told so.
    tokio::select! {
        () = drain(&service, &connections) => {}
        () = accepting => {}
    }
    service.store.close().await;
    Ok(())
}

async fn accept(
    service: &Arc<Service>,
    listener: &TcpListener,
    lanes: &Lanes,
    connections: &TaskTracker,
) {
    let router = endpoints::router(service);
    let services = Arc::new(Apart::<OnceLock<Arc<Service>>>::default());
    let max = usize::try_from(service.config.limits.max_connections).unwrap_or(1);
    let slots = Arc::new(Semaphore::new(max));
    while let Ok(slot) = slots.clone().acquire_owned().await {
        let accepted = listener.accept().await.and_then(|(stream, peer)| {
            // Whoever drives it from now on is another one.
            Ok((stream.into_std()?, peer))
        });
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some((lane, place)) = lanes.take() else { return };
        let (service, services, router) = (service.clone(), services.clone(), router.clone());
        // Nobody waits for those that came too late.
        let waited_for = (!service.is_stopping()).then(|| connections.token());
        // What the lane makes itself is in its own memory: all that there is of a connection.
        lane.handle.spawn(async move {
            let stream = match TcpStream::from_std(stream) {
                Ok(stream) => stream,
                Err(error) => return tracing::warn!(%error, "a connection was not accepted"),
            };
            let service = services.own().get_or_init(|| service.apart()).clone();
            let visit = Visit::new(service, router, peer);
            tokio::spawn(visit.serve(stream, (place, slot, waited_for)));
        });
    }
}

async fn drain(service: &Service, connections: &TaskTracker) {
    tracing::info!(connections = connections.len(), "draining");
    service.stop();
    connections.close();
    service.tasks.close();
    let all = async {
        connections.wait().await;
        service.tasks.wait().await;
    };
    if tokio::time::timeout(service.config.limits.drain, all).await.is_err() {
        tracing::warn!("not everything came to its end in time");
    }
    service.finished.cancel();
}

/// Answers one request, and puts on what every answer carries.
async fn answer(
    service: &Arc<Service>,
    router: &Router,
    request: Request<Incoming>,
    peer: SocketAddr,
) -> Response {
    let begun = Instant::now();
    let id = clock::new_hold_id();
    let operation = endpoints::operation(request.uri().path());
    let method = request.method().clone();
    let traced = service.tracer.as_ref().and_then(|tracer| tracer.begin(request.headers()));
    let started = traced.map(|_| trace::now());
    let running = Counted::new(service);
    let mut response = if service.is_stopping() && !endpoints::is_probe(operation) {
        let error = ApiError::new(Code::Draining, "the service is about to stop");
        axum::response::IntoResponse::into_response(error)
    } else {
        endpoints::call(service, router, request, Arrival { id, traced, peer }).await
    };
    drop(running);
    let failed = response.extensions_mut().remove::<Failed>();
    if let Some(Failed(error)) = &failed {
        let kept = [ALLOW, CONTENT_RANGE]
            .map(|name| response.headers_mut().remove(&name).map(|value| (name, value)));
        response = match operation {
            mcp::OPERATION => mcp::of_failure(error, &id.to_string()),
            _ => error.answer(&id.to_string()),
        };
        response.headers_mut().extend(kept.into_iter().flatten());
    }
    if let Some(value) = rate::id_value(id) {
        response.headers_mut().insert(&rate::REQUEST_ID, value);
    }
    let status = response.status().as_u16();
    let took = begun.elapsed();
    service.meter.answered(operation, status, took);
    if let (Some(tracer), Some(place), Some(started)) = (&service.tracer, traced, started) {
        tracer.record(trace::Span {
            place,
            side: trace::Side::Server,
            name: operation,
            started,
            ended: trace::now(),
            failed: status >= 500,
            words: vec![
                ("http.request.method", method.as_str().into()),
                ("http.response.status_code", status.into()),
                ("agent.request_id", id.to_string().into()),
            ],
        });
    }
    if service.config.log.requests && !endpoints::is_probe(operation) {
        let code = failed.as_ref().map_or("", |Failed(error)| error.code().word());
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        tracing::info!(request = %id, %method, operation, status, code, took_us, %peer, "answered");
    }
    response
}

/// A request that counts as running until its answer is there, or its client has left.
struct Counted<'a>(&'a Service);

impl<'a> Counted<'a> {
    fn new(service: &'a Service) -> Self {
        service.meter.running.inc();
        Self(service)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.meter.running.dec();
    }
}
