//! The durable store: counters by day in SQLite, and the outbox of packages.
//!
//! Several processes may use one store. It owns its folder: the database, the outbox, and stores
//! that were set aside. It does not decide whether anything may be recorded (see
//! [`consent`](crate::consent)) and never sends anything.

mod counters;
mod drafts;
mod error;
mod folder;
mod open;
mod outbox;
mod summary;

pub use counters::{ACTIVE_INTERVAL_MS, CounterBatch};
pub use drafts::PackageScope;
pub use error::{Error, ErrorKind};
pub use folder::StoreFolder;
pub use outbox::{DEFAULT_RETENTION_DAYS, Pruned, RETENTION_DAYS, StoreContents, StoredPackage};
pub use summary::{RejectedCounter, Summary};

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::FromSql;
use uuid::Uuid;

/// Maximum wait of an operation for another process before the store is busy.
pub const BUSY_WAIT: Duration = Duration::from_secs(5);

pub type NewId = fn() -> Uuid;

#[derive(Debug)]
pub struct Store {
    connection: Connection,
    folder: StoreFolder,
    /// The state of the database file after the last access; `None` if it does not exist.
    fingerprint: Option<folder::Fingerprint>,
    new_id: NewId,
    obstacle: Option<Error>,
}

impl Store {
    fn writable(&mut self) -> Result<()> {
        self.obstacle.take().map_or(Ok(()), Err)
    }
}

/// A value of the table `state` that every store has.
fn state<T: FromSql>(connection: &Connection, key: &str) -> Result<T> {
    let sql = "SELECT value FROM state WHERE key = ?1";
    Ok(connection.query_row(sql, [key], |row| row.get(0))?)
}

type Result<T> = std::result::Result<T, Error>;
