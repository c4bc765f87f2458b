//! Where the state is kept, and how.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::Clock;

/// Where the state is kept.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseLocation {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL database, as a connection string; it may hold a password.
    Postgres(String),
}

/// How it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Connections to PostgreSQL besides the one that moves money; readers of SQLite.
    pub connections: usize,
    /// How long to wait for a connection or a lock.
    pub wait: Duration,
    /// Whether a commit outlives a power loss. Without it, it outlives only the process.
    pub power_loss_safe: bool,
    /// How long an idempotency key and its answer are remembered.
    pub repeats_kept: Duration,
    /// What time it is.
    pub clock: Clock,
}

impl StoreOptions {
    pub(crate) fn repeats_kept_micros(&self) -> i64 {
        i64::try_from(self.repeats_kept.as_micros()).unwrap_or(i64::MAX)
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            connections: 4,
            wait: Duration::from_secs(5),
            power_loss_safe: true,
            repeats_kept: Duration::from_hours(24),
            clock: Clock::system(),
        }
    }
}

/// What a database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// Nothing yet.
    Empty,
    /// An older schema that migrations bring up to date.
    Old(i64),
    /// The one this program knows.
    Current(i64),
    /// A newer one, or one that is not ours.
    Unknown(i64),
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

/// Passwords are not shown.
impl fmt::Debug for DatabaseLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => formatter.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => formatter.write_str("Postgres(…)"),
        }
    }
}
