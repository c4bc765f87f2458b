//! What can go wrong with the store.

use crate::location::SchemaState;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database cannot be reached, or not in time; nothing is known to have been written.
    #[error("the database is not available")]
    Unavailable(#[source] Source),
    /// There is no room for what had to be written; nothing was written.
    #[error("the disk of the database is full")]
    Full(#[source] Source),
    /// The database holds something this program does not know.
    #[error("the database holds a schema this program does not know: {0}")]
    Schema(SchemaState),
    /// The database has no schema yet, or an old one.
    #[error("the database must be migrated first: {0}")]
    NotMigrated(SchemaState),
    /// Another service has the database open.
    #[error("another process serves from this database")]
    InUse,
    /// What is asked about does not exist.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// What should be made exists.
    #[error("there is such a {0} already")]
    Exists(&'static str),
    /// The database holds what cannot be.
    #[error("the database holds what cannot be: {0}")]
    Damaged(String),
    /// The database refused what we asked.
    #[error("the database refused a request")]
    Refused(#[source] Source),
    /// Too many operations wait.
    #[error("too many operations wait for the database")]
    Busy,
    /// The store was closed.
    #[error("the store was closed")]
    Closed,
}

/// What a driver said.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// What callers decide by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Try again later: the database is away, full, busy.
    Temporary,
    /// Ask for something else.
    Caller,
    /// An operator has to look.
    Operator,
}

impl Error {
    /// What callers decide by.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) | Self::Full(_) | Self::Busy | Self::Closed => {
                ErrorKind::Temporary
            }
            Self::Missing(_) | Self::Exists(_) => ErrorKind::Caller,
            _ => ErrorKind::Operator,
        }
    }
}
