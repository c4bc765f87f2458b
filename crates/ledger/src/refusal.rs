//! Reasons to refuse a request or a transfer.

use crate::{AccountKind, BudgetStatus, IdempotencyConflict, Micros, RateLimitStatus};

/// Why a request or a transfer was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The member does not exist.
    #[error("the member is unknown")]
    UnknownMember,
    /// The key does not exist, or belongs to another member.
    #[error("the key is unknown")]
    UnknownLineage,
    /// The operator blocked the member.
    #[error("the member is blocked")]
    Blocked,
    /// The key's rate limit is exhausted.
    #[error("the key's requests per minute are used up")]
    RateLimited {
        /// When the next request is accepted.
        retry_after_micros: i64,
        /// The state of the limit.
        status: RateLimitStatus,
    },
    /// The key has reached its limit of concurrent requests.
    #[error("the key has {limit} requests running, as many as it may")]
    TooManyRunning {
        /// The limit.
        limit: u32,
    },
    /// The member has reached the limit of open research jobs.
    #[error("the member has {limit} research jobs queued or running, the limit")]
    TooManyJobs {
        /// The limit.
        limit: u32,
    },
    /// The key's spend limit does not cover the price.
    #[error("the key may spend {available} more, {needed} are needed")]
    KeyLimitReached {
        /// The price.
        needed: Micros,
        /// What the key can still spend.
        available: Micros,
    },
    /// A budget does not cover the price.
    #[error("{} are left of the budget, {needed} are needed", status.left())]
    BudgetReached {
        /// The price.
        needed: Micros,
        /// The budget.
        status: BudgetStatus,
    },
    /// The balance of the member or the team does not cover the price.
    #[error("{available} are available, {needed} are needed")]
    InsufficientBalance {
        /// The price.
        needed: Micros,
        /// The available balance.
        available: Micros,
        /// Whose balance.
        account: AccountKind,
    },
    /// The idempotency key was used before.
    #[error("the idempotency key was used before")]
    IdempotencyKeyUsed(IdempotencyConflict),
    /// Another transfer has the same reference.
    #[error("the reference was used before, with another {}", differing.join(" and another "))]
    ReferenceUsed {
        /// The fields that differ: `kind`, `amount`, `reason`.
        differing: Vec<&'static str>,
    },
    /// The amount is negative, or so large that sums would not be exact.
    #[error("the amount is out of range")]
    AmountOutOfRange,
    /// The id of the hold was used before.
    #[error("the id of the hold was used before")]
    IdUsed,
}
