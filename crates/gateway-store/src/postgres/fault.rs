//! What the driver and the server say, as errors of the store.

use std::error::Error as _;
use std::fmt;
use std::io;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::{WasNull, WrongType};

use crate::Error;

/// The server's code and message. Its details are left out: they quote the values of rows.
#[derive(Debug)]
struct Said {
    code: String,
    message: String,
}

impl fmt::Display for Said {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (SQLSTATE {})", self.message, self.code)
    }
}

impl std::error::Error for Said {}

/// Names what went wrong.
pub(super) fn fault(error: tokio_postgres::Error) -> Error {
    let Some(said) = error.as_db_error() else {
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
    let code = said.code().code();
    let constraint = said.constraint().map(str::to_owned);
    let source = Box::new(Said { code: code.to_owned(), message: said.message().to_owned() });
    match (code, &code[..code.len().min(2)]) {
        ("53100", _) => Error::Full(source),
        // Not available now: shutting down, starting, cancelled, locked, read-only after a change
        // of servers, out of memory or connections, an I/O error, a conflict that may pass.
        ("55P03" | "25006" | "25P03", _) | (_, "08" | "40" | "53" | "57" | "58") => {
            Error::Unavailable(source)
        }
        (_, "23") => Error::Damaged(constraint.unwrap_or_else(|| source.to_string())),
        (_, "XX") => Error::Damaged(source.to_string()),
        _ => Error::Refused(source),
    }
}

/// Whether the server undid the transaction only because of others that ran at the same time.
pub(super) fn is_conflict(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
        || code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// As [`fault`], where a row that exists already is the caller's mistake.
pub(super) fn exists(what: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Error {
    move |error| match error.code() {
        Some(&SqlState::UNIQUE_VIOLATION) => Error::Exists(what),
        _ => fault(error),
    }
}

/// As [`fault`], where a row that is referred to and is not there is the caller's mistake.
pub(super) fn missing(what: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Error {
    move |error| match error.code() {
        Some(&SqlState::FOREIGN_KEY_VIOLATION) => Error::Missing(what),
        _ => fault(error),
    }
}

/// The database did not answer in time.
pub(super) fn too_late() -> Error {
    Error::Unavailable(Box::new(io::Error::from(io::ErrorKind::TimedOut)))
}

/// An error as it can be told to several jobs.
pub(super) fn again(error: &Error) -> Error {
    let source = |source: &crate::error::Source| source.to_string().into();
    match error {
        Error::Full(said) => Error::Full(source(said)),
        Error::Refused(said) => Error::Refused(source(said)),
        Error::Damaged(what) => Error::Damaged(what.clone()),
        Error::Unavailable(said) => Error::Unavailable(source(said)),
        other => Error::Unavailable(other.to_string().into()),
    }
}
