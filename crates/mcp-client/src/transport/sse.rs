//! The HTTP transport of revision 2024-11-05: an event stream carries all responses, and messages
//! are posted to the endpoint that it names first.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, Method, Uri};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event_stream::EventReader;
use super::http_client::{EVENTS, HttpClient, JSON, JSON_OR_EVENTS, media_type, refusal_error};
use crate::error::{Error, Result};
use crate::message;
use crate::router::{CloseReason, Router};
use crate::url::{resolve_reference, same_origin};

const MAX_EVENTS_BEFORE_ENDPOINT: usize = 16;
const POST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct SseConnection {
    client: HttpClient,
    endpoint: Uri,
    closing: CancellationToken,
    router: Arc<Router>,
}

impl SseConnection {
    pub(crate) async fn open(
        client: HttpClient,
        router: Arc<Router>,
        tasks: &TaskTracker,
    ) -> Result<Self> {
        let headers = HeaderMap::from_iter([(ACCEPT, EVENTS)]);
        let response = client.send(Method::GET, client.url(), headers, Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(refusal_error(response).await.0);
        }
        let kind = media_type(response.headers());
        if kind != "text/event-stream" {
            let url = client.shown().to_owned();
            let content_type = if kind.is_empty() { "no content type".to_owned() } else { kind };
            return Err(Error::NotMcp { url, content_type });
        }
        let mut events = EventReader::new(response, None);
        let endpoint = read_endpoint(&client, &mut events).await?;
        let closing = CancellationToken::new();
        let (reader, stop) = (Arc::clone(&router), closing.clone());
        tasks.spawn(async move {
            let reason = tokio::select! {
                () = stop.cancelled() => CloseReason::Ours,
                reason = deliver_events(&mut events, &reader) => CloseReason::Broken { reason },
            };
            reader.close(reason);
        });
        Ok(Self { client, endpoint, closing, router })
    }

    pub(crate) async fn send(&self, body: Bytes) -> Result<()> {
        let headers = HeaderMap::from_iter([(ACCEPT, JSON_OR_EVENTS), (CONTENT_TYPE, JSON)]);
        let sent = self.client.send(Method::POST, &self.endpoint, headers, body);
        let Ok(response) = tokio::time::timeout(POST_TIMEOUT, sent).await else {
            return Err(Error::broken("the server did not accept the message"));
        };
        let response = response?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(refusal_error(response).await.0)
    }

    pub(crate) fn close(&self) {
        self.closing.cancel();
        self.router.close(CloseReason::Ours);
    }
}

impl Drop for SseConnection {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

async fn read_endpoint(client: &HttpClient, events: &mut EventReader) -> Result<Uri> {
    for _ in 0..MAX_EVENTS_BEFORE_ENDPOINT {
        let Some(event) = events.next().await? else {
            return Err(Error::broken("the stream ended before the endpoint event"));
        };
        if event.kind != "endpoint" {
            continue;
        }
        let text = String::from_utf8_lossy(&event.data).into_owned();
        let bad = |reason| Error::Redirect { to: message::truncated(&text, 300), reason };
        let address =
            resolve_reference(client.url(), &text).ok_or_else(|| bad("not a valid URL"))?;
        if !same_origin(&address, client.url()) {
            return Err(bad("messages are not sent to another origin"));
        }
        return Ok(address);
    }
    Err(Error::malformed("the stream does not start with an endpoint event"))
}

async fn deliver_events(events: &mut EventReader, router: &Router) -> String {
    loop {
        match events.next().await {
            Ok(Some(event)) => message::parse(&event.data, |message| router.deliver(message)),
            Ok(None) => return "the server's stream ended".to_owned(),
            Err(Error::Broken { reason }) => return reason,
            Err(error) => return error.to_string(),
        }
    }
}
