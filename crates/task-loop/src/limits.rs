//! Limits of a task.

use std::time::Duration;

pub const DEFAULT_ROUNDS: u32 = 50;
pub const MAX_ROUNDS: u32 = 1000;
pub(crate) const DEFAULT_TIME: Duration = Duration::from_hours(1);
pub const MAX_TIME: Duration = Duration::from_hours(24);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub rounds: u32,
    pub time: Duration,
    /// Maximum cost, in micro-credits.
    pub micros: Option<i64>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { rounds: DEFAULT_ROUNDS, time: DEFAULT_TIME, micros: None }
    }
}
