//! How far a task may go.

use std::time::Duration;

/// The rounds of a task unless somebody says otherwise.
pub(crate) const DEFAULT_ROUNDS: u32 = 50;
/// The most rounds that can be asked for.
pub(crate) const MAX_ROUNDS: u32 = 1000;
/// The time of a task unless somebody says otherwise.
pub(crate) const DEFAULT_TIME: Duration = Duration::from_hours(1);
/// The most time that can be asked for.
pub(crate) const MAX_TIME: Duration = Duration::from_hours(24);

/// How far a task may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// How often the model is asked.
    pub(crate) rounds: u32,
    /// How long it may take.
    pub(crate) time: Duration,
    /// What it may cost, in micro-credits.
    pub(crate) micros: Option<i64>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { rounds: DEFAULT_ROUNDS, time: DEFAULT_TIME, micros: None }
    }
}
