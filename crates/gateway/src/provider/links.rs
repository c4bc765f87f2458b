//! Connections to one upstream, each driven by the task that uses it.
//!
//! A request, its answer and the connection between them are of one task: nothing is handed over on
//! the way, and nobody else is woken for a piece of an answer. Each lane has connections of its own, so
//! that no other thread takes part either. A connection that waits for its next
//! request is driven by nobody; whether its peer has closed it shows when it is taken up again.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::BoxError;
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use tower_service::Service as _;

use super::client::{IDLE_TIMEOUT, MAX_IDLE, MAX_READ_AHEAD, connector};
use crate::lane;

/// Connections to one upstream.
pub(crate) struct Links {
    connector: HttpsConnector<HttpConnector>,
    /// Those of each lane.
    waiting: Vec<Arc<Waiting>>,
}

/// The body of an answer, and the connection that it comes from.
pub(crate) struct Answer {
    body: Incoming,
    /// Until the end of the body, which is when others may use it.
    link: Option<Link>,
    waiting: Arc<Waiting>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// No connection could be made.
    #[error("client error (Connect)")]
    Connect(#[source] BoxError),
    /// The connection broke before the answer.
    #[error("client error (SendRequest)")]
    Broken(#[source] hyper::Error),
}

/// A stream with TLS or without. Boxed, because without it takes a twentieth of the room.
type Stream = Box<dyn Duplex>;

trait Duplex: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Duplex for T {}

/// What carries requests and answers over a stream.
type Driven = Connection<Stream, Full<Bytes>>;

/// One connection.
struct Link {
    sender: SendRequest<Full<Bytes>>,
    /// Until it is over: a request that it did not take is given back when it is dropped.
    connection: Option<Pin<Box<Driven>>>,
}

/// Why a connection gave no answer.
struct Broken {
    error: hyper::Error,
    /// The request, where nothing of it was sent.
    unsent: Option<Box<Request<Full<Bytes>>>>,
}

/// Connections of one lane. Aligned, so that lanes are not in each other's way.
#[derive(Default)]
#[repr(align(128))]
struct Waiting {
    /// Those that wait for their next request, the latest last.
    links: Mutex<VecDeque<(Link, Instant)>>,
    /// Whether the lane has any, as far as is known.
    has_links: AtomicBool,
}

impl Unanswered {
    pub(crate) fn is_connect(&self) -> bool {
        matches!(self, Self::Connect(_))
    }
}

impl Links {
    /// Connections that trust the machine's authorities and those given.
    pub(crate) fn open(
        authorities: &[CertificateDer<'static>],
        connect_timeout: Duration,
    ) -> Result<Self, rustls::Error> {
        let connector = connector(authorities, connect_timeout)?;
        let waiting = std::iter::repeat_with(Arc::default).take(lane::numbers()).collect();
        Ok(Self { connector, waiting })
    }

    /// Sends a request, which names its host, and waits for the head of the answer.
    pub(crate) async fn request(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Answer>, Unanswered> {
        let address = std::mem::take(request.uri_mut());
        if let Some(path) = address.path_and_query() {
            *request.uri_mut() = Uri::from(path.clone());
        }
        while let Some((link, waiting)) = self.take() {
            match link.ask(request, waiting).await {
                Err(Broken { unsent: Some(unsent), .. }) => request = *unsent,
                answer => return answer.map_err(|broken| Unanswered::Broken(broken.error)),
            }
        }
        let link = self.connect(address).await?;
        let own = self.own();
        own.has_links.store(true, Ordering::Relaxed);
        let answer = link.ask(request, own).await;
        answer.map_err(|broken| Unanswered::Broken(broken.error))
    }

    /// Those of this lane.
    fn own(&self) -> &Arc<Waiting> {
        &self.waiting[lane::number()]
    }

    /// One that waits, and where: one of this lane, or of any other while this lane has none. Another
    /// lane's is woken by the thread of that lane, which takes longer, but not as long as to connect.
    fn take(&self) -> Option<(Link, &Arc<Waiting>)> {
        let own = self.own();
        own.take().map(|link| (link, own)).or_else(|| {
            let mut others = self.waiting.iter().filter(|_| !own.has_links.load(Ordering::Relaxed));
            others.find_map(|other| Some((other.take()?, other)))
        })
    }

    /// Closes those that have waited for too long.
    pub(crate) fn tend(&self, now: Instant) {
        let is_over = |(_, since): &(Link, Instant)| now.duration_since(*since) >= IDLE_TIMEOUT;
        for waiting in &self.waiting {
            let mut all = waiting.all();
            let count = all.iter().take_while(|waiting| is_over(waiting)).count();
            let over: Vec<_> = all.drain(..count).collect();
            // Those in use come back, and then it has some again.
            waiting.has_links.store(!all.is_empty(), Ordering::Relaxed);
            // Closing takes its time: others need not wait for it.
            drop(all);
            drop(over);
        }
    }

    async fn connect(&self, address: Uri) -> Result<Link, Unanswered> {
        let mut connector = self.connector.clone();
        let ready = std::future::poll_fn(|context| connector.poll_ready(context)).await;
        ready.map_err(Unanswered::Connect)?;
        let stream: Stream = match connector.call(address).await.map_err(Unanswered::Connect)? {
            MaybeHttpsStream::Http(stream) => Box::new(stream),
            MaybeHttpsStream::Https(stream) => Box::new(stream),
        };
        let made = Builder::new().max_buf_size(MAX_READ_AHEAD).handshake(stream).await;
        let (sender, connection) = made.map_err(Unanswered::Broken)?;
        Ok(Link { sender, connection: Some(Box::pin(connection)) })
    }
}

impl Link {
    /// Goes on as far as it can without waiting.
    fn drive(&mut self, context: &mut Context<'_>) {
        let connection = self.connection.as_mut();
        if connection.is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
            self.connection = None;
        }
    }

    /// Goes on, and looks what came of it. It is the connection that wakes this task, nobody else.
    fn poll_with<T>(
        &mut self,
        context: &mut Context<'_>,
        come: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.drive(context);
        come(&mut Context::from_waker(Waker::noop()))
    }

    async fn ask(
        mut self,
        request: Request<Full<Bytes>>,
        waiting: &Arc<Waiting>,
    ) -> Result<Response<Answer>, Broken> {
        let mut sent = pin!(self.sender.try_send_request(request));
        let answer = std::future::poll_fn(|context| {
            self.poll_with(context, |context| sent.as_mut().poll(context))
        });
        match answer.await {
            Ok(answer) => {
                let (link, waiting) = (Some(self), waiting.clone());
                Ok(answer.map(|body| Answer { body, link, waiting }))
            }
            Err(mut error) => {
                let unsent = error.take_message().map(Box::new);
                Err(Broken { error: error.into_error(), unsent })
            }
        }
    }

    /// Whether it can be asked. Whoever asked last is woken no more.
    fn is_free(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Self { body, link, waiting } = self.get_mut();
        let mut body = Pin::new(body);
        let Some(used) = link else { return body.poll_frame(context) };
        let frame = used.poll_with(context, |context| body.as_mut().poll_frame(context));
        let is_last = matches!(&frame, Poll::Ready(None)) || body.is_end_stream();
        if is_last && let Some(link) = link.take_if(Link::is_free) {
            waiting.put(link);
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

impl Waiting {
    fn all(&self) -> MutexGuard<'_, VecDeque<(Link, Instant)>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one that waits the shortest. Its peer may have closed it meanwhile: it says so when asked,
    /// and gives the request back.
    fn take(&self) -> Option<Link> {
        loop {
            let (link, since) = self.all().pop_back()?;
            if since.elapsed() < IDLE_TIMEOUT {
                return Some(link);
            }
        }
    }

    fn put(&self, link: Link) {
        let mut all = self.all();
        if all.len() < MAX_IDLE {
            all.push_back((link, Instant::now()));
            self.has_links.store(true, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Links").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
