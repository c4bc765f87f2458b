//! Connections to the file, and how they are set.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreOptions;
use crate::backend::Result;

/// What a connection may keep of the file in memory, in KiB. The system keeps the file as well, so
/// that a page we dropped costs a copy, not a read from the disk. More is not better for the writer: a
/// commit looks through all that could be kept, whenever rows were moved between pages.
const WRITER_CACHE_KIB: i32 = 4096;
const READER_CACHE_KIB: i32 = 512;

/// Statements a connection keeps prepared.
const MAX_PREPARED: usize = 64;

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Reads,
    Writes,
}

/// Opens a file that is there.
///
/// Foreign keys are not enforced: rows are only ever written by this crate from rows it has loaded
/// in the same transaction, and the check costs a lookup for every hold.
pub(super) fn open(path: &Path, role: Role, options: &StoreOptions) -> Result<Connection> {
    let access = match role {
        Role::Reads => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Role::Writes => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // One thread at a time has a connection: SQLite need not lock it.
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(options.wait)?;
    connection.set_prepared_statement_cache_capacity(MAX_PREPARED);
    // Else SQLite plans a statement anew for every value that it is asked with.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    match role {
        Role::Reads => connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?,
        Role::Writes => {
            connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
            let synchronous = if options.power_loss_safe { "FULL" } else { "NORMAL" };
            connection.pragma_update(None, "synchronous", synchronous)?;
            // Another thread moves the log into the file: see `checkpoint`.
            connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        }
    }
    Ok(connection)
}

/// Whether the log is kept beside the file: it is, once it was migrated.
pub(super) fn use_log(connection: &Connection) -> Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode.eq_ignore_ascii_case("wal") {
        Ok(())
    } else {
        Err(crate::Error::Unavailable("the file system has no shared memory for the log".into()))
    }
}
