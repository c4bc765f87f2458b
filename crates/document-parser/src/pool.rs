//! A pool of worker processes.
//!
//! Each job has a worker to itself. A worker that exceeds a limit, crashes or loses its caller during a
//! job is killed and never reused, so that no result reaches another caller.

mod owner_limits;
mod process;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::audio::AudioKind;
use crate::confine::{Confinement, Limits};
use crate::file::{self, FileFormat, FileText};
use crate::image::scale::{ImageLimits, ScaledImage};
use crate::job::{Job, Parsed};
use crate::media_type;
use crate::page::{Document, PageJob};
use crate::rejection::Rejection;

use self::owner_limits::OwnerLimits;
use self::process::{Worker, WorkerFailure};

/// Maximum wait for a worker.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Jobs after which a worker is replaced.
const MAX_JOBS: u32 = 256;
/// Memory after a job above which a worker is replaced.
const MAX_IDLE_BYTES: u64 = 96 * 1024 * 1024;

/// The program of a worker. It calls [`worker::run`](crate::worker::run).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerProgram {
    pub path: PathBuf,
    /// Arguments before those of the pool, which are the memory limit in bytes and the CPU time of a
    /// job in seconds.
    pub arguments: Vec<String>,
    /// The complete environment.
    pub environment: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The limit on elapsed time or CPU time was reached.
    #[error("parsing timed out")]
    TimedOut,
    /// The worker ended during the job: out of memory, killed, or crashed.
    #[error("parsing needs more memory than allowed or crashes the parser")]
    Crashed,
    #[error("all parsers are busy")]
    Busy,
    #[error("cannot start the parser")]
    Unavailable,
}

#[derive(Debug, Clone)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: WorkerProgram,
    limits: Limits,
    size: usize,
    /// The runtime of the pipes.
    runtime: Handle,
    slots: Semaphore,
    owner_limits: OwnerLimits,
    idle: Mutex<Vec<Worker>>,
}

impl Pool {
    /// Creates a pool of at most `size` workers, but at least two, which start on demand. The pipes
    /// belong to the current runtime.
    pub fn new(program: WorkerProgram, limits: Limits, size: usize) -> Self {
        let size = size.max(2);
        Self(Arc::new(Inner {
            program,
            limits,
            size,
            runtime: Handle::current(),
            slots: Semaphore::new(size),
            // One worker is always left for other owners.
            owner_limits: OwnerLimits::new(size - 1),
            idle: Mutex::default(),
        }))
    }

    pub fn has(&self, limits: Limits, size: usize) -> bool {
        (self.0.limits, self.0.size) == (limits, size.max(2))
    }

    /// Starts a worker in the background, so that the next job need not wait for its start.
    pub fn warm(&self) {
        let inner = self.0.clone();
        self.0.runtime.spawn(async move {
            if let Ok(worker) = Worker::start(&inner.program, &inner.limits).await {
                inner.release(worker);
            }
        });
    }

    /// Parses a page for an owner; `None` is the service.
    pub async fn page(
        &self,
        owner: Option<i64>,
        page: PageJob,
        bytes: &[u8],
    ) -> Result<Document, Error> {
        match self.run(owner, &Job::Page(page), bytes).await? {
            Parsed::Page(document) => Ok(document),
            _ => Err(Error::Crashed),
        }
    }

    /// Reads the text of a file of the service. Plain text needs no worker.
    pub fn file_blocking(&self, format: FileFormat, bytes: &[u8]) -> Result<FileText, Error> {
        if matches!(format, FileFormat::Text | FileFormat::Markdown) {
            return Ok(file::read(format, bytes)?);
        }
        match self.0.runtime.block_on(self.run(None, &Job::File(format), bytes))? {
            Parsed::File(text) => Ok(text),
            _ => Err(Error::Crashed),
        }
    }

