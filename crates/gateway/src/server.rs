//! The edge: connections, their limits, and what every answer carries.

mod connections;
mod passage;
mod sent;
mod turn;
mod visit;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::response::Response;
use http::Request;
use http::header::{ALLOW, CONTENT_RANGE};
use hyper::body::Incoming;
use ledger::HoldId;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;
use wire::error::Code;

use self::connections::{Admission, Connections, Seat};
use self::visit::Visit;
use crate::apart::Apart;
use crate::clock;
use crate::endpoints::{Endpoints, Route, serve_metrics};
use crate::failure::{ApiError, Failed};
use crate::lane::Lanes;
use crate::mcp;
use crate::meter::Open;
use crate::rate;
use crate::request_log::RequestLog;
use crate::service::Service;
use crate::start::Ready;
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
pub async fn serve(ready: Ready, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let Ready { service, listener, metrics } = ready;
    let lanes = Lanes::start()?;
    let endpoints = Arc::new(Endpoints::new(&service).map_err(io::Error::other)?);
    upkeep::start(&service);
    if let Some(listener) = metrics {
        service.tasks.spawn(serve_metrics(service.clone(), listener));
    }
    let connections = TaskTracker::new();
    let mut accepting = pin!(accept(&service, &endpoints, &listener, (&lanes, &connections)));
    tokio::select! {
        () = shutdown => {}
        () = &mut accepting => {}
    }
    // Clients that connect during the drain get 503.
    tokio::select! {
        () = drain(&service, &connections) => {}
        () = accepting => {}
    }
    service.store.close().await;
    Ok(())
}

async fn accept(
    service: &Arc<Service>,
    endpoints: &Arc<Endpoints>,
    listener: &TcpListener,
    (lanes, tracker): (&Lanes, &TaskTracker),
) {
    let services = Arc::new(Apart::<OnceLock<Arc<Service>>>::default());
    let connections = Connections::new(&service.config.limits);
    loop {
        let accepted = listener.accept().await.and_then(|(stream, peer)| {
            // Another runtime will drive it.
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
        let Some(seat) = admit(&connections, peer).await else { continue };
        let Some((lane, place)) = lanes.take() else { return };
        let (service, services) = (service.clone(), services.clone());
        let (endpoints, connections) = (endpoints.clone(), connections.clone());
        // Nobody waits for those that came too late.
        let waited_for = (!service.is_stopping()).then(|| tracker.token());
        // What the lane makes itself is in its own memory: all that there is of a connection.
        lane.handle.spawn(async move {
            let stream = match TcpStream::from_std(stream) {
                Ok(stream) => stream,
                Err(error) => return tracing::warn!(%error, "a connection was not accepted"),
            };
            let service = services.own().get_or_init(|| service.apart()).clone();
            let visit = Visit::new(service, endpoints, peer);
            let (passage, number) = (visit.passage.clone(), seat.number());
            let task = tokio::spawn(visit.serve(stream, (place, seat, waited_for)));
            connections.started(number, passage, task.abort_handle());
        });
    }
}

/// A place for a connection, unless its address has too many; at the limit of all connections it
/// takes the place of an idle stranger, or waits.
async fn admit(connections: &Arc<Connections>, peer: SocketAddr) -> Option<Seat> {
    loop {
        match connections.admit(peer.ip()) {
            Admission::Admitted(seat) => return Some(seat),
            Admission::Refused => {
                tracing::debug!(%peer, "too many connections of one address");
                return None;
            }
            Admission::Full => connections.make_room(ACCEPT_PAUSE).await,
        }
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
async fn answer(visit: &Visit, request: Request<Incoming>) -> (Response, Arc<RequestLog>) {
    let Visit { service, endpoints, peer, passage } = visit;
    let id = clock::new_hold_id();
    let path = request.uri().path();
    let route = endpoints.route(path);
    let unknown_path = route.is_none().then(|| path.to_owned());
    let method = request.method().clone();
    let log = RequestLog::new(id, route, method.clone(), *peer);
    let traced = service.tracer.as_ref().and_then(|tracer| tracer.begin(request.headers()));
    let started = traced.map(|_| trace::now());
    let running = Open::new(&service.meter.running);
    let mut response = if service.is_stopping() && !route.is_probe() {
        let error = ApiError::new(Code::Draining, "the service is about to stop");
        axum::response::IntoResponse::into_response(error)
    } else {
        let arrival = Arrival { id, traced, peer: *peer };
        log.scope(endpoints.call(service, request, arrival)).await
    };
    drop(running);
    if log.is_known() {
        passage.turn.recognise();
    }
    let failed = response.extensions_mut().remove::<Failed>();
    if let Some(Failed(error)) = &failed {
        response = failure(route, error, id, response);
    }
    if let Some(value) = rate::id_value(id) {
        response.headers_mut().insert(&rate::REQUEST_ID, value);
    }
    let status = response.status().as_u16();
    service.meter.answered(route.operation, status, log.begun.elapsed());
    if let (Some(tracer), Some(place), Some(started)) = (&service.tracer, traced, started) {
        tracer.record(trace::Span {
            place,
            side: trace::Side::Server,
            name: route.operation,
            started,
            ended: trace::now(),
            failed: status >= 500,
            words: vec![
                ("http.request.method", method.as_str().into()),
                ("http.route", route.pattern.into()),
                ("http.response.status_code", status.into()),
                ("agent.request_id", id.to_string().into()),
            ],
        });
    }
    if service.config.log.requests && !route.is_probe() {
        let code = failed.as_ref().map_or("", |Failed(error)| error.code().word());
        log.answered(status, code, unknown_path.as_deref());
    }
    (response, log)
}

/// The answer that tells of a failure.
fn failure(route: Route, error: &ApiError, id: HoldId, mut response: Response) -> Response {
    let kept = [ALLOW, CONTENT_RANGE]
        .map(|name| response.headers_mut().remove(&name).map(|value| (name, value)));
    let mut response = match route.operation {
        mcp::OPERATION => mcp::of_failure(error, &id.to_string()),
        _ => error.answer(&id.to_string()),
    };
    response.headers_mut().extend(kept.into_iter().flatten());
    response
}
