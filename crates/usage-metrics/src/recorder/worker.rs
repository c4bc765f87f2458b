//! The background thread of a recorder: stores counts, packages completed days, and deletes old
//! data.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::pending::PendingCounts;
use super::{FlushResult, Settings, Shared};
use crate::clock::Day;
use crate::package::Counter;
use crate::store::{Error, ErrorKind, PackageScope, Store};

const MAX_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) enum Request {
    Wake,
    Flush(SyncSender<FlushResult>),
    Close(SyncSender<FlushResult>),
}

#[derive(Debug)]
pub(super) struct Worker {
    settings: Settings,
    shared: Arc<Shared>,
    inbox: Receiver<Request>,
    store: Option<Store>,
    pending: PendingCounts,
    /// The day for which daily maintenance has run.
    kept_house: Option<Day>,
    failures: u32,
    /// Whether the store existed: from then on, a missing folder was purged.
    opened: bool,
    /// Whether recording was turned off or the store purged.
    stopped: bool,
}

impl Worker {
    pub(super) fn new(settings: Settings, shared: Arc<Shared>, inbox: Receiver<Request>) -> Self {
        Worker {
            pending: PendingCounts::new(settings.resource.clone()),
            settings,
            shared,
            inbox,
            store: None,
            kept_house: None,
            failures: 0,
            opened: false,
            stopped: false,
        }
    }

    /// Runs until a close request, or until all recorders are dropped.
    pub(super) fn run(mut self) {
        self.open_first();
        loop {
            let request = self.next_request();
            let flushed = self.flush();
            // The caller may have stopped waiting.
            match request {
                Ok(Request::Wake) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Request::Flush(answer)) => _ = answer.try_send(flushed),
                Ok(Request::Close(answer)) => {
                    // The connection is closed before the reply, because the caller may remove the
                    // folder.
                    self.store = None;
                    _ = answer.try_send(flushed);
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The next request. A notification is delayed by the flush interval, so that a burst of events
    /// is stored at once; other requests come first.
    fn next_request(&self) -> Result<Request, RecvTimeoutError> {
        if self.failures > 0 && !self.stopped {
            return self.wait(self.pause());
        }
        match self.inbox.recv() {
            Ok(Request::Wake) => self.wait(self.settings.flush_interval),
            Ok(other) => Ok(other),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        }
    }

    fn wait(&self, pause: Duration) -> Result<Request, RecvTimeoutError> {
        let deadline = Instant::now() + pause;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(Request::Wake) => {}
                other => return other,
            }
        }
    }

    fn pause(&self) -> Duration {
        let doubled = 2_u32.saturating_pow(self.failures.saturating_sub(1));
        self.settings.flush_interval.saturating_mul(doubled).min(MAX_PAUSE)
    }

    /// Opens the store at start, so that the first flush is fast.
    fn open_first(&mut self) {
        let now = self.settings.clock.now();
        // Errors occur again, and are reported, when there is something to store.
        self.store = Store::open(&self.settings.folder, now, self.settings.new_id).ok();
        self.opened = self.store.is_some();
    }

    fn flush(&mut self) -> FlushResult {
        self.take_counts();
        let stored = if self.stopped { Ok(()) } else { self.store_pending() };
        match stored {
            Ok(()) if self.stopped => {}
            Ok(()) => {
                self.failures = 0;
                self.run_daily_maintenance();
            }
            Err(ErrorKind::Gone | ErrorKind::Stopped) => self.stopped = true,
            Err(_) => {
                self.failures = self.failures.saturating_add(1);
                return FlushResult::Pending;
            }
        }
        self.pending.clear();
        FlushResult::Stored
    }

    /// Takes the counts from the shared tables and assigns them to today.
    fn take_counts(&mut self) {
        // Events from here on notify the thread again.
        self.shared.awake.store(false, Ordering::SeqCst);
        let now = self.settings.clock.now();
        let pending = &mut self.pending;
        self.shared.cells.drain(|cell, count| pending.add(now, Counter::Cell(cell), count));
        self.shared.routes.drain(|counter, count| pending.add(now, counter, count));
        if self.shared.active.swap(false, Ordering::SeqCst) {
            pending.day(now).active = true;
        }
        let lost = self.shared.lost.swap(0, Ordering::AcqRel);
        if lost > 0 {
            let batch = pending.day(now);
            batch.lost = batch.lost.saturating_add(lost);
        }
    }

    fn store_pending(&mut self) -> Result<(), ErrorKind> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let result = self.add_pending();
        match result.map_err(|error| error.kind()) {
            // Reopening sets a damaged store aside and finds a replaced one.
            Err(ErrorKind::Corrupt) => {
                self.store = None;
                self.add_pending().map_err(|error| error.kind())
            }
            Err(kind)
                if !matches!(kind, ErrorKind::Busy | ErrorKind::Gone | ErrorKind::Stopped) =>
            {
                self.store = None;
                Err(kind)
            }
            result => result,
        }
    }

    fn add_pending(&mut self) -> Result<(), Error> {
        let store = match self.store.take() {
            Some(store) if store.is_current() => store,
            // Another process changed the file: it is reopened and checked.
            stale => {
                drop(stale);
                let now = self.settings.clock.now();
                let open = if self.opened { Store::reopen } else { Store::open };
                open(&self.settings.folder, now, self.settings.new_id)?
            }
        };
        self.opened = true;
        self.store.insert(store).add(self.pending.batches())
    }

    /// Packages completed days and deletes old data, once a day. Errors do not affect counting; the
    /// next attempt is tomorrow, or by the next process.
    fn run_daily_maintenance(&mut self) {
        let now = self.settings.clock.now();
        if self.kept_house == Some(now.day()) {
            return;
        }
        // Not on a store that was replaced or purged.
        let Some(store) = self.store.as_mut().filter(|store| store.is_current()) else { return };
        let done = store
            .package(PackageScope::Except(now.day()), now)
            .and_then(|_| store.write_outbox(now))
            .and_then(|_| store.prune(now, self.settings.retention_days));
        if done.is_ok() {
            self.kept_house = Some(now.day());
        }
    }
}
