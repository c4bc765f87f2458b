//! The transports: stdio, Streamable HTTP, and the older HTTP with server-sent events.

pub(crate) mod connector;
pub mod environment;
pub mod event_stream;
pub(crate) mod http;
pub mod http_client;
pub mod line_decoder;
pub(crate) mod preflight;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod tls;

use std::sync::Arc;

use bytes::Bytes;
use tokio_util::task::TaskTracker;

use crate::error::{Error, Result, ServerOutput};
use crate::message::RawJson;
use crate::router::ResponseWaiter;

/// Spawns a tracked task, unless the runtime has ended already.
pub(crate) fn spawn_detached(tasks: &TaskTracker, work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        tasks.spawn_on(work, &runtime);
    }
}

#[derive(Clone)]
pub(crate) enum Connection {
    Stdio(Arc<stdio::StdioConnection>),
    Http(Arc<http::HttpConnection>),
    Sse(Arc<sse::SseConnection>),
}

#[derive(Debug)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) id: u64,
    pub(crate) method: &'a str,
    pub(crate) body: Bytes,
    /// `Mcp-Name`, and the mirrored parameters of a tool.
    pub(crate) headers: Vec<(String, String)>,
}

impl Connection {
    /// Sends a request and waits for its response without a timeout: the caller bounds the time by
    /// dropping the future.
    pub(crate) async fn request(
        &self,
        outgoing: &OutgoingRequest<'_>,
        waiter: &mut ResponseWaiter,
    ) -> Result<RawJson> {
        match self {
            Self::Stdio(connection) => connection.send(&outgoing.body)?,
            Self::Sse(connection) => connection.send(outgoing.body.clone()).await?,
            Self::Http(connection) => return connection.request(outgoing, waiter).await,
        }
        (&mut waiter.answer).await.unwrap_or(Err(Error::Closed))
    }

    pub(crate) async fn send_message(&self, body: Bytes) -> Result<()> {
        match self {
            Self::Stdio(connection) => connection.send(&body),
            Self::Sse(connection) => connection.send(body).await,
            Self::Http(connection) => connection.send_message(body).await,
        }
    }

    /// The output of a local server.
    pub(crate) fn output_tail(&self) -> ServerOutput {
        match self {
            Self::Stdio(connection) => connection.output_tail(),
            _ => ServerOutput::default(),
        }
    }

    /// Starts closing; tracked tasks complete it.
    pub(crate) fn close(&self) {
        match self {
            Self::Stdio(connection) => connection.close(),
            Self::Sse(connection) => connection.close(),
            Self::Http(connection) => connection.close(),
        }
    }
}
