//! The edge: connections, their limits, and what every answer carries.

mod passage;
mod sent;
mod watched;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::response::Response;
use http::Request;
use http::header::{ALLOW, CONTENT_RANGE};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use ledger::HoldId;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use wire::error::Code;

use self::passage::Passage;
use self::sent::Sent;
use self::watched::Watched;
use crate::clock;
use crate::endpoints;
use crate::failure::{ApiError, Failed};
use crate::lane::Lanes;
use crate::mcp;
use crate::rate;
use crate::service::Service;
use crate::trace;
use crate::upkeep;

/// The most headers of a request.
const MAX_HEADERS: usize = 100;
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
        let (service, router) = (service.clone(), router.clone());
        // Nobody waits for those that came too late.
        let waited_for = (!service.stopping.is_cancelled()).then(|| connections.token());
        // What the lane makes itself is in its own memory: all that there is of a connection.
        lane.handle.spawn(async move {
            let stream = match TcpStream::from_std(stream) {
                Ok(stream) => stream,
                Err(error) => return tracing::warn!(%error, "a connection was not accepted"),
            };
            let visit = Arc::new(Visit { service, router, peer, passage: Arc::default() });
            tokio::spawn(visit.serve(stream, (place, slot, waited_for)));
        });
    }
}

async fn drain(service: &Service, connections: &TaskTracker) {
    tracing::info!(connections = connections.len(), "draining");
    service.stopping.cancel();
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

/// A connection, as all its requests see it.
struct Visit {
    service: Arc<Service>,
    router: Router,
    peer: SocketAddr,
    passage: Arc<Passage>,
}

impl Visit {
    /// Serves it to its end, and lets go of what it has taken.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice, as long as a stream lasts"
    )]
    fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        taken: impl Send + 'static,
    ) -> impl Future<Output = ()> + Send {
        async move {
            self.service.meter.connections.inc();
            let is_late = self.service.stopping.is_cancelled();
            let mut connection = pin!(self.connection(stream, is_late));
            let result = tokio::select! {
                result = connection.as_mut() => result,
                () = self.service.stopping.cancelled(), if !is_late => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = result {
                tracing::debug!(peer = %self.peer, %error, "a connection broke");
            }
            self.service.meter.connections.dec();
            drop(taken);
        }
    }

    fn connection(
        self: &Arc<Self>,
        stream: TcpStream,
        is_late: bool,
    ) -> http1::Connection<TokioIo<Watched>, Answering> {
        // Small pieces of a stream must not wait for each other.
        let _ = stream.set_nodelay(true);
        let limits = &self.service.config.limits;
        let io = Watched::new(stream, limits.write_timeout, self.passage.clone());
        http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(!is_late)
            .header_read_timeout(limits.header_timeout)
            .max_buf_size(usize::try_from(limits.max_header_bytes).unwrap_or(8192).max(8192))
            // Not `pipeline_flush`: it buffers without bound for a client that does not read.
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(io), Answering(self.clone()))
    }
}

/// Answers the requests of a connection.
struct Answering(Arc<Visit>);

impl hyper::service::Service<Request<Incoming>> for Answering {
    type Response = http::Response<Sent>;
    type Error = Infallible;
    /// Boxed: a connection outlives the head of its answer, as long as a stream lasts.
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let visit = self.0.clone();
        Box::pin(async move {
            let response = answer(&visit.service, visit.router.clone(), request, visit.peer).await;
            Ok(Sent::of(response, &visit.passage))
        })
    }
}

/// Answers one request, and puts on what every answer carries.
async fn answer(
    service: &Arc<Service>,
    router: Router,
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
    let mut response = if service.stopping.is_cancelled() && !endpoints::is_probe(operation) {
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
