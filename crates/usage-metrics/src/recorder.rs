//! The recorder: counts events in memory and stores them in the background.
//!
//! Counting is lock-free; it never blocks, never fails and never touches a file. A background
//! thread takes the counts once a second, or on request, and stores them in one transaction. While
//! the store cannot be written, the counts stay in memory. Lost events are counted too, and shown
//! by the summary of the store.

mod cells;
mod pending;
mod routes;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use cells::MAX_CELLS;
pub use pending::MAX_PENDING;
pub use routes::MAX_ROUTES;

use crate::catalogue::{Cell, Event};
use crate::clock::Clock;
use crate::package::Resource;
use crate::store::{DEFAULT_RETENTION_DAYS, NewId, StoreFolder};
use cells::CellTable;
use routes::RouteTable;
use worker::{Request, Worker};

/// Maximum delay before counts are stored.
pub const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum time that dropping a recorder without [`Recorder::close`] may block.
const DROP_WAIT: Duration = Duration::from_millis(500);

const MAX_REQUESTS: usize = 64;

#[derive(Debug, Clone)]
pub struct Settings {
    pub folder: StoreFolder,
    pub resource: Resource,
    pub clock: Arc<dyn Clock>,
    pub new_id: NewId,
    pub flush_interval: Duration,
    /// Retention of packages, in days.
    pub retention_days: u32,
}

impl Settings {
    pub fn new(
        folder: StoreFolder,
        resource: Resource,
        clock: Arc<dyn Clock>,
        new_id: NewId,
    ) -> Self {
        let (flush_interval, retention_days) = (FLUSH_INTERVAL, DEFAULT_RETENTION_DAYS);
        Settings { folder, resource, clock, new_id, flush_interval, retention_days }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushResult {
    /// All earlier counts are stored, or recording was turned off.
    Stored,
    /// The store is busy or broken, or the timeout expired. The counts stay in memory.
    Pending,
}

/// Counts events. Clones share one store.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// `None` if recording is off.
    inner: Option<Arc<Inner>>,
}

/// State that callers share with the background thread.
#[derive(Debug, Default)]
struct Shared {
    cells: CellTable,
    routes: RouteTable,
    active: AtomicBool,
    /// Whether the background thread was notified.
    awake: AtomicBool,
    lost: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    requests: SyncSender<Request>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Recorder {
    /// Starts a recorder. This call touches no file; the background thread opens the store.
    pub fn start(settings: Settings) -> Recorder {
        let shared = Arc::<Shared>::default();
        let (requests, inbox) = mpsc::sync_channel(MAX_REQUESTS);
        let worker = Worker::new(settings, Arc::clone(&shared), inbox);
        let thread = std::thread::Builder::new().name("usage-metrics".to_owned());
        match thread.spawn(move || worker.run()) {
            Ok(thread) => Recorder {
                inner: Some(Arc::new(Inner { shared, requests, thread: Mutex::new(Some(thread)) })),
            },
            // Without a thread nothing is recorded.
            Err(_) => Recorder::off(),
        }
    }

    pub fn off() -> Recorder {
        Recorder { inner: None }
    }

    pub fn is_on(&self) -> bool {
        self.inner.is_some()
    }

    #[inline]
    pub fn count<E: Event>(&self, event: &E) {
        if let Some(inner) = &self.inner {
            if !inner.shared.cells.add(Cell::of(event)) {
                inner.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
            inner.wake();
        }
    }

    /// Counts a logical model call by its raw identifiers, which are normalised here.
    #[inline]
    pub fn count_route(&self, model: &str, provider: &str) {
        if let Some(inner) = &self.inner {
            inner.shared.routes.add(model, provider);
            inner.wake();
        }
    }

    /// Records that the client is in use. Counted at most once in 24 hours over all processes.
    pub fn client_active(&self) {
        if let Some(inner) = &self.inner {
            inner.shared.active.store(true, Ordering::SeqCst);
            inner.wake();
        }
    }

    /// Stores the counts so far, up to the timeout.
    pub fn flush(&self, wait: Duration) -> FlushResult {
        self.inner.as_ref().map_or(FlushResult::Stored, |inner| inner.ask(Request::Flush, wait))
    }

    /// Stores the counts so far and stops the background thread. Later events are lost.
    pub fn close(&self, wait: Duration) -> FlushResult {
        self.inner.as_ref().map_or(FlushResult::Stored, |inner| inner.close(wait))
    }
}

impl Inner {
    /// Notifies the background thread, unless it was notified.
    ///
    /// The thread clears the flag before it takes the counts. All four steps are sequentially
    /// consistent, so a caller that still sees the flag set has counted before the thread takes.
    #[inline]
    fn wake(&self) {
        if !self.shared.awake.load(Ordering::SeqCst) {
            self.wake_thread();
        }
    }

    #[cold]
    fn wake_thread(&self) {
        if !self.shared.awake.swap(true, Ordering::SeqCst) {
            // With a full queue the thread is awake anyway.
            let _ = self.requests.try_send(Request::Wake);
        }
    }

    fn ask(
        &self,
        request: impl FnOnce(SyncSender<FlushResult>) -> Request,
        wait: Duration,
    ) -> FlushResult {
        let deadline = Instant::now() + wait;
        let (answer, answered) = mpsc::sync_channel(1);
        let mut request = request(answer);
        while let Err(mpsc::TrySendError::Full(returned)) = self.requests.try_send(request) {
            if Instant::now() >= deadline {
                return FlushResult::Pending;
            }
            std::thread::yield_now();
            request = returned;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        answered.recv_timeout(left).unwrap_or(FlushResult::Pending)
    }

    fn close(&self, wait: Duration) -> FlushResult {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return FlushResult::Stored };
        let flushed = self.ask(Request::Close, wait);
        // A thread that still works holds nothing that the caller needs.
        if thread.is_finished() || flushed == FlushResult::Stored {
            let _ = thread.join();
        }
        flushed
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close(DROP_WAIT);
    }
}
