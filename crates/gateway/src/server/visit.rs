//! One connection of a client: what it takes for as long as it lasts is little.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::answer;
use super::passage::Passage;
use super::sent::Sent;
use super::turn::{Alarm, Times};
use super::watched::Watched;
use crate::endpoints::Endpoints;
use crate::meter::Open;
use crate::service::Service;

/// The most headers of a request.
const MAX_HEADERS: usize = 100;

/// A connection, as all its requests see it.
pub(super) struct Visit {
    pub(super) service: Arc<Service>,
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) peer: SocketAddr,
    pub(super) passage: Arc<Passage>,
}

impl Visit {
    pub(super) fn new(
        service: Arc<Service>,
        endpoints: Arc<Endpoints>,
        peer: SocketAddr,
    ) -> Arc<Self> {
        Arc::new(Self { service, endpoints, peer, passage: Arc::default() })
    }

    /// Serves it to its end, and lets go of what it has taken.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` has room for its arguments twice, as long as a stream lasts"
    )]
    pub(super) fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        taken: impl Send + 'static,
    ) -> impl Future<Output = ()> + Send {
        async move {
            let open = Open::new(&self.service.meter.connections);
            let is_late = self.service.is_stopping();
            let mut connection = pin!(self.connection(stream, is_late));
            let mut stopping = pin!(self.service.stopping.cancelled());
            let (mut is_told, mut waits) = (is_late, false);
            let mut alarm = self.alarm();
            let served = poll_fn(|context| {
                // Who waits is woken: to look again at each turn would keep all lanes busy with it.
                if !is_told && (!waits || self.service.is_stopping()) {
                    waits = true;
                    is_told = stopping.as_mut().poll(context).is_ready();
                    if is_told {
                        connection.as_mut().graceful_shutdown();
                    }
                }
                match connection.as_mut().poll(context) {
                    Poll::Ready(result) => Poll::Ready(Some(result)),
                    Poll::Pending if alarm.rings(&self.passage.turn, context) => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            });
            match served.await {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    tracing::debug!(peer = %self.peer, %error, "a connection broke");
                }
                None => tracing::debug!(peer = %self.peer, "a client took too long"),
            }
            drop((open, taken));
        }
    }

    fn alarm(&self) -> Alarm {
        let limits = &self.service.config.limits;
        Alarm::new(Times { head: limits.header_timeout, rest: limits.idle_timeout })
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
            .keep_alive(!is_late)
            // See `turn`.
            .header_read_timeout(None)
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
        visit.passage.turn.is_ours();
        Box::pin(async move {
            let (response, log) = answer(&visit, request).await;
            Ok(Sent::of(response, &visit.passage, log))
        })
    }
}
