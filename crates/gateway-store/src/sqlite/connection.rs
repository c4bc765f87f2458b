//! Connections to the file: settings, and queries with cached statements.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Params};

use crate::error::Result;
use crate::row::{Read, Row};
use crate::{Error, StoreOptions};

/// Page caches of connections, in KiB. The operating system caches the file as well, so that a dropped
/// page costs a copy, not a disk read. A larger cache of the writer is slower: a commit that moved rows
/// between pages scans all of it.
const WRITER_CACHE_KIB: i32 = 4096;
const READER_CACHE_KIB: i32 = 512;
/// Prepared statements that a connection caches.
const MAX_PREPARED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionMode {
    ReadOnly,
    ReadWrite,
}

/// Opens an existing file.
///
/// Foreign keys are not enforced: this crate writes only rows that it has loaded in the same
/// transaction, and the check costs a lookup for every hold.
pub(super) fn open(
    path: &Path,
    mode: ConnectionMode,
    options: &StoreOptions,
) -> Result<Connection> {
    let access = match mode {
        ConnectionMode::ReadOnly => OpenFlags::SQLITE_OPEN_READ_ONLY,
        ConnectionMode::ReadWrite => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    // Only one thread at a time uses a connection, so SQLite needs no mutex.
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(options.timeout)?;
    connection.set_prepared_statement_cache_capacity(MAX_PREPARED);
    // Otherwise SQLite prepares a statement again for every bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    match mode {
        ConnectionMode::ReadOnly => {
            connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
        }
        ConnectionMode::ReadWrite => {
            connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
            let synchronous = if options.power_loss_safe { "FULL" } else { "NORMAL" };
            connection.pragma_update(None, "synchronous", synchronous)?;
            // Another thread runs checkpoints: see `checkpoint`.
            connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        }
    }
    Ok(connection)
}

pub(super) fn use_wal(connection: &Connection) -> Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode.eq_ignore_ascii_case("wal") {
        Ok(())
    } else {
        Err(Error::Unavailable(
            "the file system does not support the shared memory of write-ahead logging".into(),
        ))
    }
}

pub(super) trait ConnectionExt {
    /// Executes a statement; returns the number of changed rows.
    fn run(&self, sql: &str, values: impl Params) -> Result<usize>;

    /// Returns the first row of a query.
    fn row<T: Read>(&self, sql: &str, values: impl Params) -> Result<Option<T>>;

    fn rows<T: Read>(&self, sql: &str, values: impl Params) -> Result<Vec<T>>;
}

impl ConnectionExt for Connection {
    fn run(&self, sql: &str, values: impl Params) -> Result<usize> {
        Ok(self.prepare_cached(sql)?.execute(values)?)
    }

    fn row<T: Read>(&self, sql: &str, values: impl Params) -> Result<Option<T>> {
        let mut statement = self.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        rows.next()?.map(|row| T::read(&mut Row::from(row))).transpose()
    }

    fn rows<T: Read>(&self, sql: &str, values: impl Params) -> Result<Vec<T>> {
        let mut statement = self.prepare_cached(sql)?;
        statement.query_and_then(values, |row| T::read(&mut Row::from(row)))?.collect()
    }
}
