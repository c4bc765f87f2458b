//! The bytes of artifacts: objects by name, in a folder or in a bucket.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream};
use futures_util::{StreamExt, TryStreamExt};
use http::Request;
use http::header::HOST;
use http_body_util::BodyExt;
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt,
    PutOptions, RetryConfig,
};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::config;
use crate::problem::Problem;
use crate::upstream_pool::{BaseUrl, RequestError, UpstreamPool};

/// The time limit for storing an object.
const MAX_PUT: Duration = Duration::from_mins(2);
/// The time limit for all retries of a request to a bucket.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_RETRIES: usize = 3;
const CHUNK_BYTES: u64 = 256 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit until a response begins; a file has been sent by then.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub(crate) struct ArtifactStore {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Created before the first write, for its owner only.
    folder: Option<Arc<std::path::Path>>,
}

pub(crate) struct Content {
    pub(crate) length: u64,
    pub(crate) chunks: BoxStream<'static, io::Result<Bytes>>,
    /// The same; a connection can send its file.
    pub(crate) file: Option<FilePart>,
}

#[derive(Debug, Clone)]
pub(crate) struct FilePart {
    pub(crate) file: Arc<File>,
    pub(crate) part: Range<u64>,
}

/// Why an object cannot be written or read, for operators only.
#[derive(Debug, thiserror::Error)]
#[error("cannot access stored files: {0}")]
pub(crate) struct ArtifactError(String);

impl From<Error> for ArtifactError {
    fn from(error: Error) -> Self {
        Self(crate::failure::chain(&error))
    }
}

impl ArtifactStore {
    /// Opens the configured place, without reading or writing anything.
    pub(crate) fn open(storage: &config::Storage) -> Result<Self, Problem> {
        let wrong = |error: &dyn std::error::Error| Problem::new(format!("`artifacts`: {error}"));
        match &storage.place {
            config::Artifacts::Files { path } => Self::folder(path).map_err(|error| wrong(&error)),
            config::Artifacts::S3 { bucket, prefix } => {
                let store = open_bucket(bucket, storage).map_err(|error| wrong(&error))?;
                let prefix =
                    Path::parse(prefix.trim_matches('/')).map_err(|error| wrong(&error))?;
                Ok(Self { store: Arc::new(store), prefix, folder: None })
            }
        }
    }

    /// Opens a folder, which is created with the first object.
    pub(crate) fn folder(path: &std::path::Path) -> Result<Self, ArtifactError> {
        let path = std::path::absolute(path).map_err(|error| ArtifactError(error.to_string()))?;
        let prefix =
            Path::from_absolute_path(&path).map_err(|error| ArtifactError(error.to_string()))?;
        let store = LocalFileSystem::new().with_fsync(true);
        Ok(Self { store: Arc::new(store), prefix, folder: Some(path.into()) })
    }

    pub(crate) async fn put(&self, name: &str, bytes: Bytes) -> Result<(), ArtifactError> {
        self.make_folder()?;
        let path = self.path(name);
        let put = self.store.put_opts(&path, bytes.into(), PutOptions::default());
        match timeout(MAX_PUT, put).await {
            Ok(result) => Ok(result.map(drop)?),
            Err(_) => Err(ArtifactError("timeout".to_owned())),
        }
    }

    /// Opens an object, or a part of it; `None` if it does not exist.
    pub(crate) async fn read(
        &self,
        name: &str,
        part: Option<Range<u64>>,
    ) -> Result<Option<Content>, ArtifactError> {
        let options = GetOptions { range: part.map(GetRange::Bounded), ..GetOptions::default() };
        match self.store.get_opts(&self.path(name), options).await {
            Ok(found) => {
                let length = found.range.end.saturating_sub(found.range.start);
                let (chunks, file) = match found.payload {
                    GetResultPayload::File(file, _) => {
                        let file = FilePart { file: Arc::new(file), part: found.range };
                        (file_chunks(file.clone()).boxed(), Some(file))
                    }
                    GetResultPayload::Stream(stream) => {
                        (stream.map_err(io::Error::other).boxed(), None)
                    }
                };
                Ok(Some(Content { length, chunks, file }))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn remove(&self, name: &str) -> Result<(), ArtifactError> {
        match self.store.delete(&self.path(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn make_folder(&self) -> Result<(), ArtifactError> {
        use std::os::unix::fs::DirBuilderExt;
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(|error| ArtifactError(error.to_string()))
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }
}

/// Reads a part of a file in chunks, on blocking threads.
fn file_chunks(file: FilePart) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(file, |FilePart { file, part }| async move {
        if part.is_empty() {
            return Ok(None);
        }
        let end = part.end.min(part.start + CHUNK_BYTES);
        let read = spawn_blocking(move || {
            let mut chunk = vec![0; usize::try_from(end - part.start).map_err(io::Error::other)?];
            file.read_exact_at(&mut chunk, part.start)?;
            Ok((Bytes::from(chunk), FilePart { file, part: end..part.end }))
        });
        read.await.map_err(io::Error::other)?.map(Some)
    })
}

fn open_bucket(name: &str, bucket: &config::Storage) -> Result<object_store::aws::AmazonS3, Error> {
    let retry = RetryConfig {
        max_retries: MAX_RETRIES,
        retry_timeout: RETRY_TIMEOUT,
        ..RetryConfig::default()
    };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(name)
        .with_region(&bucket.region)
        .with_retry(retry)
        .with_http_connector(Connector);
    if let Some(endpoint) = &bucket.endpoint {
        let endpoint = endpoint.to_string();
        builder = builder
            .with_allow_http(endpoint.starts_with("http://"))
            .with_endpoint(endpoint.trim_end_matches('/'));
    }
    if let Some((id, secret)) = bucket.access_key_id.as_ref().zip(bucket.secret_access_key.as_ref())
    {
        builder = builder.with_access_key_id(id.reveal()).with_secret_access_key(secret.reveal());
    }
    builder.build()
}

#[derive(Debug)]
struct Connector;

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
            let kind = match error {
                RequestError::Connect(_) => HttpErrorKind::Connect,
                RequestError::Broken(_) => HttpErrorKind::Request,
            };
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
