//! A search provider on the network.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

use super::provider_protocol as protocol;
use super::wanted::{Hit, Wanted};
use crate::config::SearchKind;
use crate::provider::{AskedBy, Failure, Provider, retry_after};

/// The longest response.
pub(super) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Remote {
    pub(super) kind: SearchKind,
    pub(super) provider: Arc<Provider>,
}

impl Remote {
    /// Sends one request, within the timeout for the first byte.
    pub(super) async fn search(&self, wanted: &Wanted) -> Result<Vec<Hit>, Failure> {
        let provider = &self.provider;
        let _slot = provider.slot()?;
        let body = timeout(provider.timeouts.first_byte, self.ask(wanted))
            .await
            .map_err(|_| Failure::Gone("the response timed out"))??;
        protocol::results(self.kind, &body)
    }

    async fn ask(&self, wanted: &Wanted) -> Result<Bytes, Failure> {
        let provider = &self.provider;
        let question = protocol::question(self.kind, wanted);
        let address = provider.base.join(&question.path);
        let mut request = Request::new(Bytes::new().into());
        *request.uri_mut() = address.ok_or(Failure::Gone("invalid URL"))?;
        *request.headers_mut() = provider.headers();
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        match question.body {
            Some(body) => {
                *request.method_mut() = Method::POST;
                *request.body_mut() = body.into();
            }
            None => {
                request.headers_mut().remove(CONTENT_TYPE);
            }
        }
        let answer = provider.pool.request(request).await.map_err(|error| {
            let what =
                if error.is_connect() { "cannot connect" } else { "the connection was closed" };
            Failure::Gone(what)
        })?;
        let (head, body) = answer.into_parts();
        provider.note_status(AskedBy::Request, head.status.as_u16());
        match head.status.as_u16() {
            200 => {}
            429 => return Err(Failure::Busy { retry_after: retry_after(&head.headers) }),
            // Another provider may accept the request.
            400 | 413 | 414 | 422 => return Err(Failure::Refused { message: None }),
            status => return Err(Failure::Broken { status }),
        }
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                Failure::Malformed("the response is too large")
            } else {
                Failure::Gone("the connection was closed")
            }
        })?;
        Ok(body.to_bytes())
    }
}
