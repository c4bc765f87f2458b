//! State of the limits that a request counts against.

use crate::BudgetStatus;

/// The state of the limits after a request was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitStatus {
    /// The rate limit of the key; `None` without one.
    pub rate: Option<RateLimitStatus>,
    /// The budget with the least left; `None` without one, and for a free request.
    pub budget: Option<BudgetStatus>,
}

/// Remaining rate limit of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// Requests per minute.
    pub limit: u32,
    /// Requests that are accepted now.
    pub remaining: u32,
    /// Time until `remaining` is back at `limit`.
    pub reset_micros: i64,
}
