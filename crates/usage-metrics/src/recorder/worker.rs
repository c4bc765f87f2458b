//! The background thread of a recorder: stores counts, packages completed days, and deletes old
//! data.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::pending::PendingCounts;
use super::{FlushResult, Settings, Shared, StoreFailure};
use crate::clock::Day;
use crate::package::Counter;
use crate::store::{Error, ErrorKind, PackageScope, Store};

/// Maximum pause between attempts to write.
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
            settings,
            shared,
            inbox,
            store: None,
            pending: PendingCounts::default(),
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
        if self.stopped {
            self.pending = PendingCounts::default();
            return FlushResult::Stored;
        }
        match self.store_pending() {
            Ok(()) => {
                self.failures = 0;
                self.report(None);
                self.run_daily_maintenance();
                FlushResult::Stored
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.stopped = matches!(error.kind(), ErrorKind::Gone | ErrorKind::Stopped);
                if self.stopped {
                    self.pending = PendingCounts::default();
                }
                self.report(Some(&error));
                if self.stopped { FlushResult::Stored } else { FlushResult::Pending }
            }
        }
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
            pending.add_active(now);
        }
        pending.add_lost(self.shared.lost.swap(0, Ordering::AcqRel));
    }

    fn store_pending(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let now = self.settings.clock.now();
        let batches = self.pending.batches(now, &self.settings.resource);
        let mut result = self.current_store().and_then(|store| store.add(&batches));
        if let Err(error) = &result
            && !matches!(error.kind(), ErrorKind::Busy | ErrorKind::Gone | ErrorKind::Stopped)
        {
            // Reopening sets a damaged store aside and finds a replaced one.
            self.store = None;
            if error.kind() == ErrorKind::Corrupt {
                result = self.current_store().and_then(|store| store.add(&batches));
            }
        }
        result?;
        self.pending = PendingCounts::default();
        Ok(())
    }

    /// The store, reopened and checked if another process changed the file.
    fn current_store(&mut self) -> Result<&mut Store, Error> {
        let store = match self.store.take() {
            Some(store) if store.is_current() => store,
            stale => {
                drop(stale);
                let now = self.settings.clock.now();
                let open = if self.opened { Store::reopen } else { Store::open };
                open(&self.settings.folder, now, self.settings.new_id)?
            }
        };
        self.opened = true;
        Ok(self.store.insert(store))
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
        match done {
            Ok(_) => self.kept_house = Some(now.day()),
            Err(error) => self.report(Some(&error)),
        }
    }

    fn report(&self, error: Option<&Error>) {
        let mut health = self.shared.health();
        health.waiting = self.pending.increments();
        health.lost = self.pending.lost();
        health.trouble =
            error.map(|error| StoreFailure { kind: error.kind(), message: error.to_string() });
    }
}
