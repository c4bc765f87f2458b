//! The background thread of a recorder: takes the counts, stores them, makes packages of days that
//! are over, and forgets what is old.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use super::pending::Pending;
use super::{Flushed, Settings, Shared, Trouble};
use crate::clock::Day;
use crate::package::Counter;
use crate::store::{Error, ErrorKind, Scope, Store};

/// Longest pause between two attempts at a store that cannot be written.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// What the thread is asked for.
#[derive(Debug)]
pub(super) enum Request {
    /// Something was counted.
    Wake,
    /// Store it now and say whether that worked.
    Flush(SyncSender<Flushed>),
    /// The same, then end.
    Close(SyncSender<Flushed>),
}

#[derive(Debug)]
pub(super) struct Worker {
    settings: Settings,
    shared: Arc<Shared>,
    inbox: Receiver<Request>,
    store: Option<Store>,
    pending: Pending,
    /// The day whose predecessors are packaged and whose old packages are forgotten.
    kept_house: Option<Day>,
    failures: u32,
    /// Whether the store was ever there: from then on, a folder that is gone was purged.
    opened: bool,
    /// Set when recording was turned off or the store purged: nothing is recorded any more.
    stopped: bool,
}

impl Worker {
    pub(super) fn new(settings: Settings, shared: Arc<Shared>, inbox: Receiver<Request>) -> Self {
        Worker {
            settings,
            shared,
            inbox,
            store: None,
            pending: Pending::default(),
            kept_house: None,
            failures: 0,
            opened: false,
            stopped: false,
        }
    }

    /// Works until it is asked to close or every recorder is gone.
    pub(super) fn run(mut self) {
        self.open_first();
        loop {
            let request = self.next_request();
            let flushed = self.flush();
            // Whoever asked may have stopped waiting for the answer.
            match request {
                Ok(Request::Wake) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Request::Flush(answer)) => _ = answer.try_send(flushed),
                Ok(Request::Close(answer)) => {
                    // The connection ends before the answer: the caller may remove the folder.
                    self.store = None;
                    _ = answer.try_send(flushed);
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// The next thing to do. A wake-up is held back for the flush interval, so that a burst of
    /// events is stored at once; what is asked for meanwhile comes first.
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

    /// Makes or opens the store at start, so that the first flush finds it ready.
    fn open_first(&mut self) {
        let now = self.settings.clock.now();
        // Trouble shows again, and is told, when there is something to store.
        self.store = Store::open(&self.settings.folder, now, self.settings.new_id).ok();
        self.opened = self.store.is_some();
    }

    fn flush(&mut self) -> Flushed {
        self.take_counts();
        if self.stopped {
            self.pending = Pending::default();
            return Flushed::Stored;
        }
        match self.store_pending() {
            Ok(()) => {
                self.failures = 0;
                self.report(None);
                self.keep_house();
                Flushed::Stored
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.stopped = matches!(error.kind(), ErrorKind::Gone | ErrorKind::Stopped);
                if self.stopped {
                    self.pending = Pending::default();
                }
                self.report(Some(&error));
                if self.stopped { Flushed::Stored } else { Flushed::Waiting }
            }
        }
    }

    /// Takes what was counted out of the shared tables; its day is today.
    fn take_counts(&mut self) {
        // Whoever counts from here on wakes the thread again.
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
            // Opened anew, a damaged store is set aside and a replaced one is found.
            self.store = None;
            if error.kind() == ErrorKind::Corrupt {
                result = self.current_store().and_then(|store| store.add(&batches));
            }
        }
        result?;
        self.pending = Pending::default();
        Ok(())
    }

    /// The store, opened and checked again if the file is not as this process left it.
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

    /// Once a day: packages the days that are over and forgets what is old. Trouble is no reason
    /// to hold up counting; it is tried again tomorrow, or by the next process.
    fn keep_house(&mut self) {
        let now = self.settings.clock.now();
        if self.kept_house == Some(now.day()) {
            return;
        }
        // Nothing is made of a store that was replaced or purged meanwhile.
        let Some(store) = self.store.as_mut().filter(|store| store.is_current()) else { return };
        let done = store
            .package(Scope::Except(now.day()), now)
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
            error.map(|error| Trouble { kind: error.kind(), message: error.to_string() });
    }
}
