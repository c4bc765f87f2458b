//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A database error.
    #[error("{}", describe(.0))]
    Sql(#[source] rusqlite::Error),
    /// A file could not be read or written.
    #[error("cannot access {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The store was written by a newer version and is left unchanged.
    #[error("the store has version {found}; this program supports version {known}")]
    Newer {
        /// The version of the store.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// The file is not a store, or is corrupt.
    #[error("the store is corrupt: {detail}")]
    Corrupt {
        /// What was found.
        detail: String,
    },
    /// Another process has locked the store.
    #[error("the store is in use by another process")]
    Busy,
    /// The folder was removed, as by `off --purge`.
    #[error("the store directory no longer exists")]
    Gone,
    /// Recording was turned off.
    #[error("recording is turned off")]
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Retry later.
    Busy,
    /// The disk is full.
    Full,
    /// The file system or the file is read-only.
    ReadOnly,
    /// The store is corrupt and must be set aside.
    Corrupt,
    /// Written by a newer version.
    Newer,
    /// The folder is gone: stop.
    Gone,
    /// Recording was turned off: stop.
    Stopped,
    /// Anything else.
    Other,
}

impl Error {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Busy => ErrorKind::Busy,
            Error::Corrupt { .. } => ErrorKind::Corrupt,
            Error::Newer { .. } => ErrorKind::Newer,
            Error::Gone => ErrorKind::Gone,
            Error::Stopped => ErrorKind::Stopped,
            Error::Io { source, .. } => io_kind(source),
            Error::Sql(error) => sql_kind(error),
        }
    }

    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Error::Io { path: path.to_owned(), source }
    }
}

fn io_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Full,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => ErrorKind::ReadOnly,
        _ => ErrorKind::Other,
    }
}

fn sql_kind(error: &rusqlite::Error) -> ErrorKind {
    match error.sqlite_error() {
        // The shared-memory file could not grow: the disk is full.
        Some(error) if error.extended_code == ffi::SQLITE_IOERR_SHMSIZE => ErrorKind::Full,
        Some(error) => match error.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ErrorKind::Busy,
            ErrorCode::DiskFull => ErrorKind::Full,
            ErrorCode::ReadOnly => ErrorKind::ReadOnly,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => ErrorKind::Corrupt,
            _ => ErrorKind::Other,
        },
        None => ErrorKind::Other,
    }
}

fn describe(error: &rusqlite::Error) -> &'static str {
    match sql_kind(error) {
        ErrorKind::Busy => "the store is in use by another process",
        ErrorKind::Full => "the disk is full",
        ErrorKind::ReadOnly => "the store is read-only",
        ErrorKind::Corrupt => "the store is corrupt",
        ErrorKind::Newer | ErrorKind::Gone | ErrorKind::Stopped | ErrorKind::Other => {
            "cannot access the store"
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Error::Sql(error)
    }
}
