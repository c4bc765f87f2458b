//! Moves the log into the file, beside the thread that writes.
//!
//! SQLite would do it within whichever commit finds the log long, and that commit waits for the
//! disk. Here a thread with a connection of its own does it, which holds up nobody. Under constant
//! load it never reaches the log's end, so that the log would grow without end: when it is long,
//! the writer moves the short rest between two transactions, and begins the log anew. When more is
//! written than the thread can move, the writer waits for it.
//!
//! How long the log is, SQLite tells at every commit: what counts is what was written, not how many
//! rows.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use crate::backend::Result;

/// Pages by which the log grows until it is moved: 8 MiB.
const PAGES_BETWEEN: i64 = 2048;

/// Pages of the log from which on the writer has to help: 32 MiB.
const LONG_LOG_PAGES: i64 = 8192;

/// Pages of the log from which on nothing is written before it was moved: 64 MiB.
const MAX_LOG_PAGES: i64 = 16_384;

/// The log as the writer sees it.
pub(super) struct Log {
    /// How long it is, in pages: written at every commit.
    pages: Arc<AtomicI64>,
    /// How long it was when it was last moved.
    moved_at: i64,
    grew: SyncSender<()>,
    is_long: Arc<AtomicBool>,
    moving: Arc<Mutex<()>>,
}

/// The log as the thread sees it that moves it.
pub(super) struct Mover {
    grew: Receiver<()>,
    /// Whether it was long when it was last moved.
    is_long: Arc<AtomicBool>,
    /// Kept while it is moved.
    moving: Arc<Mutex<()>>,
}

/// Both.
pub(super) fn pair() -> (Log, Mover) {
    let (sender, grew) = std::sync::mpsc::sync_channel(1);
    let is_long = Arc::new(AtomicBool::new(false));
    let moving = Arc::default();
    let mover = Mover { grew, is_long: Arc::clone(&is_long), moving: Arc::clone(&moving) };
    (Log { pages: Arc::default(), moved_at: 0, grew: sender, is_long, moving }, mover)
}

impl Log {
    /// Has SQLite tell how long the log is after each commit of this connection.
    pub(super) fn watch(&self, connection: &mut Connection) -> Result<()> {
        let pages = Arc::clone(&self.pages);
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
            pages.store(i64::from(count), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(())
    }

    /// Has the log moved if it has grown by much, and moves what is left of a long one; between
    /// two transactions.
    pub(super) fn tend(&mut self, connection: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.moved_at {
            self.moved_at = 0;
        }
        if pages - self.moved_at >= PAGES_BETWEEN {
            self.moved_at = pages;
            // It may be at work already.
            let _ = self.grew.try_send(());
        }
        let is_long = self.is_long.swap(false, Ordering::Relaxed);
        if is_long || pages >= MAX_LOG_PAGES {
            let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever reads an old state keeps some of it: then the next one gets further.
            let _ = passive(connection);
        }
    }
}

impl Mover {
    /// Moves the log whenever it grew, until the writer is gone.
    pub(super) fn run(&self, connection: &Connection) {
        while self.grew.recv().is_ok() {
            // A full disk shows in the writer's own commits; the log is kept, and moved later.
            let moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
            let pages = passive(connection).unwrap_or(0);
            drop(moving);
            if pages >= LONG_LOG_PAGES {
                self.is_long.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Moves as much as can be moved without waiting for anybody; gives how long the log is, in pages.
fn passive(connection: &Connection) -> Result<i64> {
    let mut checkpoint = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
    Ok(checkpoint.query_row([], |row| row.get(1))?)
}
