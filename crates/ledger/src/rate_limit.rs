//! State of a key's rate limit.

/// How much of its rate limit a key has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// Requests per minute.
    pub limit: u32,
    /// Requests that are accepted now.
    pub remaining: u32,
    /// Time until `remaining` is back at `limit`.
    pub reset_micros: i64,
}
