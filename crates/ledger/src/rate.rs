//! State of a rate limit.

/// How much of its rate a key has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Requests a minute.
    pub limit: u32,
    /// How many may come now.
    pub remaining: u32,
    /// When all of them may come again, from now.
    pub reset_micros: i64,
}
