//! Moves the log into the file, beside the thread that writes.
//!
//! SQLite would do it within whichever commit finds the log long, and that commit waits for the
//! disk. Here a thread with a connection of its own does it, which holds up nobody. Under constant
//! load it never reaches the log's end, so that the log would grow without end: when it is long,
//! the writer moves the short rest between two transactions, and begins the log anew.

use std::sync::mpsc::Receiver;

use rusqlite::Connection;
use tokio::sync::mpsc::WeakSender;

use super::writer::{Message, Writer};
use crate::backend::Result;

/// Rows after which the log is moved.
pub(super) const ROWS_BETWEEN: usize = 2000;

/// Pages of the log from which on the writer has to help: 32 MiB.
const LONG_LOG_PAGES: i64 = 8192;

/// Moves the log whenever it grew, until the writer is gone.
pub(super) fn run(connection: &Connection, grew: &Receiver<()>, writer: &WeakSender<Message>) {
    while grew.recv().is_ok() {
        // A full disk shows in the writer's own commits; the log is kept, and moved later.
        let pages = passive(connection).unwrap_or(0);
        if pages >= LONG_LOG_PAGES
            && let Some(writer) = writer.upgrade()
        {
            let _ = writer.try_send(Message::Task(Box::new(Writer::checkpoint)));
        }
    }
}

/// Moves as much as can be moved without waiting for anybody; gives how long the log is, in pages.
pub(super) fn passive(connection: &Connection) -> Result<i64> {
    let mut checkpoint = connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?;
    Ok(checkpoint.query_row([], |row| row.get(1))?)
}
