//! What SQLite's errors mean to the store.

use rusqlite::ErrorCode;

use crate::Error;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(error.into()),
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::OutOfMemory
                | ErrorCode::OperationInterrupted,
            ) => Self::Unavailable(error.into()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string())
            }
            Some(_) => Self::Refused(error.into()),
            // No code: a value is not of the type that the schema gives it.
            None => Self::Damaged(error.to_string()),
        }
    }
}

/// Whether a row was refused because one like it is there.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// A failure of the file system.
pub(super) fn of_files(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::StorageFull => Error::Full(error.into()),
        std::io::ErrorKind::AlreadyExists => Error::Exists("file"),
        _ => Error::Unavailable(error.into()),
    }
}

/// The same failure once more, for each of the jobs of one batch.
pub(super) fn again(error: &Error) -> Error {
    let words = || -> crate::error::Source {
        std::error::Error::source(error)
            .map_or_else(|| error.to_string(), ToString::to_string)
            .into()
    };
    match error {
        Error::Full(_) => Error::Full(words()),
        Error::Damaged(what) => Error::Damaged(what.clone()),
        Error::Refused(_) => Error::Refused(words()),
        Error::Closed => Error::Closed,
        _ => Error::Unavailable(words()),
    }
}
