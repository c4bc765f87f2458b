//! Reasons to refuse a request or a transfer.

use crate::{AccountKind, BudgetStatus, IdempotencyConflict, Micros, RateLimitStatus};

/// Why a request or a transfer was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the member is unknown")]
    UnknownMember,
    /// The key does not exist, or belongs to another member.
    #[error("the key is unknown")]
    UnknownLineage,
    #[error("the member is blocked")]
    Blocked,
    #[error("the key's requests per minute are used up")]
    RateLimited {
        /// When the next request is accepted.
        retry_after_micros: i64,
        status: RateLimitStatus,
    },
    #[error("the key has {limit} requests running, as many as it may")]
    TooManyRunning { limit: u32 },
    #[error("the member has {limit} research jobs queued or running, the limit")]
    TooManyJobs { limit: u32 },
    /// The key's spend limit does not cover the price.
    #[error("the key may spend {available} more, {needed} are needed")]
    KeyLimitReached {
        needed: Micros,
        /// Remaining spend limit of the key.
        available: Micros,
    },
    #[error("{} are left of the budget, {needed} are needed", status.left())]
    BudgetReached { needed: Micros, status: BudgetStatus },
    /// The balance of the member or the team does not cover the price.
    #[error("{available} are available, {needed} are needed")]
    InsufficientBalance {
        needed: Micros,
        available: Micros,
        /// Whose balance.
        account: AccountKind,
    },
    #[error("the idempotency key was used before")]
    IdempotencyKeyUsed(IdempotencyConflict),
    #[error("the reference was used before, with another {}", differing.join(" and another "))]
    ReferenceUsed {
        /// The fields that differ: `kind`, `amount`, `reason`.
        differing: Vec<&'static str>,
    },
    /// The amount is negative, or so large that sums would not be exact.
    #[error("the amount is out of range")]
    AmountOutOfRange,
    #[error("the id of the hold was used before")]
    IdUsed,
}
