//! Maps errors of the driver and the server to errors of the store.

use std::error::Error as _;
use std::fmt;
use std::io;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{WasNull, WrongType};

use crate::Error;

/// Code and message of the server. Its details are left out, because they quote values of rows.
#[derive(Debug)]
struct ServerError {
    code: String,
    message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (SQLSTATE {})", self.message, self.code)
    }
}

impl std::error::Error for ServerError {}

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
        let constraint = server.constraint().map(str::to_owned);
        let source =
            Box::new(ServerError { code: code.to_owned(), message: server.message().to_owned() });
        match (code, &code[..code.len().min(2)]) {
            ("53100", _) => Error::Full(source),
            // Shutting down, starting, cancelled, locked, read-only after a failover, out of memory or
            // connections, an I/O error, or a conflict with other transactions.
            ("55P03" | "25006" | "25P03", _) | (_, "08" | "40" | "53" | "57" | "58") => {
                Error::Unavailable(source)
            }
            (_, "23") => Error::Damaged(constraint.unwrap_or_else(|| source.to_string())),
            (_, "XX") => Error::Damaged(source.to_string()),
            _ => Error::Refused(source),
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
pub(super) fn exists(what: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Error {
    move |error| match error.code() {
        Some(&SqlState::UNIQUE_VIOLATION) => Error::Exists(what),
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
