//! Where the bytes of artifacts are: objects by name, in a folder or in a bucket.

mod connector;

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, GetResultPayload, ObjectStore, ObjectStoreExt, PutOptions,
    RetryConfig,
};
use tokio::time::timeout;

use crate::config;
use crate::file_part::FilePart;
use crate::problem::Problem;

/// How long a file may take to be stored.
const MAX_PUT: Duration = Duration::from_mins(2);
/// How long an answer of a bucket may take to begin.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// How often a bucket is asked again.
const MAX_RETRIES: usize = 3;

/// Objects by name.
#[derive(Debug, Clone)]
pub(crate) struct Keep {
    store: Arc<dyn ObjectStore>,
    /// What stands before every name.
    prefix: Path,
    /// The folder that is made, for its owner alone, before the first is written.
    folder: Option<Arc<std::path::Path>>,
}

/// What an object, or a part of it, holds.
pub(crate) enum Content {
    File(FilePart),
    Stream(BoxStream<'static, Result<Bytes, Error>>),
}

impl Content {
    /// The file, if it is one here.
    pub(crate) fn file(&self) -> Option<&FilePart> {
        match self {
            Self::File(part) => Some(part),
            Self::Stream(_) => None,
        }
    }

    /// All of it, piece by piece.
    pub(crate) fn into_pieces(self) -> BoxStream<'static, io::Result<Bytes>> {
        match self {
            Self::File(part) => part.pieces().boxed(),
            Self::Stream(stream) => stream.map_err(io::Error::other).boxed(),
        }
    }
}

/// Why an object cannot be written or read. The cause is for operators alone.
#[derive(Debug, thiserror::Error)]
#[error("files cannot be kept: {0}")]
pub(crate) struct KeepError(String);

impl From<Error> for KeepError {
    fn from(error: Error) -> Self {
        Self(crate::failure::chain(&error))
    }
}

impl Keep {
    /// The place that is configured. Nothing is written or asked yet.
    pub(crate) fn open(media: &config::Media) -> Result<Self, Problem> {
        let wrong = |error: &dyn std::error::Error| Problem::new(format!("`artifacts`: {error}"));
        match &media.artifacts {
            config::Artifacts::Files { path } => Self::folder(path).map_err(|error| wrong(&error)),
            config::Artifacts::S3 { bucket, prefix } => {
                let store = open_bucket(bucket, &media.bucket).map_err(|error| wrong(&error))?;
                let prefix =
                    Path::parse(prefix.trim_matches('/')).map_err(|error| wrong(&error))?;
                Ok(Self { store: Arc::new(store), prefix, folder: None })
            }
        }
    }

    /// Objects that are files in a folder, which is made with the first of them.
    pub(crate) fn folder(path: &std::path::Path) -> Result<Self, KeepError> {
        let path = std::path::absolute(path).map_err(|error| KeepError(error.to_string()))?;
        let prefix =
            Path::from_absolute_path(&path).map_err(|error| KeepError(error.to_string()))?;
        let store = LocalFileSystem::new().with_fsync(true);
        Ok(Self { store: Arc::new(store), prefix, folder: Some(path.into()) })
    }

    /// Writes an object: all of it or nothing, and so that it outlives the loss of power.
    pub(crate) async fn put(&self, name: &str, bytes: Bytes) -> Result<(), KeepError> {
        self.make_folder()?;
        let path = self.place(name);
        let put = self.store.put_opts(&path, bytes.into(), PutOptions::default());
        match timeout(MAX_PUT, put).await {
            Ok(result) => Ok(result.map(drop)?),
            Err(_) => Err(KeepError("it takes too long".to_owned())),
        }
    }

    /// Begins to read an object, or a part of it; `None` if it is not there.
    pub(crate) async fn read(
        &self,
        name: &str,
        part: Option<Range<u64>>,
    ) -> Result<Option<Content>, KeepError> {
        let options = GetOptions { range: part.map(GetRange::Bounded), ..GetOptions::default() };
        match self.store.get_opts(&self.place(name), options).await {
            Ok(found) => Ok(Some(match found.payload {
                GetResultPayload::File(file, _) => Content::File(FilePart::new(file, found.range)),
                GetResultPayload::Stream(stream) => Content::Stream(stream),
            })),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an object; one that is not there is as good as removed.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), KeepError> {
        match self.store.delete(&self.place(name)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn make_folder(&self) -> Result<(), KeepError> {
        use std::os::unix::fs::DirBuilderExt;
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(|error| KeepError(error.to_string()))
    }

    /// Where an object is. Names of many objects are spread over folders by their beginning.
    fn place(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), Path::join)
    }
}

fn open_bucket(name: &str, bucket: &config::Bucket) -> Result<object_store::aws::AmazonS3, Error> {
    let retry =
        RetryConfig { max_retries: MAX_RETRIES, retry_timeout: MAX_WAIT, ..RetryConfig::default() };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(name)
        .with_region(&bucket.region)
        .with_retry(retry)
        .with_http_connector(connector::Connector);
    if let Some(endpoint) = &bucket.endpoint {
        let endpoint = endpoint.to_string();
        builder = builder
            .with_allow_http(endpoint.starts_with("http://"))
            .with_endpoint(endpoint.trim_end_matches('/'));
    }
    if let Some((id, secret)) = &bucket.credentials {
        builder = builder.with_access_key_id(id.reveal()).with_secret_access_key(secret.reveal());
    }
    builder.build()
}
