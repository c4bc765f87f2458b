//! Why a request may not go ahead.

use crate::{Micros, Repeated, Room};

/// Why there is no hold. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such member.
    #[error("the member is unknown")]
    UnknownMember,
    /// There is no such key, or it is another member's.
    #[error("the key is unknown")]
    UnknownLineage,
    /// The operator blocked the member.
    #[error("the member is blocked")]
    Blocked,
    /// The key's requests come too fast.
    #[error("the key's requests per minute are used up")]
    RateLimited {
        /// When the next one may come.
        retry_after_micros: i64,
        /// What is left.
        room: Room,
    },
    /// The key has as many requests running as it may.
    #[error("the key has {limit} requests running, as many as it may")]
    TooManyRunning {
        /// How many it may have.
        limit: u32,
    },
    /// The member has as many research jobs queued or running as it may.
    #[error("the member has {limit} research jobs queued or running, the limit")]
    TooManyJobs {
        /// How many it may have.
        limit: u32,
    },
    /// The key's spend limit does not cover the price.
    #[error("the key may spend {available} more, {needed} are needed")]
    KeyLimitReached {
        /// The price.
        needed: Micros,
        /// What the key may still spend.
        available: Micros,
    },
    /// The member's balance does not cover the price.
    #[error("{available} are available, {needed} are needed")]
    InsufficientBalance {
        /// The price.
        needed: Micros,
        /// What the member may still hold.
        available: Micros,
    },
    /// The idempotency key was seen before.
    #[error("the idempotency key was used before")]
    Repeated(Repeated),
    /// The reference of a transfer was used before, for another one.
    #[error("the reference was used before, with another {}", differing.join(" and another "))]
    ReferenceUsed {
        /// What differs: `kind`, `amount`, `reason`.
        differing: Vec<&'static str>,
    },
    /// The amount is negative, or so large that sums would not be exact.
    #[error("the amount is out of range")]
    AmountOutOfRange,
    /// The id of the hold was used before.
    #[error("the id of the hold was used before")]
    IdUsed,
}
