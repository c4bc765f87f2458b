//! Holds, the rules by which they end, and their receipts.

use std::borrow::Cow;
use std::sync::Arc;

use crate::{HoldId, IdempotencyKey, LimitStatus, LineageId, MemberId, Micros, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRequest {
    pub id: HoldId,
    /// The requester.
    pub member: MemberId,
    pub lineage: LineageId,
    pub amount: Micros,
    /// The operation of the price list.
    pub operation: Cow<'static, str>,
    pub model: Option<Arc<str>>,
    /// The process that ends the hold.
    pub owner: i64,
    pub lease_micros: i64,
    pub idempotency: Option<IdempotencyKey>,
}

/// A price that is reserved while the work is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub id: HoldId,
    pub member: MemberId,
    /// The account that pays: the member's, or that of the team when the hold was opened.
    pub payer: MemberId,
    pub lineage: LineageId,
    pub amount: Micros,
    pub operation: Cow<'static, str>,
    /// The requested model.
    pub model: Option<Arc<str>>,
    pub owner: i64,
    /// When the hold was opened; never before the budget windows in which it counts.
    pub since: Time,
    pub lease_until: Time,
    pub idempotency: Option<String>,
    /// The limits after this request; not stored.
    pub limits: LimitStatus,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldEnd {
    pub id: HoldId,
    /// The member of the hold. A hold of another member is not ended.
    pub member: MemberId,
    /// Decides whether the hold is charged.
    pub rule: ChargeRule,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    pub tokens: TokenCounts,
    /// The upstreams that were asked, in the form of the caller.
    pub attempts: Option<Arc<str>>,
    /// Whether the answer is stored for later requests with the same idempotency key.
    pub answered: bool,
}

impl HoldEnd {
    /// The end of a hold whose answer is not stored.
    pub fn new(id: HoldId, member: MemberId, rule: ChargeRule) -> Self {
        let (model, tokens, attempts) = (None, TokenCounts::default(), None);
        Self { id, member, rule, model, tokens, attempts, answered: false }
    }
}

/// Token counts that the upstream reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    pub input: Option<i64>,
    pub output: Option<i64>,
}

crate::named_enum! {
    /// Why a hold was charged or not. Chosen by [`EndReason::rule`] and stored in the receipt.
    pub enum ChargeRule {
        /// The answer was complete: charged.
        Answered = "answered",
        /// The client disconnected after the upstream had begun to answer: charged.
        ClientLeftLate = "client_left_late",
        /// The client disconnected before the upstream had begun to answer: not charged.
        ClientLeftEarly = "client_left_early",
        /// The member cancelled after the work had begun: charged.
        CancelledLate = "cancelled_late",
        /// The member cancelled before the work had begun: not charged.
        Cancelled = "cancelled",
        /// The answer reached the time limit of streams after it had content: charged.
        StreamLimit = "stream_limit",
        /// No upstream returned a complete answer: not charged.
        UpstreamFailed = "upstream_failed",
        /// The upstream rejected the request: not charged.
        RequestRefused = "request_refused",
        EmptyAnswer = "empty_answer",
        /// The service failed: not charged.
        OurFault = "our_fault",
        /// The lease ran out, as after a crash: not charged.
        Expired = "expired",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndReason {
    /// The answer reached its end.
    Complete,
    /// The client disconnected, or stopped reading for too long.
    ClientLeft,
    /// The member cancelled or deleted it.
    Cancelled,
    /// The answer reached the time limit of streams.
    StreamLimit,
    /// Every upstream failed, before or after its first byte.
    UpstreamFailed,
    /// The upstream rejected the request.
    RequestRefused,
    /// The service failed, or stopped before the end.
    ServiceFailed,
    /// The lease ran out before the hold was ended.
    LeaseOver,
}

/// Progress of the answer when the request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerProgress {
    /// No upstream had begun to answer; of a research job: no step had begun.
    Nothing,
    /// An upstream had begun to answer; of a research job: a step had begun.
    Begun,
    /// There was content, which the member has received or can read.
    Content,
}

impl EndReason {
    /// The charging table, documented in `docs/member-api.md`.
    ///
    /// **Invariant:** an ending caused by the member is charged once there is content; one caused
    /// by the upstream or the service never is.
    pub const fn rule(self, reached: AnswerProgress) -> ChargeRule {
        use AnswerProgress::{Begun, Content, Nothing};
        match (self, reached) {
            (Self::Complete, Content) => ChargeRule::Answered,
            (Self::Complete, Nothing | Begun) => ChargeRule::EmptyAnswer,
            (Self::ClientLeft, Begun | Content) => ChargeRule::ClientLeftLate,
            (Self::ClientLeft, Nothing) => ChargeRule::ClientLeftEarly,
            (Self::Cancelled, Begun | Content) => ChargeRule::CancelledLate,
            (Self::Cancelled, Nothing) => ChargeRule::Cancelled,
            (Self::StreamLimit, Content) => ChargeRule::StreamLimit,
            (Self::StreamLimit, Nothing | Begun) | (Self::UpstreamFailed, _) => {
                ChargeRule::UpstreamFailed
            }
            (Self::RequestRefused, _) => ChargeRule::RequestRefused,
            (Self::ServiceFailed, _) => ChargeRule::OurFault,
            (Self::LeaseOver, _) => ChargeRule::Expired,
        }
    }
}

crate::named_enum! {
    pub enum HoldOutcome {
        Settled = "settled",
        Released = "released",
        /// Not charged, because the lease ran out.
        Expired = "expired",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub id: HoldId,
    pub member: MemberId,
    /// The account that paid: the member's or a team's.
    pub payer: MemberId,
    pub lineage: LineageId,
    pub charged: Micros,
    pub rule: ChargeRule,
    pub operation: Cow<'static, str>,
    /// The model that answered, else the requested one.
    pub model: Option<Arc<str>>,
    pub tokens: TokenCounts,
    /// The upstreams that were asked, in the form of the caller.
    pub attempts: Option<Arc<str>>,
    /// When the hold was opened.
    pub since: Time,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndResult {
    Ended(Receipt),
    /// The hold had ended before and nothing changed; its receipt is in the store.
    AlreadyEnded,
}

impl Receipt {
    /// The accounts whose budgets count this request, each once.
    pub fn owners(&self) -> impl Iterator<Item = MemberId> {
        owners(self.member, self.payer)
    }
}

pub(crate) fn owners(member: MemberId, payer: MemberId) -> impl Iterator<Item = MemberId> {
    std::iter::once(member).chain((payer != member).then_some(payer))
}

impl ChargeRule {
    pub const fn outcome(self) -> HoldOutcome {
        match self {
            Self::Answered | Self::ClientLeftLate | Self::CancelledLate | Self::StreamLimit => {
                HoldOutcome::Settled
            }
            Self::Expired => HoldOutcome::Expired,
            _ => HoldOutcome::Released,
        }
    }
}

#[cfg(test)]
mod tests;
