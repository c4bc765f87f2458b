//! Buckets are asked over the same kind of connections as upstreams are.

use std::pin::Pin;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::timeout;

use crate::provider;

const MAX_CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take to begin; a file has been sent by then.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// Makes connections.
#[derive(Debug)]
pub(super) struct Connector;

#[derive(Debug)]
struct Connections(Pool<HttpsConnector<Tcp>, HttpRequestBody>);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let pool = provider::open_client(&[], MAX_CONNECT).map_err(|error| {
            object_store::Error::Generic { store: "S3", source: Box::new(error) }
        })?;
        Ok(HttpClient::new(Connections(pool)))
    }
}

impl HttpService for Connections {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let answer = timeout(MAX_WAIT, self.0.request(request))
                .await
                .map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?
                .map_err(|error| {
                    let kind = if error.is_connect() {
                        HttpErrorKind::Connect
                    } else {
                        HttpErrorKind::Request
                    };
                    HttpError::new(kind, error)
                })?;
            Ok(answer.map(|body| {
                let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
                HttpResponseBody::new(body)
            }))
        })
    }
}
