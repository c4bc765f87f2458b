//! Maps errors of SQLite and of the file system to errors of the store.

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
            // No code: a value does not have the type of its column.
            None => Self::Damaged(error.to_string()),
        }
    }
}

/// Maps a violated unique constraint to [`Error::Exists`].
pub(super) fn exists(what: Option<&'static str>) -> impl FnOnce(rusqlite::Error) -> Error {
    move |error| match (what, error.sqlite_error_code()) {
        (Some(what), Some(ErrorCode::ConstraintViolation)) => Error::Exists(what),
        _ => error.into(),
    }
}

pub(super) fn file_error(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::StorageFull => Error::Full(error.into()),
        std::io::ErrorKind::AlreadyExists => Error::Exists("file"),
        _ => Error::Unavailable(error.into()),
    }
}
