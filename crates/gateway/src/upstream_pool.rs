//! A pool of HTTP/1.1 connections to one upstream, each driven by the task that uses it.
//!
//! The task that sends a request also polls the connection, so a chunk of the response wakes one
//! task and crosses no thread. Each worker thread has its own idle connections. Nobody polls an idle
//! connection; whether its peer has closed it shows when it is used again.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::BoxError;
use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tower_service::Service as _;

use crate::worker_thread;

/// Maximum idle connections of one worker, and their idle timeout.
const MAX_IDLE: usize = 1024;
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Read buffer of a connection. The head of a response must fit.
const MAX_READ_AHEAD: usize = 64 * 1024;

pub(crate) struct UpstreamPool {
    connector: HttpsConnector<HttpConnector>,
    /// By the index of the worker thread.
    idle: Vec<Arc<IdleConnections>>,
}

/// The body of a response, with the connection that it arrives on.
pub(crate) struct PooledBody {
    body: Incoming,
    /// Returned to the pool at the end of the body.
    connection: Option<PooledConnection>,
    idle: Arc<IdleConnections>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// No connection could be opened.
    #[error("client error (Connect)")]
    Connect(#[source] BoxError),
    /// The connection broke before the response.
    #[error("client error (SendRequest)")]
    Broken(#[source] hyper::Error),
}

/// A stream with TLS or without. Boxed, because a plain one takes a twentieth of the memory.
type Stream = Box<dyn Duplex>;

trait Duplex: Read + Write + Send + Sync + Unpin {}

impl<T: Read + Write + Send + Sync + Unpin> Duplex for T {}

type HttpConnection = Connection<Stream, RequestBody>;

struct PooledConnection {
    sender: SendRequest<RequestBody>,
    /// `None` once it has ended: a request that was not sent is returned when it is dropped.
    connection: Option<Pin<Box<HttpConnection>>>,
}

struct SendError {
    error: hyper::Error,
    /// The request, if no byte of it was sent.
    unsent: Option<Box<Request<RequestBody>>>,
}

#[derive(Default)]
struct IdleConnections {
    /// Most recently used last.
    connections: Mutex<VecDeque<(PooledConnection, Instant)>>,
    /// Whether the worker has connections, idle or in use, as far as known.
    has_connections: AtomicBool,
}

impl UpstreamPool {
    /// A pool that trusts the certificate authorities of the machine and those given.
    pub(crate) fn open(
        authorities: &[CertificateDer<'static>],
        connect_timeout: Duration,
    ) -> Result<Self, rustls::Error> {
        let connector = connector(authorities, connect_timeout)?;
        let idle = std::iter::repeat_with(Arc::default).take(worker_thread::count()).collect();
        Ok(Self { connector, idle })
    }

    /// Sends a request, which must have a `Host` header, and waits for the head of the response.
    pub(crate) async fn request(
        &self,
        mut request: Request<RequestBody>,
    ) -> Result<Response<PooledBody>, RequestError> {
        let address = std::mem::take(request.uri_mut());
        if let Some(path) = address.path_and_query() {
            *request.uri_mut() = Uri::from(path.clone());
        }
        // An idle connection may break, and a stream cannot be sent again.
        let may_reuse = request.body().is_whole();
        while may_reuse && let Some((connection, idle)) = self.take() {
            match connection.send(request, idle).await {
                Err(SendError { unsent: Some(unsent), .. }) => request = *unsent,
                response => return response.map_err(|failed| RequestError::Broken(failed.error)),
            }
        }
        let connection = self.connect(address).await?;
        let own = self.own();
        own.has_connections.store(true, Ordering::Relaxed);
        let response = connection.send(request, own).await;
        response.map_err(|failed| RequestError::Broken(failed.error))
    }

    fn own(&self) -> &Arc<IdleConnections> {
        &self.idle[worker_thread::index()]
    }

    /// An idle connection and its owner: this worker, or another one while this worker has none.
    /// The thread of the other worker wakes this one, which is slower than its own connection but
    /// faster than connecting.
    fn take(&self) -> Option<(PooledConnection, &Arc<IdleConnections>)> {
        let own = self.own();
        own.take().map(|connection| (connection, own)).or_else(|| {
            let has_own = || own.has_connections.load(Ordering::Relaxed);
            let mut others = self.idle.iter().filter(|_| !has_own());
            others.find_map(|other| Some((other.take()?, other)))
        })
    }

    /// Closes connections that were idle for too long.
    pub(crate) fn close_expired(&self, now: Instant) {
        let is_expired =
            |(_, since): &(PooledConnection, Instant)| now.duration_since(*since) >= IDLE_TIMEOUT;
        for idle in &self.idle {
            let mut connections = idle.lock();
            let count = connections.iter().take_while(|idle| is_expired(idle)).count();
            let expired: Vec<_> = connections.drain(..count).collect();
            // Connections in use set it again when they return.
            idle.has_connections.store(!connections.is_empty(), Ordering::Relaxed);
            // Closing is slow, so not under the lock.
            drop(connections);
            drop(expired);
        }
    }

    async fn connect(&self, address: Uri) -> Result<PooledConnection, RequestError> {
        let mut connector = self.connector.clone();
        let ready = std::future::poll_fn(|context| connector.poll_ready(context)).await;
        ready.map_err(RequestError::Connect)?;
        let stream: Stream = match connector.call(address).await.map_err(RequestError::Connect)? {
            MaybeHttpsStream::Http(stream) => Box::new(stream),
            MaybeHttpsStream::Https(stream) => Box::new(stream),
        };
        let made = Builder::new().max_buf_size(MAX_READ_AHEAD).handshake(stream).await;
        let (sender, connection) = made.map_err(RequestError::Broken)?;
        Ok(PooledConnection { sender, connection: Some(Box::pin(connection)) })
    }
}

impl PooledConnection {
    fn drive(&mut self, context: &mut Context<'_>) {
        let connection = self.connection.as_mut();
        if connection.is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
            self.connection = None;
        }
    }

    /// Drives the connection, then polls the given future. Only the connection wakes the task.
    fn poll_with<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.drive(context);
        poll(&mut Context::from_waker(Waker::noop()))
    }

    async fn send(
        mut self,
        request: Request<RequestBody>,
        idle: &Arc<IdleConnections>,
    ) -> Result<Response<PooledBody>, SendError> {
        let mut sent = pin!(self.sender.try_send_request(request));
        let response = std::future::poll_fn(|context| {
            self.poll_with(context, |context| sent.as_mut().poll(context))
        });
        match response.await {
            Ok(response) => {
                let (connection, idle) = (Some(self), idle.clone());
                Ok(response.map(|body| PooledBody { body, connection, idle }))
            }
            Err(mut error) => {
                let unsent = error.take_message().map(Box::new);
                Err(SendError { error: error.into_error(), unsent })
            }
        }
    }

    /// Whether it can take a request. This also replaces the waker of the task that used it last.
    fn is_free(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }
}

impl Body for PooledBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { body, connection, idle } = self.get_mut();
        let mut body = Pin::new(body);
        let Some(used) = connection else { return body.poll_frame(context) };
        let frame = used.poll_with(context, |context| body.as_mut().poll_frame(context));
        let is_last = matches!(&frame, Poll::Ready(None)) || body.is_end_stream();
        if is_last && let Some(connection) = connection.take_if(PooledConnection::is_free) {
            idle.put(connection);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl IdleConnections {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(PooledConnection, Instant)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most recently used one. Its peer may have closed it: then sending returns the request.
    fn take(&self) -> Option<PooledConnection> {
        loop {
            let (connection, since) = self.lock().pop_back()?;
            if since.elapsed() < IDLE_TIMEOUT {
                return Some(connection);
            }
        }
    }

    fn put(&self, connection: PooledConnection) {
        let mut connections = self.lock();
        while connections.front().is_some_and(|(_, since)| since.elapsed() >= IDLE_TIMEOUT) {
            connections.pop_front();
        }
        if connections.len() < MAX_IDLE {
            connections.push_back((connection, Instant::now()));
            self.has_connections.store(true, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for UpstreamPool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("UpstreamPool").finish_non_exhaustive()
    }
}

fn connector(
    authorities: &[CertificateDer<'static>],
    connect_timeout: Duration,
) -> Result<HttpsConnector<HttpConnector>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(authorities.iter().cloned());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_timeout));
    tcp.set_keepalive(Some(Duration::from_mins(1)));
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp))
}

