//! Uploads: forms whose files are streamed to an upstream, never whole in memory.
//!
//! If the model is named before the first file, the form is streamed, to one upstream only: bytes
//! that were sent cannot be sent to another one. Otherwise, and for an idempotency key, whose digest
//! covers the form, the files are spooled to a temporary file first, and can be sent again.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::BoxError;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use gateway_store::Scope;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use ledger::IdempotencyKey;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use wire::error::Code;

use super::admission::{MemberRequest, Received, identify};
use super::body::{self, ArrivingBody};
use super::form::{Boundary, Form, PartHead, boundary, wrong};
use crate::config::Limits;
use crate::failure::{ApiError, ApiResult, chain};
use crate::upstream_pool::{RequestBody, StreamBody};

const MAX_FIELD_BYTES: usize = 64 * 1024;
const PIECE_BYTES: usize = 128 * 1024;

pub(super) struct Upload {
    pub(super) fields: Form,
    boundary: Boundary,
    files: Files,
    max_time: Duration,
}

enum Files {
    Arriving(Arc<Mutex<Option<FormReader>>>),
    Spooled(Arc<Spool>),
}

struct FormReader {
    parts: multer::Multipart<'static>,
    file: Option<multer::Field<'static>>,
    fields: Form,
    boundary: Boundary,
    deadline: Instant,
    /// The digest of all parts, for an idempotency key.
    digest: Option<Sha256>,
    /// The start of the first file.
    first: Option<Bytes>,
}

/// File parts in an unnamed temporary file.
struct Spool {
    file: File,
    bytes: u64,
}

impl Upload {
    /// Whether a body is streamed to one upstream. A small one can be sent to several.
    pub(super) fn is_for(headers: &HeaderMap, body: &Body) -> bool {
        let media_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        media_type.is_some_and(|it| it.starts_with(b"multipart/form-data")) && !body::is_small(body)
    }

    /// Identifies the caller, and reads a form up to its first file.
    pub(super) async fn receive(
        asked: MemberRequest,
        scope: Scope,
        purpose: &str,
    ) -> ApiResult<(Received, Self)> {
        let MemberRequest { service, info, request } = asked;
        let (head, body) = request.into_parts();
        let (caller, body) = identify(&service, &head.headers, body, scope).await?;
        let limits = &service.config.limits;
        let (upload, idempotency) = Self::read(limits, &head.headers, body, purpose).await?;
        Ok((Received { service, info, caller, bytes: Bytes::new(), idempotency }, upload))
    }

    /// Reads a form up to its first file, or whole if the digest needs it.
    async fn read(
        limits: &Limits,
        headers: &HeaderMap,
        body: Body,
        purpose: &str,
    ) -> ApiResult<(Self, Option<IdempotencyKey>)> {
        let word = body::idempotency_word(headers)?;
        let digest = word.map(|_| Sha256::new_with_prefix(purpose));
        let mut reader = FormReader::new(limits, headers, body, digest)?;
        reader.first = reader.next().await?;
        if reader.first.is_none() {
            return Err(ApiError::invalid("file", "`file` is missing"));
        }
        let (boundary, max_time) = (reader.boundary.clone(), limits.body_timeout);
        if word.is_none() && reader.fields.has("model") {
            let fields = std::mem::take(&mut reader.fields);
            let files = Files::Arriving(Arc::new(Mutex::new(Some(reader))));
            return Ok((Self { fields, boundary, files, max_time }, None));
        }
        let spool = Arc::new(Spool::fill(&mut reader).await?);
        let digest = reader.digest.map(|digest| digest.finalize().into());
        let idempotency = word.zip(digest);
        let idempotency = idempotency
            .map(|(word, body_sha256)| IdempotencyKey { key: word.to_owned(), body_sha256 });
        let (fields, files) = (reader.fields, Files::Spooled(spool));
        Ok((Self { fields, boundary, files, max_time }, idempotency))
    }

    pub(super) fn with_model(&self, model: &str) -> ApiResult<(RequestBody, HeaderValue)> {
        let mut start = BytesMut::new();
        self.fields.write_without("model", &self.boundary, &mut start);
        self.boundary.write_field("model", model, &mut start);
        let start = start.freeze();
        let mut end = BytesMut::new();
        self.boundary.write_end(&mut end);
        let (start, end) = (start, end.freeze());
        let length = start.len() as u64 + end.len() as u64;
        let [start, end] = [start, end].map(|bytes| stream::iter([Ok::<_, ApiError>(bytes)]));
        let max_time = self.max_time;
        let body = match &self.files {
            Files::Arriving(source) => {
                if lock(source).is_none() {
                    return Err(sent());
                }
                let pieces = start.chain(arriving(source.clone())).map_err(BoxError::from);
                StreamBody { pieces: Box::pin(pieces), bytes: None, max_time }
            }
            Files::Spooled(spool) => {
                let pieces = start.chain(spooled(spool.clone())).chain(end);
                let pieces = Box::pin(pieces.map_err(BoxError::from));
                StreamBody { pieces, bytes: Some(length + spool.bytes), max_time }
            }
        };
        Ok((RequestBody::Stream(body), self.boundary.media_type()))
    }
}

