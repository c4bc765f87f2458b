//! Worker processes that are kept running, and the jobs they get.
//!
//! A job has one worker to itself. A worker that exceeds a limit, dies or is abandoned in the
//! middle of a job is killed and never gets another one, so that no answer reaches the wrong
//! caller.

mod process;
mod share;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::audio::AudioKind;
use crate::confine::{Confinement, Limits};
use crate::file::{self, FileFormat, FileText};
use crate::job::{Job, Parsed};
use crate::page::{Document, PageJob};
use crate::rejection::Rejection;

use self::process::{Ended, Worker};
use self::share::Shares;

/// How long a job may wait for a worker.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// A worker is replaced after so many jobs.
const MAX_JOBS: u32 = 256;
/// A worker that keeps more memory than this after a job is replaced.
const MAX_IDLE_BYTES: u64 = 96 * 1024 * 1024;

/// The program that is started as a worker; it calls [`worker::run`](crate::worker::run).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// The arguments before those of the pool: the memory limit in bytes and the CPU time of a
    /// job in seconds.
    pub arguments: Vec<String>,
    /// All of its environment.
    pub environment: Vec<(String, String)>,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The document cannot be used.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The limit on elapsed time or CPU time was reached.
    #[error("it takes too long to parse")]
    TimedOut,
    /// The worker ended in the middle of the job: out of memory, killed, or crashed.
    #[error("it needs more memory than allowed or crashes the parser")]
    Crashed,
    /// All workers are busy.
    #[error("all parsers are busy")]
    Busy,
    /// No worker can be started.
    #[error("the parser cannot be started")]
    Unavailable,
}

/// Worker processes. Clones share them.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: Program,
    limits: Limits,
    size: usize,
    /// Where the pipes of the workers are waited for.
    runtime: Handle,
    slots: Semaphore,
    shares: Shares,
    idle: Mutex<Vec<Worker>>,
}

impl Pool {
    /// A pool of at most `size` workers, at least two. None is started before there is a job.
    /// The pipes belong to the runtime that this is called on.
    pub fn new(program: Program, limits: Limits, size: usize) -> Self {
        let size = size.max(2);
        Self(Arc::new(Inner {
            program,
            limits,
            size,
            runtime: Handle::current(),
            slots: Semaphore::new(size),
            // One slot is always left for the others.
            shares: Shares::new(size - 1),
            idle: Mutex::default(),
        }))
    }

    /// Parses a page for an owner; `None` is the service itself.
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

    /// Reads the text of a file of the service, and blocks until it is read. Plain text needs no
    /// parser.
    pub fn file_blocking(&self, format: FileFormat, bytes: &[u8]) -> Result<FileText, Error> {
        if matches!(format, FileFormat::Text | FileFormat::Markdown) {
            return Ok(file::read(format, bytes)?);
        }
        match self.0.runtime.block_on(self.run(None, &Job::File(format), bytes))? {
            Parsed::File(text) => Ok(text),
            _ => Err(Error::Crashed),
        }
    }

    /// The media type of an image that can be decoded.
    pub async fn image(&self, owner: Option<i64>, bytes: &[u8]) -> Result<&'static str, Error> {
        self.media(owner, &Job::Image, bytes).await
    }

    /// The media type of audio that has at least one frame.
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
            Parsed::Media(media_type) => Ok(media_type),
            _ => Err(Error::Crashed),
        }
    }

    /// The confinement of a worker, which is started if none is running.
    pub async fn confinement(&self) -> Result<Confinement, Error> {
        let worker = self.0.checkout().await?;
        let confinement = worker.confinement();
        self.0.give_back(worker);
        Ok(confinement)
    }

    async fn run(&self, owner: Option<i64>, job: &Job, bytes: &[u8]) -> Result<Parsed, Error> {
        let inner = &self.0;
        let waiting = async {
            let share = inner.shares.take(owner).await?;
            Some((share, inner.slots.acquire().await.ok()?))
        };
        let _slot = timeout(MAX_WAIT, waiting).await.ok().flatten().ok_or(Error::Busy)?;
        match self.attempt(job, bytes).await {
            // It may have been killed while it was idle.
            Err(Ended::Killed) => self.attempt(job, bytes).await,
            ended => ended,
        }
        .map_err(|ended| match ended {
            Ended::OutOfTime => Error::TimedOut,
            Ended::NotStarted => Error::Unavailable,
            Ended::Killed | Ended::Died => Error::Crashed,
        })?
        .map_err(Error::Rejected)
    }

    async fn attempt(&self, job: &Job, bytes: &[u8]) -> Result<Result<Parsed, Rejection>, Ended> {
        let inner = &self.0;
        let mut worker = inner.checkout().await.map_err(|_| Ended::NotStarted)?;
        // Dropping the worker kills it, also when nobody waits for the result any more.
        let exchanged = timeout(inner.limits.wall, worker.exchange(job, bytes)).await;
        let exchanged = exchanged.unwrap_or(Err(Ended::OutOfTime));
        let is_reusable = exchanged.is_ok()
            && worker.jobs() < MAX_JOBS
            && worker.resident_bytes() < MAX_IDLE_BYTES;
        if is_reusable {
            inner.give_back(worker);
        } else {
            self.replace(worker, exchanged.as_ref().err().copied());
        }
        exchanged
    }

    /// Ends a worker and starts another one, which the next job finds ready.
    fn replace(&self, worker: Worker, reason: Option<Ended>) {
        tracing::debug!(?reason, pid = worker.id(), "parser worker replaced");
        drop(worker);
        let inner = self.0.clone();
        self.0.runtime.spawn(async move {
            if let Ok(worker) = Worker::start(&inner.program, &inner.limits).await {
                inner.give_back(worker);
            }
        });
    }
}

impl Inner {
    /// A worker that runs, or a new one.
    async fn checkout(&self) -> Result<Worker, Error> {
        loop {
            let known = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut worker) = known else { break };
            if worker.is_running() {
                return Ok(worker);
            }
        }
        // Elsewhere, because the pipes belong to the runtime on which they are opened.
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

    fn give_back(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.size {
            idle.push(worker);
        }
    }
}
