//! Money as arithmetic: what a member has, what is held, what was charged, and what a key may do.
//!
//! Nothing here reads a clock, a file or the network, and nothing is a float. A [`Book`] is the
//! handful of rows that one transaction works on: the store puts the rows in, the laws of this
//! crate change them, and the store writes back what [`Book::take_changes`] names. The same laws
//! therefore hold on every database.
//!
//! The words: a *hold* sets a price aside before the work is done. It ends exactly once: *settled*
//! (the price becomes a posting), *released* or *expired* (nothing was charged). A *posting* moves
//! an amount from one account to another, so that the sum over all accounts is always zero. A
//! *lineage* is a key and all keys it was rotated into: they share one spend and one set of limits.

mod account;
mod book;
mod hold;
mod id;
mod lineage;
mod micros;
mod posting;
mod rate;
mod refusal;
mod repeat;
mod time;
mod transfer;

pub use account::{Account, Period, Usage};
pub use book::{Book, Changes};
pub use hold::{End, Ended, Ending, Hold, Outcome, Reached, Receipt, Rule, Tokens, Wanted};
pub use id::{HoldId, LineageId, MemberId};
pub use lineage::{Limits, Lineage};
pub use micros::Micros;
pub use posting::{House, Posting, PostingKind};
pub use rate::Room;
pub use refusal::Refusal;
pub use repeat::{IdempotencyKey, Repeat, Repeated};
pub use time::Time;
pub use transfer::{Posted, Transfer};
