//! The recorder: counts events in memory and puts them into the store in the background.
//!
//! Counting is one lock-free addition; it never blocks, never fails and never touches a file. A
//! thread of the recorder's own takes the counts once a second, or when asked, and stores them in
//! one transaction. While the store cannot be written the counts wait in memory. What cannot be
//! kept even there is itself counted, and [`Health`] and the store's summary show it.

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
use crate::store::{DEFAULT_RETENTION_DAYS, ErrorKind, Folder, NewId};
use cells::CellTable;
use routes::RouteTable;
use worker::{Request, Worker};

/// Counts wait at most this long before they are stored.
pub const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// How long a recorder that is dropped without [`Recorder::close`] may hold up its owner.
const DROP_WAIT: Duration = Duration::from_millis(500);

/// Requests that may wait for the background thread.
const MAX_REQUESTS: usize = 64;

/// What a recorder needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the store is.
    pub folder: Folder,
    /// What is counted on.
    pub resource: Resource,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What makes ids.
    pub new_id: NewId,
    /// How long counts may wait.
    pub flush_interval: Duration,
    /// How long packages are kept.
    pub retention_days: u32,
}

impl Settings {
    /// Settings with the default interval and retention.
    pub fn new(folder: Folder, resource: Resource, clock: Arc<dyn Clock>, new_id: NewId) -> Self {
        let (flush_interval, retention_days) = (FLUSH_INTERVAL, DEFAULT_RETENTION_DAYS);
        Settings { folder, resource, clock, new_id, flush_interval, retention_days }
    }
}

/// Whether what was counted is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// Everything counted before the call is in the store, or recording was turned off and
    /// nothing is to be kept.
    Stored,
    /// Not yet: the store is busy or broken, or time ran out. The counts are kept in memory.
    Waiting,
}

/// How the recorder is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Increments that wait in memory because the store could not take them.
    pub waiting: u64,
    /// Events that could not be kept and are not in the store's own count of them yet.
    pub lost: u64,
    /// Why the store could not be written last time; nothing if it could.
    pub trouble: Option<Trouble>,
}

/// Why the store could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What sort of trouble it is.
    pub kind: ErrorKind,
    /// In words.
    pub message: String,
}

/// Counts events. Clones count into the same store.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// Nothing while recording is off.
    inner: Option<Arc<Inner>>,
}

/// What callers and the background thread share.
#[derive(Debug)]
struct Shared {
    cells: CellTable,
    routes: RouteTable,
    active: AtomicBool,
    /// Whether the background thread knows that there is something to store.
    awake: AtomicBool,
    lost: AtomicU64,
    health: Mutex<Health>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    requests: SyncSender<Request>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Recorder {
    /// A recorder that counts into the store. Nothing is touched on disk by this call itself; the
    /// background thread opens the store.
    pub fn start(settings: Settings) -> Recorder {
        let shared = Arc::new(Shared {
            cells: CellTable::default(),
            routes: RouteTable::default(),
            active: AtomicBool::new(false),
            awake: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            health: Mutex::new(Health::default()),
        });
        let (requests, inbox) = mpsc::sync_channel(MAX_REQUESTS);
        let worker = Worker::new(settings, Arc::clone(&shared), inbox);
        let thread = std::thread::Builder::new().name("usage-metrics".to_owned());
        match thread.spawn(move || worker.run()) {
            Ok(thread) => Recorder {
                inner: Some(Arc::new(Inner { shared, requests, thread: Mutex::new(Some(thread)) })),
            },
            // A machine without room for a thread has other troubles: nothing is recorded.
            Err(_) => Recorder::off(),
        }
    }

    /// A recorder that counts nothing.
    pub fn off() -> Recorder {
        Recorder { inner: None }
    }

    /// Whether anything is recorded at all.
    pub fn is_on(&self) -> bool {
        self.inner.is_some()
    }

    /// Counts an event of a closed kind.
    #[inline]
    pub fn count<E: Event>(&self, event: &E) {
        if let Some(inner) = &self.inner {
            if !inner.shared.cells.add(Cell::of(event)) {
                inner.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
            inner.wake();
        }
    }

    /// Counts a logical model call by its raw identifiers; they are normalised here.
    #[inline]
    pub fn count_route(&self, model: &str, provider: &str) {
        if let Some(inner) = &self.inner {
            inner.shared.routes.add(model, provider);
            inner.wake();
        }
    }

    /// Says that the client is in use. Counted at most once in 24 hours over all processes.
    pub fn client_active(&self) {
        if let Some(inner) = &self.inner {
            inner.shared.active.store(true, Ordering::SeqCst);
            inner.wake();
        }
    }

    /// Stores what was counted so far, waiting for it no longer than `wait`.
    pub fn flush(&self, wait: Duration) -> Flushed {
        self.inner.as_ref().map_or(Flushed::Stored, |inner| inner.ask(Request::Flush, wait))
    }

    /// Stores what was counted so far and ends the background thread. Later events are not kept.
    pub fn close(&self, wait: Duration) -> Flushed {
        self.inner.as_ref().map_or(Flushed::Stored, |inner| inner.close(wait))
    }

    /// How the recorder is doing.
    pub fn health(&self) -> Health {
        let Some(inner) = &self.inner else {
            return Health::default();
        };
        let mut health = inner.shared.health().clone();
        health.lost += inner.shared.lost.load(Ordering::Relaxed);
        health
    }
}

impl Shared {
    fn health(&self) -> std::sync::MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Tells the background thread that there is something to store, unless it knows.
    ///
    /// The thread lowers the flag before it takes the counts. All four steps being in one order,
    /// whoever still sees the flag up has counted before the thread takes.
    #[inline]
    fn wake(&self) {
        if !self.shared.awake.load(Ordering::SeqCst) {
            self.wake_thread();
        }
    }

    #[cold]
    fn wake_thread(&self) {
        if !self.shared.awake.swap(true, Ordering::SeqCst) {
            // With a full inbox the thread is awake anyway.
            let _ = self.requests.try_send(Request::Wake);
        }
    }

    fn ask(&self, request: impl FnOnce(SyncSender<Flushed>) -> Request, wait: Duration) -> Flushed {
        let deadline = Instant::now() + wait;
        let (answer, answered) = mpsc::sync_channel(1);
        let mut request = request(answer);
        while let Err(mpsc::TrySendError::Full(returned)) = self.requests.try_send(request) {
            if Instant::now() >= deadline {
                return Flushed::Waiting;
            }
            std::thread::yield_now();
            request = returned;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        answered.recv_timeout(left).unwrap_or(Flushed::Waiting)
    }

    fn close(&self, wait: Duration) -> Flushed {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else {
            return Flushed::Stored;
        };
        let flushed = self.ask(Request::Close, wait);
        // A thread that is still at work holds nothing the caller needs.
        if thread.is_finished() || flushed == Flushed::Stored {
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
