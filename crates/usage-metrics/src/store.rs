//! The durable store: counters by day in SQLite, and the outbox of packages made from them.
//!
//! Several processes may use one store at once. It owns its folder: the database, the outbox files,
//! and what had to be set aside. It does not decide whether anything may be recorded (that is
//! [`consent`](crate::consent)) and never sends anything.

mod counters;
mod drafts;
mod error;
mod files;
mod open;
mod outbox;
mod retention;
mod summary;

pub use counters::{ACTIVE_INTERVAL_MS, Batch};
pub use drafts::Scope;
pub use error::{Error, ErrorKind};
pub use files::Folder;
pub use outbox::{Holdings, StoredPackage};
pub use retention::{DEFAULT_RETENTION_DAYS, Pruned, RETENTION_DAYS};
pub use summary::{SetAsideRow, Summary};

use std::time::Duration;

use rusqlite::Connection;
use uuid::Uuid;

/// How long an operation waits for another process before it reports a busy store.
pub const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Makes a fresh random id; a parameter so that tests decide.
pub type NewId = fn() -> Uuid;

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    folder: Folder,
    /// The database file as this process last left it; nothing while it is gone.
    fingerprint: Option<files::Fingerprint>,
    new_id: NewId,
    /// Why the store could only be opened for reading.
    obstacle: Option<Error>,
}

impl Store {
    /// Refuses to begin writing where it is known to be impossible.
    fn writable(&mut self) -> Result<()> {
        self.obstacle.take().map_or(Ok(()), Err)
    }
}

type Result<T> = std::result::Result<T, Error>;