    /// Returns the media type of an image that can be decoded.
    pub async fn image(&self, owner: Option<i64>, bytes: &[u8]) -> Result<&'static str, Error> {
        self.media(owner, &Job::Image, bytes).await
    }

    /// Scales down an image that exceeds the limits; `None` if it is within them.
    pub async fn scaled(
        &self,
        limits: ImageLimits,
        bytes: &[u8],
    ) -> Result<Option<ScaledImage>, Error> {
        match self.run(None, &Job::Scale(limits), bytes).await? {
            Parsed::Scaled(image) => Ok(image),
            _ => Err(Error::Crashed),
        }
    }

    /// Returns the media type of audio with at least one frame.
    pub async fn audio(
        &self,
        owner: Option<i64>,
        kind: AudioKind,
        bytes: &[u8],
    ) -> Result<&'static str, Error> {
        self.media(owner, &Job::Audio(kind), bytes).await
    }

    async fn media(
        &self,
        owner: Option<i64>,
        job: &Job,
        bytes: &[u8],
    ) -> Result<&'static str, Error> {
        match self.run(owner, job, bytes).await? {
            Parsed::Media(name) => media_type::of_media(&name).ok_or(Error::Crashed),
            _ => Err(Error::Crashed),
        }
    }

    /// Returns the confinement of a worker, which is started if none is idle.
    pub async fn confinement(&self) -> Result<Confinement, Error> {
        let worker = self.0.acquire().await?;
        let confinement = worker.confinement;
        self.0.release(worker);
        Ok(confinement)
    }

    async fn run(&self, owner: Option<i64>, job: &Job, bytes: &[u8]) -> Result<Parsed, Error> {
        let inner = &self.0;
        let waiting = async {
            let permit = inner.owner_limits.acquire(owner).await?;
            Some((permit, inner.slots.acquire().await.ok()?))
        };
        let _slot = timeout(MAX_WAIT, waiting).await.ok().flatten().ok_or(Error::Busy)?;
        match self.attempt(inner.acquire().await?, job, bytes).await {
            // This worker and the other idle ones may have been killed while idle.
            Err(WorkerFailure::Killed) => self.attempt(inner.start().await?, job, bytes).await,
            result => result,
        }
        .map_err(|failure| match failure {
            WorkerFailure::OutOfTime => Error::TimedOut,
            WorkerFailure::Killed | WorkerFailure::Crashed => Error::Crashed,
        })?
        .map_err(Error::Rejected)
    }

    async fn attempt(
        &self,
        mut worker: Worker,
        job: &Job,
        bytes: &[u8],
    ) -> Result<Result<Parsed, Rejection>, WorkerFailure> {
        let inner = &self.0;
        // Dropping the worker kills it, also if the caller is cancelled.
        let exchanged = timeout(inner.limits.wall, worker.exchange(job, bytes)).await;
        let exchanged = exchanged.unwrap_or(Err(WorkerFailure::OutOfTime));
        let is_reusable =
            exchanged.is_ok() && worker.jobs < MAX_JOBS && worker.resident_bytes() < MAX_IDLE_BYTES;
        if is_reusable {
            inner.release(worker);
        } else {
            self.replace(worker, exchanged.as_ref().err().copied());
        }
        exchanged
    }

    /// Kills a worker and starts another one for the next job.
    fn replace(&self, worker: Worker, reason: Option<WorkerFailure>) {
        tracing::debug!(?reason, pid = worker.id(), "parser worker replaced");
        drop(worker);
        self.warm();
    }
}

impl Inner {
    /// Returns an idle worker, or starts one.
    async fn acquire(&self) -> Result<Worker, Error> {
        loop {
            let known = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut worker) = known else { break };
            if worker.is_running() {
                return Ok(worker);
            }
        }
        self.start().await
    }

    async fn start(&self) -> Result<Worker, Error> {
        // On the runtime of the pool, which the pipes belong to.
        let (program, limits) = (self.program.clone(), self.limits);
        let starting = self.runtime.spawn(async move { Worker::start(&program, &limits).await });
        match starting.await {
            Ok(Ok(worker)) => Ok(worker),
            Ok(Err(error)) => {
                let program = self.program.path.display();
                tracing::error!(%program, %error, "parser worker failed to start");
                Err(Error::Unavailable)
            }
            Err(_) => Err(Error::Unavailable),
        }
    }

    fn release(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.size {
            idle.push(worker);
        }
    }
}
