//! Checkpoints of the write-ahead log, on a separate thread.
//!
//! SQLite's automatic checkpoint runs within a commit, which then waits for the disk. Here a thread
//! with a separate connection runs them. Under constant load it never reaches the end of the log, which
//! would grow forever: when the log is long, the writer moves the short rest between two transactions
//! and the log restarts. When the thread is too slow, the writer waits for it.
//!
//! SQLite reports the length of the log at every commit.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::error::Result;

/// Growth of the log between checkpoints, in pages: 24 MiB. A page that is written often moves once.
const CHECKPOINT_PAGES: i64 = 6144;
/// Length of the log at which the writer moves the rest: 48 MiB.
const LONG_LOG_PAGES: i64 = 12_288;
/// Length of the log at which the writer waits for a checkpoint: 64 MiB.
const MAX_LOG_PAGES: i64 = 16_384;

/// The writer's side: watches the length of the log and requests checkpoints.
pub(super) struct WalMonitor {
    /// The length after the last commit, in pages.
    pages: Arc<AtomicI64>,
    /// The length at the last request.
    requested_at: i64,
    requests: SyncSender<()>,
    is_long: Arc<AtomicBool>,
    running: Arc<Mutex<()>>,
}

/// The thread's side: runs checkpoints.
pub(super) struct Checkpointer {
    requests: Receiver<()>,
    /// Whether the log was long at the last checkpoint.
    is_long: Arc<AtomicBool>,
    /// Held during a checkpoint.
    running: Arc<Mutex<()>>,
}

pub(super) fn pair() -> (WalMonitor, Checkpointer) {
    let (sender, requests) = std::sync::mpsc::sync_channel(1);
    let is_long = Arc::new(AtomicBool::new(false));
    let running = Arc::default();
    let checkpointer =
        Checkpointer { requests, is_long: Arc::clone(&is_long), running: Arc::clone(&running) };
    let pages = Arc::default();
    (WalMonitor { pages, requested_at: 0, requests: sender, is_long, running }, checkpointer)
}

impl WalMonitor {
    /// Records the length of the log after each commit of this connection.
    pub(super) fn watch(&self, connection: &mut Connection) -> Result<()> {
        let pages = Arc::clone(&self.pages);
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
            pages.store(i64::from(count), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(())
    }

    /// Requests a checkpoint if the log has grown, and moves the rest of a long log. Called between
    /// two transactions.
    pub(super) fn checkpoint_if_needed(&mut self, connection: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.requested_at {
            self.requested_at = 0;
        }
        if pages - self.requested_at >= CHECKPOINT_PAGES {
            self.requested_at = pages;
            // A request may be pending already.
            let _ = self.requests.try_send(());
        }
        let is_long = self.is_long.swap(false, Ordering::Relaxed);
        if is_long || pages >= MAX_LOG_PAGES {
            let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            // A reader of an old snapshot keeps a part of the log; a later checkpoint moves it.
            let _ = run_passive_checkpoint(connection);
        }
    }
}

impl Checkpointer {
    /// Runs checkpoints on request, until the writer is dropped.
    pub(super) fn run(&self, connection: &Connection) {
        while self.requests.recv().is_ok() {
            // The writer's commits report a full disk; the log is kept and moved later.
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let pages = run_passive_checkpoint(connection).unwrap_or(0);
            drop(running);
            if pages >= LONG_LOG_PAGES {
                self.is_long.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Moves as much as possible without waiting; returns the length of the log in pages.
fn run_passive_checkpoint(connection: &Connection) -> Result<i64> {
    let mut checkpoint = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
    Ok(checkpoint.query_row([], |row| row.get(1))?)
}
