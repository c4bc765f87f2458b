//! Maps errors of the driver and the server to errors of the store.

use std::error::Error as _;
use std::io;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{WasNull, WrongType};

use crate::Error;

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(server) = error.as_db_error() else {
            let is_value = error.source().is_some_and(|source| {
                source.downcast_ref::<WasNull>().is_some()
                    || source.downcast_ref::<WrongType>().is_some()
            });
            return if is_value {
                Error::Damaged(error.to_string())
            } else {
                Error::Unavailable(Box::new(error))
            };
        };
        let code = server.code().code();
        // Details of the server are left out, because they quote values of rows.
        let message = format!("{} (SQLSTATE {code})", server.message());
        match (code, &code[..code.len().min(2)]) {
            ("53100", _) => Error::Full(message.into()),
            // Shutting down, starting, cancelled, locked, read-only after a failover, out of memory or
            // connections, an I/O error, or a conflict with other transactions.
            ("55P03" | "25006" | "25P03", _) | (_, "08" | "40" | "53" | "57" | "58") => {
                Error::Unavailable(message.into())
            }
            (_, "23") => Error::Damaged(server.constraint().map_or(message, str::to_owned)),
            (_, "XX") => Error::Damaged(message),
            _ => Error::Refused(message.into()),
        }
    }
}

/// Whether the server rolled back because of concurrent transactions.
pub(super) fn is_conflict(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
        || code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// Maps a violated unique constraint to [`Error::Exists`].
pub(super) fn exists(what: Option<&'static str>) -> impl FnOnce(tokio_postgres::Error) -> Error {
    move |error| match (what, error.code()) {
        (Some(what), Some(&SqlState::UNIQUE_VIOLATION)) => Error::Exists(what),
        _ => error.into(),
    }
}

/// Maps a violated foreign key to [`Error::Missing`].
pub(super) fn missing(what: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Error {
    move |error| match error.code() {
        Some(&SqlState::FOREIGN_KEY_VIOLATION) => Error::Missing(what),
        _ => error.into(),
    }
}

pub(crate) fn timed_out() -> Error {
    Error::Unavailable(Box::new(io::Error::from(io::ErrorKind::TimedOut)))
}