pub(crate) enum RequestBody {
    Whole(Bytes),
    Stream(StreamBody),
}

/// A body that is sent as it becomes available.
pub(crate) struct StreamBody {
    pub(crate) pieces:
        Pin<Box<dyn futures_util::Stream<Item = Result<Bytes, BoxError>> + Send + Sync>>,
    /// The size, if it is known.
    pub(crate) bytes: Option<u64>,
    /// Maximum time for sending it.
    pub(crate) max_time: Duration,
}

impl RequestBody {
    fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// The time to allow for sending it, in addition to the time of the answer.
    pub(crate) fn max_time(&self) -> Duration {
        match self {
            Self::Whole(_) => Duration::ZERO,
            Self::Stream(stream) => stream.max_time,
        }
    }
}

impl<B: Into<Bytes>> From<B> for RequestBody {
    fn from(bytes: B) -> Self {
        Self::Whole(bytes.into())
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => {
                let piece = stream.pieces.as_mut().poll_next(context);
                piece.map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(stream) => {
                stream.bytes.map_or_else(SizeHint::default, SizeHint::with_exact)
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// Without a trailing slash.
    path: String,
}

impl BaseUrl {
    pub(crate) fn new(uri: &Uri) -> Option<Self> {
        Some(Self {
            scheme: uri.scheme()?.clone(),
            authority: uri.authority()?.clone(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The value of the `Host` header: the port is left out if it is the default.
    pub(crate) fn host(&self) -> Option<HeaderValue> {
        let host = self.authority.host();
        let default = if self.scheme == Scheme::HTTPS { 443 } else { 80 };
        match self.authority.port_u16().filter(|port| *port != default) {
            Some(port) => HeaderValue::from_str(&format!("{host}:{port}")).ok(),
            None => HeaderValue::from_str(host).ok(),
        }
    }

    pub(crate) fn join(&self, path: &str) -> Option<Uri> {
        let path = PathAndQuery::try_from(format!("{}{path}", self.path)).ok()?;
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .ok()
    }
}

#[cfg(test)]
mod tests;
