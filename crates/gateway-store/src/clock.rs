//! What time it is, as the store is told.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ledger::Time;

/// What time it is. Tests hand in one that they move.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Time + Send + Sync>);

impl Clock {
    /// A clock that asks this.
    pub fn new(ask: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// The machine's.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
        })
    }

    /// Now.
    pub fn now(&self) -> Time {
        (self.0)()
    }
}

/// Two clocks are the same if one is a copy of the other.
impl PartialEq for Clock {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Clock {}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}
