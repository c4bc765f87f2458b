//! Errors of the store.

use std::fmt;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database cannot be reached in time. It is unknown whether anything was written.
    #[error("the database is not available")]
    Unavailable(#[source] Source),
    /// The disk is full; nothing was written.
    #[error("the disk of the database is full")]
    Full(#[source] Source),
    /// The schema is newer than this program, or not ours.
    #[error("unknown database schema: {0}")]
    Schema(SchemaState),
    /// The database has no schema yet, or an old one.
    #[error("the database must be migrated first: {0}")]
    NotMigrated(SchemaState),
    /// Another process serves from the database.
    #[error("another process is serving from this database")]
    InUse,
    #[error("no such {0}")]
    Missing(&'static str),
    #[error("this {0} already exists")]
    Exists(&'static str),
    /// The state of a row does not allow the change.
    #[error("{0}")]
    Conflict(&'static str),
    #[error("the database is corrupt: {0}")]
    Damaged(String),
    #[error("the database rejected a request")]
    Refused(#[source] Source),
    #[error("the database queue is full")]
    Busy,
    #[error("the database is closed")]
    Closed,
}

/// An error of a database driver.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Who can fix an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Retry later: the database is unavailable, full or busy.
    Temporary,
    /// The caller has to change the request.
    Caller,
    /// The operator has to act.
    Operator,
}

impl Error {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable(_) | Self::Full(_) | Self::Busy | Self::Closed => {
                ErrorKind::Temporary
            }
            Self::Missing(_) | Self::Exists(_) | Self::Conflict(_) => ErrorKind::Caller,
            _ => ErrorKind::Operator,
        }
    }

    /// A copy for each operation of a failed batch; sources become text.
    pub(crate) fn copy(&self) -> Self {
        let text = |source: &Source| source.to_string().into();
        match self {
            Self::Unavailable(source) => Self::Unavailable(text(source)),
            Self::Full(source) => Self::Full(text(source)),
            Self::Refused(source) => Self::Refused(text(source)),
            Self::Damaged(what) => Self::Damaged(what.clone()),
            Self::Closed => Self::Closed,
            other => Self::Unavailable(other.to_string().into()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    Empty,
    /// An older version that can be migrated.
    Old(i64),
    Current(i64),
    /// A newer version, or another program's schema.
    Unknown(i64),
}

impl SchemaState {
    /// The state of a schema that this program made.
    pub(crate) fn of(version: i64, migrations: usize) -> Self {
        let newest = i64::try_from(migrations).unwrap_or(i64::MAX);
        match version {
            version if version == newest => Self::Current(version),
            version if (1..newest).contains(&version) => Self::Old(version),
            version => Self::Unknown(version),
        }
    }

    pub(crate) fn require_current(self) -> Result<()> {
        match self {
            Self::Current(_) => Ok(()),
            Self::Empty | Self::Old(_) => Err(Error::NotMigrated(self)),
            Self::Unknown(_) => Err(Error::Schema(self)),
        }
    }
}

impl fmt::Display for SchemaState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("it is empty"),
            Self::Current(version) => write!(formatter, "it has the current version {version}"),
            Self::Old(version) | Self::Unknown(version) => {
                write!(formatter, "it has version {version}")
            }
        }
    }
}
