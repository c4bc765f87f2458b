//! One connection of a client: what it takes for as long as it lasts is little.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::answer;
use super::passage::Passage;
use super::sent::Sent;
use super::watched::Watched;
use crate::service::Service;

/// The most headers of a request.
const MAX_HEADERS: usize = 100;

/// A connection, as all its requests see it.
pub(super) struct Visit {
    service: Arc<Service>,
    router: Router,
    peer: SocketAddr,
    passage: Arc<Passage>,
}

impl Visit {
    pub(super) fn new(service: Arc<Service>, router: Router, peer: SocketAddr) -> Arc<Self> {
        Arc::new(Self { service, router, peer, passage: Arc::default() })
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
