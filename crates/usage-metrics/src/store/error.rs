//! What can go wrong with the store, sorted by what can be done about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// What went wrong, with its cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused.
    #[error("{}", describe(.0))]
    Sql(#[source] rusqlite::Error),
    /// A file could not be read or written.
    #[error("{} cannot be used", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store was written by a newer version; it is left as it is.
    #[error("the store has version {found}; this program knows version {known}")]
    Newer {
        /// Version of the store.
        found: i64,
        /// Version that this program writes.
        known: i64,
    },
    /// The file is no store, or is damaged.
    #[error("the store is damaged: {detail}")]
    Corrupt {
        /// What was seen.
        detail: String,
    },
    /// Another process keeps the store to itself.
    #[error("the store is in use by another process")]
    Busy,
    /// The folder was removed, as `off --purge` does.
    #[error("the store's folder is gone")]
    Gone,
    /// A person turned recording off.
    #[error("recording was turned off")]
    Stopped,
}

/// What sort of trouble it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Wait and try again.
    Busy,
    /// The disk is full.
    Full,
    /// The file system or the file is read-only.
    ReadOnly,
    /// The store must be set aside.
    Corrupt,
    /// Written by a newer version: hands off.
    Newer,
    /// The folder is gone: stop.
    Gone,
    /// Recording was turned off: stop.
    Stopped,
    /// Anything else.
    Other,
}

impl Error {
    /// What sort of trouble it is.
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
        // The journal's index could not be made larger: there is no room for it.
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
        ErrorKind::Corrupt => "the store is damaged",
        ErrorKind::Newer | ErrorKind::Gone | ErrorKind::Stopped | ErrorKind::Other => {
            "the store cannot be used"
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Error::Sql(error)
    }
}
