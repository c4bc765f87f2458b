//! Location of the database, options of a store, and its clock.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ledger::Time;

use crate::Calendar;

#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseLocation {
    Sqlite(PathBuf),
    /// A PostgreSQL database, as a connection string; it may hold a password.
    Postgres(String),
}

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Pooled connections to PostgreSQL besides the writer's; readers of SQLite.
    pub connections: usize,
    /// Timeout for connections, locks and statements.
    pub timeout: Duration,
    /// Whether commits survive a power loss, or only a crash of the process.
    pub power_loss_safe: bool,
    pub idempotency_retention: Duration,
    /// The clock of a SQLite store; PostgreSQL uses its own.
    pub clock: Clock,
    /// The calendar by which budgets reset.
    pub calendar: Calendar,
}

impl StoreOptions {
    pub(crate) fn idempotency_retention_micros(&self) -> i64 {
        i64::try_from(self.idempotency_retention.as_micros()).unwrap_or(i64::MAX)
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            connections: 4,
            timeout: Duration::from_secs(5),
            power_loss_safe: true,
            idempotency_retention: Duration::from_hours(24),
            clock: Clock::system(),
            calendar: Calendar::utc(),
        }
    }
}

/// Does not print passwords.
impl fmt::Debug for DatabaseLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => formatter.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => formatter.write_str("Postgres(…)"),
        }
    }
}

/// The clock of a SQLite store, which tests can move.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Time + Send + Sync>);

impl Clock {
    pub fn new(read: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
        })
    }

    pub fn now(&self) -> Time {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}