/// The rest of a form that is still arriving, up to its end.
fn arriving(
    source: Arc<Mutex<Option<FormReader>>>,
) -> impl futures_util::Stream<Item = ApiResult<Bytes>> {
    let reader = stream::once(async move { lock(&source).take().ok_or_else(sent) });
    let pieces = |reader| {
        stream::try_unfold(Some(Box::new(reader)), |reader: Option<Box<FormReader>>| async move {
            let Some(mut reader) = reader else { return Ok(None) };
            if let Some(piece) = reader.next().await? {
                return Ok(Some((piece, Some(reader))));
            }
            let mut end = BytesMut::new();
            reader.fields.write_without("model", &reader.boundary, &mut end);
            reader.boundary.write_end(&mut end);
            Ok(Some((end.freeze(), None)))
        })
    };
    reader.map_ok(pieces).try_flatten()
}

fn spooled(spool: Arc<Spool>) -> impl futures_util::Stream<Item = ApiResult<Bytes>> {
    stream::try_unfold((spool, 0), |(spool, place)| async move {
        if place == spool.bytes {
            return Ok(None);
        }
        let source = spool.clone();
        let piece = on_disk(move || {
            let left = usize::try_from(source.bytes - place).unwrap_or(usize::MAX);
            let mut piece = vec![0; left.min(PIECE_BYTES)];
            source.file.read_exact_at(&mut piece, place)?;
            Ok(Bytes::from(piece))
        });
        let piece = piece.await?;
        let place = place + piece.len() as u64;
        Ok(Some((piece, (spool, place))))
    })
}

impl FormReader {
    fn new(
        limits: &Limits,
        headers: &HeaderMap,
        body: Body,
        digest: Option<Sha256>,
    ) -> ApiResult<Self> {
        let body = ArrivingBody::new(limits, headers, body)?;
        let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let found = boundary(media_type)?.ok_or_else(ApiError::internal)?;
        Ok(Self {
            parts: multer::Multipart::new(body, found),
            file: None,
            fields: Form::default(),
            boundary: Boundary::new(),
            deadline: Instant::now() + limits.body_timeout,
            digest,
            first: None,
        })
    }

    /// The next piece of the files, with the heads of their parts; `None` at the end of the form.
    async fn next(&mut self) -> ApiResult<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        timeout_at(self.deadline, self.read()).await.map_err(|_| body::timed_out())?
    }

    async fn read(&mut self) -> ApiResult<Option<Bytes>> {
        loop {
            if let Some(file) = &mut self.file {
                let piece = file.chunk().await.map_err(|error| wrong(&error))?;
                if piece.is_none() {
                    self.file = None;
                }
                let piece = piece.unwrap_or(Bytes::from_static(b"\r\n"));
                self.note(&piece);
                return Ok(Some(piece));
            }
            let field = self.parts.next_field().await.map_err(|error| wrong(&error))?;
            let Some(mut field) = field else { return Ok(None) };
            let head = PartHead::of(&field);
            self.note(format!("{head:?}").as_bytes());
            if head.file_name.is_some() || head.name == "file" {
                let mut start = BytesMut::new();
                head.write(&self.boundary, &mut start);
                self.file = Some(field);
                return Ok(Some(start.freeze()));
            }
            let mut content = BytesMut::new();
            while let Some(piece) = field.chunk().await.map_err(|error| wrong(&error))? {
                if content.len() + piece.len() > MAX_FIELD_BYTES {
                    let message = format!("a field exceeds {MAX_FIELD_BYTES} bytes");
                    return Err(ApiError::invalid(head.name, message));
                }
                content.extend_from_slice(&piece);
            }
            self.note(&content);
            self.fields.push(head, content.freeze())?;
        }
    }

    /// Adds to the digest of the form.
    fn note(&mut self, content: &[u8]) {
        if let Some(digest) = &mut self.digest {
            digest.update(content);
        }
    }
}

impl Spool {
    async fn fill(reader: &mut FormReader) -> ApiResult<Self> {
        let mut spool = on_disk(|| Ok(Self { file: tempfile::tempfile()?, bytes: 0 })).await?;
        while let Some(piece) = reader.next().await? {
            spool = on_disk(move || {
                spool.file.write_all(&piece)?;
                spool.bytes += piece.len() as u64;
                Ok(spool)
            })
            .await?;
        }
        Ok(spool)
    }
}

/// Runs work on the temporary file on a blocking thread.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> ApiResult<T> {
    let result = spawn_blocking(work).await.map_err(|_| ApiError::internal())?;
    result.map_err(|error| {
        let folder = std::env::temp_dir();
        tracing::error!(error = %chain(&error), folder = %folder.display(), "upload not stored");
        let message = "the service cannot store uploads at the moment; nothing was charged";
        ApiError::new(Code::Unavailable, message)
    })
}

fn sent() -> ApiError {
    let message = "the provider failed during the upload; nothing was charged; send it again";
    ApiError::new(Code::UpstreamUnavailable, message)
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
