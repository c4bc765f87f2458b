//! The ways a message travels: a process's standard streams, Streamable HTTP, and the older
//! HTTP with server-sent events.

pub(crate) mod connector;
pub mod environment;
pub mod event_stream;
pub(crate) mod http;
pub mod http_client;
pub mod lines;
pub(crate) mod preflight;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod tls;

use bytes::Bytes;
use tokio_util::task::TaskTracker;

use crate::error::Error;
use crate::message::Payload;
use crate::router::Ticket;

/// Does work that nobody waits for, if there still is a runtime to do it: what is dropped after its
/// runtime ended has nobody left to tell.
pub(crate) fn in_background(tasks: &TaskTracker, work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        tasks.spawn_on(work, &runtime);
    }
}

/// One established way to a server.
#[derive(Debug)]
pub(crate) enum Link {
    Stdio(stdio::StdioLink),
    Http(http::HttpLink),
    Sse(sse::SseLink),
}

/// A request on its way out, with what a transport may need to know of it.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) body: Bytes,
    /// `Mcp-Name`, and the mirrored parameters of a tool.
    pub(crate) headers: Vec<(String, String)>,
}

impl Link {
    /// Sends a request and waits for its answer, as long as it takes: the caller bounds the time,
    /// and dropping the future stops the waiting.
    pub(crate) async fn request(
        &self,
        outgoing: &Outgoing<'_>,
        ticket: &mut Ticket,
    ) -> Result<Payload, Error> {
        match self {
            Self::Stdio(link) => link.send(&outgoing.body)?,
            Self::Sse(link) => link.send(outgoing.body.clone()).await?,
            Self::Http(link) => return link.request(outgoing, ticket).await,
        }
        (&mut ticket.answer).await.unwrap_or(Err(Error::Closed))
    }

    /// Sends a notification or an answer of ours.
    pub(crate) async fn tell(&self, body: Bytes) -> Result<(), Error> {
        match self {
            Self::Stdio(link) => link.send(&body),
            Self::Sse(link) => link.send(body).await,
            Self::Http(link) => link.tell(body).await,
        }
    }

    /// Begins to close; what is left happens in the background and is tracked.
    pub(crate) fn close(&self) {
        match self {
            Self::Stdio(link) => link.close(),
            Self::Sse(link) => link.close(),
            Self::Http(link) => link.close(),
        }
    }
}
