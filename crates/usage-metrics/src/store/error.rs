//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}", describe(.0))]
    Sql(#[from] rusqlite::Error),
    #[error("cannot access {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The store was written by a newer version and is left unchanged.
    #[error("the store has version {found}; this program supports version {known}")]
    Newer { found: i64, known: i64 },
    #[error("the store is corrupt: {detail}")]
    Corrupt { detail: String },
    #[error("the store is in use by another process")]
    Busy,
    /// The folder was removed, as by `off --purge`.
    #[error("the store directory no longer exists")]
    Gone,
    #[error("recording is turned off")]
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    Busy,
    Full,
    ReadOnly,
    #[serde(rename = "damaged")]
    Corrupt,
    Newer,
    Gone,
    Stopped,
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
