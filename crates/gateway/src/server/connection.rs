//! One client connection. Its memory matters: there may be many idle ones.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::BoxError;
use axum::body::Body;
use bytes::{Buf, Bytes};
use http::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::connection_phase::{ConnectionPhase, IdleTimer, PhaseTimeouts};
use super::sendfile::{FileBody, FileTransfer, Placeholder};
use super::write_timeout::WriteTimeoutStream;
use super::{Edge, answer};
use crate::metrics::GaugeGuard;
use crate::request_log::RequestLog;

const MAX_HEADERS: usize = 100;

pub(super) struct Connection {
    pub(super) edge: Arc<Edge>,
    pub(super) peer: SocketAddr,
    pub(super) phase: Arc<ConnectionPhase>,
    transfer: Arc<FileTransfer>,
}

impl Connection {
    pub(super) fn new(edge: Arc<Edge>, peer: SocketAddr) -> Arc<Self> {
        Arc::new(Self { edge, peer, phase: Arc::default(), transfer: Arc::default() })
    }

    /// Serves the connection to its end, then drops `guards`.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` stores its arguments twice, for as long as a stream lasts"
    )]
    pub(super) fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        guards: impl Send + 'static,
    ) -> impl Future<Output = ()> + Send {
        async move {
            let open = GaugeGuard::new(&self.edge.metrics.connections);
            let lifecycle = &self.edge.lifecycle;
            let is_late = lifecycle.is_stopping();
            let mut connection = pin!(self.http(stream, is_late));
            let mut stopping = pin!(lifecycle.stopping.cancelled());
            let (mut is_shut_down, mut is_registered) = (is_late, false);
            let mut timer = self.idle_timer();
            let served = poll_fn(|context| {
                // Polled once to register the waker, then only after the drain has begun: every
                // poll takes the lock of the token.
                if !is_shut_down && (!is_registered || lifecycle.is_stopping()) {
                    is_registered = true;
                    is_shut_down = stopping.as_mut().poll(context).is_ready();
                    if is_shut_down {
                        connection.as_mut().graceful_shutdown();
                    }
                }
                match connection.as_mut().poll(context) {
                    Poll::Ready(result) => Poll::Ready(Some(result)),
                    Poll::Pending if timer.has_expired(&self.phase, context) => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            });
            match served.await {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    tracing::debug!(peer = %self.peer, %error, "connection failed");
                }
                None => tracing::debug!(peer = %self.peer, "client timed out"),
            }
            drop((open, guards));
        }
    }

    fn idle_timer(&self) -> IdleTimer {
        let current = self.edge.current.load();
        let limits = &current.service.config.limits;
        IdleTimer::new(PhaseTimeouts { head: limits.header_timeout, idle: limits.idle_timeout })
    }

    fn http(
        self: &Arc<Self>,
        stream: TcpStream,
        is_late: bool,
    ) -> http1::Connection<TokioIo<WriteTimeoutStream>, Handler> {
        // Small pieces of a stream must not wait for each other.
        let _ = stream.set_nodelay(true);
        let current = self.edge.current.load();
        let limits = &current.service.config.limits;
        let io = WriteTimeoutStream {
            stream,
            timeout: limits.write_timeout,
            timer: None,
            phase: self.phase.clone(),
            transfer: self.transfer.clone(),
        };
        http1::Builder::new()
            .keep_alive(!is_late)
            // `IdleTimer` does this.
            .header_read_timeout(None)
            .max_buf_size(usize::try_from(limits.max_header_bytes).unwrap_or(8192).max(8192))
            // Not `pipeline_flush`: it buffers without bound for a client that does not read.
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(io), Handler(self.clone()))
    }
}

struct Handler(Arc<Connection>);

impl hyper::service::Service<Request<Incoming>> for Handler {
    type Response = http::Response<ResponseBody>;
    type Error = Infallible;
    /// Boxed: the connection keeps its memory for as long as a stream lasts.
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = self.0.clone();
        connection.phase.request_started();
        Box::pin(async move {
            let (mut response, log) = answer(&connection, request).await;
            let phase = connection.phase.clone();
            let file = response.extensions_mut().remove();
            let file = file.and_then(|file| connection.transfer.body(file));
            Ok(response.map(|body| ResponseBody { body, file, phase, _log: log }))
        })
    }
}

/// A response body. When it is dropped, the connection is idle and the log line can be written.
pub(super) struct ResponseBody {
    pub(super) body: Body,
    /// The file to send instead of `body`.
    pub(super) file: Option<FileBody>,
    pub(super) phase: Arc<ConnectionPhase>,
    pub(super) _log: Arc<RequestLog>,
}

pub(super) enum Piece {
    Bytes(Bytes),
    File(Placeholder),
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.remaining(),
            Self::File(placeholder) => placeholder.remaining(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.chunk(),
            Self::File(placeholder) => placeholder.chunk(),
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Bytes(bytes) => bytes.advance(count),
            Self::File(placeholder) => placeholder.advance(count),
        }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.phase.response_ended();
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Piece;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, BoxError>>> {
        if let Some(file) = &mut self.file {
            let piece = ready!(file.poll_piece(context));
            return Poll::Ready(piece.map(|piece| Ok(Frame::data(Piece::File(piece?)))));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| Ok(frame?.map_data(Piece::Bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.file {
            Some(file) => file.remaining() == 0,
            None => self.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.file {
            Some(file) => SizeHint::with_exact(file.remaining()),
            None => self.body.size_hint(),
        }
    }
}
