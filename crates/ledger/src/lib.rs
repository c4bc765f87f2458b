//! The rules of money: balances, holds, charges and limits, as pure functions on rows in memory.
//!
//! The crate reads no clock, file or network and uses no floats. A [`Book`] is the set of rows that
//! one transaction works on: the store adds the rows, the operations of this crate change them, and
//! the store writes what [`Book::take_changes`] returns. Every database therefore follows the same
//! rules.
//!
//! Terms: a *hold* reserves a price before the work is done. It ends exactly once: *settled* (the
//! price becomes a posting), *released* or *expired* (nothing is charged). A *posting* moves an
//! amount between two accounts, so that the sum over all accounts is always zero. A *lineage* is an
//! API key and all keys it was rotated into: they share one spend and one set of limits.
#![expect(missing_docs, reason = "the names of most items explain them")]

mod account;
mod book;
mod budget;
mod hold;
mod id;
mod idempotency;
mod limit_status;
mod lineage;
mod micros;
mod named_enum;
mod posting;
mod refusal;
mod time;
mod transfer;

pub use account::{Account, AccountKind, Usage, UsagePeriod};
pub use book::{Book, Changes};
pub use budget::{Budget, BudgetScope, BudgetStatus, BudgetUse, Period, Window, Windows};
pub use hold::{
    AnswerProgress, ChargeRule, EndReason, EndResult, Hold, HoldEnd, HoldOutcome, HoldRequest,
    Receipt, TokenCounts,
};
pub use id::{HoldId, LineageId, MemberId};
pub use idempotency::{IdempotencyConflict, IdempotencyKey, IdempotencyRecord};
pub use limit_status::{LimitStatus, RateLimitStatus};
pub use lineage::{Limits, Lineage};
pub use micros::Micros;
pub use posting::{HouseAccount, Posting, PostingKind};
pub use refusal::Refusal;
pub use time::Time;
pub use transfer::{Transfer, TransferResult};
