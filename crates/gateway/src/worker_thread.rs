//! Worker threads that serve connections, each with its own single-threaded runtime.
//!
//! A connection stays on one thread, with its requests, the upstream connections that they use and
//! their memory. Work stealing would balance the load better, but would move hot cache lines
//! between cores.

use std::cell::Cell;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::timeout;

const MAX_WORKERS: usize = 256;

/// A timer that always runs. Registering a timer that ends after the next one is cheap; one that
/// would be the next costs a system call to wake the driver.
const TICK: Duration = Duration::from_secs(1);

thread_local! {
    static INDEX: Cell<usize> = const { Cell::new(0) };
}

/// The index of the worker that runs on this thread; 0 on any other thread.
pub(crate) fn index() -> usize {
    INDEX.get()
}

/// The number of indexes: one for each core, and 0 for all other threads. It is fixed at the first
/// call, though the machine may change its number of cores later.
pub(crate) fn count() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    (*CORES).min(MAX_WORKERS) + 1
}

/// All worker threads. They stop when this is dropped.
pub(crate) struct Workers(Vec<Worker>);

pub(crate) struct Worker {
    pub(crate) handle: Handle,
    connections: Arc<AtomicUsize>,
    /// Dropping it stops the thread.
    _stop: oneshot::Sender<()>,
}

/// Counts one connection of a worker until it is dropped.
pub(crate) struct ConnectionCount(Arc<AtomicUsize>);

impl Workers {
    pub(crate) fn start() -> io::Result<Self> {
        (1..count()).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// The worker with the fewest connections, with a new connection counted.
    pub(crate) fn least_loaded(&self) -> Option<(&Worker, ConnectionCount)> {
        let load = |worker: &&Worker| worker.connections.load(Ordering::Relaxed);
        let worker = self.0.iter().min_by_key(load)?;
        worker.connections.fetch_add(1, Ordering::Relaxed);
        Some((worker, ConnectionCount(worker.connections.clone())))
    }
}

impl Worker {
    fn start(index: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
            INDEX.set(index);
            runtime.block_on(async {
                // It ends with an error when the sender is dropped.
                let mut stopped = pin!(stopped);
                while timeout(TICK, stopped.as_mut()).await.is_err() {}
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, connections: Arc::default(), _stop: stop })
    }
}

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
