//! Threads that serve connections.
//!
//! A connection stays on one thread, and with it its requests, the upstreams' connections that they use,
//! and all the memory of it. Threads that took work off each other would even out the load better, but
//! what one core has just touched would have to come to the other again and again.

use std::cell::Cell;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The most threads.
const MAX_LANES: usize = 256;

/// How often a lane looks up, even if there is nothing to do. A timer that ends later than the next one
/// costs little; one that would be the next wakes the thread by a system call, though it is awake.
const TICK: Duration = Duration::from_secs(1);

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of the lane whose thread this is; 0 on any other thread.
pub(crate) fn number() -> usize {
    NUMBER.get()
}

/// How many numbers there are: one for each core, and one for all other threads. It stays what it was
/// at first, though the machine may give more cores or fewer later.
pub(crate) fn numbers() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    (*CORES).min(MAX_LANES) + 1
}

/// All lanes. They end when this is dropped.
pub(crate) struct Lanes(Vec<Lane>);

/// One thread.
pub(crate) struct Lane {
    pub(crate) handle: Handle,
    connections: Arc<AtomicUsize>,
    /// The thread ends when nobody has this any more.
    _stop: oneshot::Sender<()>,
}

/// A connection of a lane, which counts as long as this is there.
pub(crate) struct Place(Arc<AtomicUsize>);

impl Lanes {
    pub(crate) fn start() -> io::Result<Self> {
        (1..numbers()).map(Lane::start).collect::<io::Result<_>>().map(Self)
    }

    /// The one with the fewest connections, and a place on it.
    pub(crate) fn take(&self) -> Option<(&Lane, Place)> {
        let lane = self.0.iter().min_by_key(|lane| lane.connections.load(Ordering::Relaxed))?;
        lane.connections.fetch_add(1, Ordering::Relaxed);
        Some((lane, Place(lane.connections.clone())))
    }
}

impl Lane {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new().name(format!("lane-{number}")).spawn(move || {
            NUMBER.set(number);
            runtime.block_on(async {
                // An error is that the sender is gone, which is how it ends.
                let mut stopped = pin!(stopped);
                while timeout(TICK, stopped.as_mut()).await.is_err() {}
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { handle, connections: Arc::default(), _stop: stop })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
