//! Sends the requests of `object_store` through an [`UpstreamPool`].

use std::pin::Pin;
use std::time::Duration;

use http::Request;
use http::header::HOST;
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use tokio::time::timeout;

use crate::upstream_pool::{BaseUrl, UpstreamPool};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit until a response begins; a file has been sent by then.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Connector;

/// A client of one endpoint: `object_store` opens one for each.
#[derive(Debug)]
struct BucketClient(UpstreamPool);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let pool = UpstreamPool::open(&[], CONNECT_TIMEOUT).map_err(|error| {
            object_store::Error::Generic { store: "S3", source: Box::new(error) }
        })?;
        Ok(HttpClient::new(BucketClient(pool)))
    }
}

impl BucketClient {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (mut head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        if !head.headers.contains_key(HOST)
            && let Some(host) = BaseUrl::new(&head.uri).and_then(|base| base.host())
        {
            head.headers.insert(HOST, host);
        }
        let response = self.0.request(Request::from_parts(head, body.into())).await;
        let response = response.map_err(|error| {
            let is_connect = error.is_connect();
            let kind = if is_connect { HttpErrorKind::Connect } else { HttpErrorKind::Request };
            HttpError::new(kind, error)
        })?;
        Ok(response.map(|body| {
            let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
            HttpResponseBody::new(body)
        }))
    }
}

impl HttpService for BucketClient {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let sent = timeout(RESPONSE_TIMEOUT, self.send(request)).await;
            sent.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?
        })
    }
}
