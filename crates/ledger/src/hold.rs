//! Holds, and the receipts they become.

use std::borrow::Cow;
use std::sync::Arc;

use crate::{IdempotencyKey, LineageId, MemberId, Micros, Room, Time};

use crate::id::HoldId;

/// What a request asks to have set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// A new id.
    pub id: HoldId,
    /// Whose money.
    pub member: MemberId,
    /// By which key.
    pub lineage: LineageId,
    /// The price.
    pub amount: Micros,
    /// What for: an operation of the price list.
    pub operation: Cow<'static, str>,
    /// The model that was asked for.
    pub model: Option<Arc<str>>,
    /// The process that will end it.
    pub owner: i64,
    /// How long it lives unless renewed.
    pub lease_micros: i64,
    /// The client's word for this request.
    pub idempotency: Option<IdempotencyKey>,
}

/// A price that is set aside while the work is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Its id.
    pub id: HoldId,
    /// Whose money.
    pub member: MemberId,
    /// By which key.
    pub lineage: LineageId,
    /// How much.
    pub amount: Micros,
    /// What for.
    pub operation: Cow<'static, str>,
    /// The model that was asked for.
    pub model: Option<Arc<str>>,
    /// The process that will end it.
    pub owner: i64,
    /// Since when.
    pub since: Time,
    /// Until when it lives unless renewed.
    pub lease_until: Time,
    /// The client's word for this request.
    pub idempotency: Option<String>,
    /// How much of its rate the key has left; not stored.
    pub room: Option<Room>,
}

/// How a hold ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Which hold.
    pub id: HoldId,
    /// Whose it is, as the hold said.
    pub member: MemberId,
    /// By which rule, which says whether it is charged.
    pub rule: Rule,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    /// What the answer counted.
    pub tokens: Tokens,
    /// Whether the answer is kept for whoever asks again; only with an idempotency key.
    pub answered: bool,
}

/// What an upstream counted, where it told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Of the prompt.
    pub input: Option<i64>,
    /// Of the answer.
    pub output: Option<i64>,
}

/// Why a hold was charged or not. The receipt names it; [`Ending::rule`] chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The answer was complete: charged.
    Answered,
    /// The client disconnected after the upstream had begun to answer: charged.
    ClientLeftLate,
    /// The client disconnected before the upstream had begun to answer: not charged.
    ClientLeftEarly,
    /// The member cancelled after the work had begun: charged.
    CancelledLate,
    /// The member cancelled before the work had begun: not charged.
    Cancelled,
    /// The answer reached the time limit of streams after it had content: charged.
    StreamLimit,
    /// No upstream gave a complete answer: not charged.
    UpstreamFailed,
    /// The upstream rejected the request: not charged.
    RequestRefused,
    /// The answer was empty: not charged.
    EmptyAnswer,
    /// The service failed: not charged.
    OurFault,
    /// The lease ran out, as after a crash: not charged.
    Expired,
}

/// What ended a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
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
    /// Nobody ended the hold before its lease ran out.
    LeaseOver,
}

/// How far the answer to a request had come when the request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reached {
    /// No upstream had begun to answer; of a research job: no step had begun.
    Nothing,
    /// An upstream had begun to answer; of a research job: a step had begun.
    Begun,
    /// There was content, which the member has received or can read.
    Content,
}

impl Ending {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Complete,
        Self::ClientLeft,
        Self::Cancelled,
        Self::StreamLimit,
        Self::UpstreamFailed,
        Self::RequestRefused,
        Self::ServiceFailed,
        Self::LeaseOver,
    ];

    /// The table that decides about money; `docs/member-api.md` shows it.
    ///
    /// **Invariant:** what the member brings about is charged once there is content; what the
    /// upstream or the service brings about never is.
    pub const fn rule(self, reached: Reached) -> Rule {
        use Reached::{Begun, Content, Nothing};
        match (self, reached) {
            (Self::Complete, Content) => Rule::Answered,
            (Self::Complete, Nothing | Begun) => Rule::EmptyAnswer,
            (Self::ClientLeft, Begun | Content) => Rule::ClientLeftLate,
            (Self::ClientLeft, Nothing) => Rule::ClientLeftEarly,
            (Self::Cancelled, Begun | Content) => Rule::CancelledLate,
            (Self::Cancelled, Nothing) => Rule::Cancelled,
            (Self::StreamLimit, Content) => Rule::StreamLimit,
            (Self::StreamLimit, Nothing | Begun) | (Self::UpstreamFailed, _) => {
                Rule::UpstreamFailed
            }
            (Self::RequestRefused, _) => Rule::RequestRefused,
            (Self::ServiceFailed, _) => Rule::OurFault,
            (Self::LeaseOver, _) => Rule::Expired,
        }
    }
}

impl Reached {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Begun, Self::Content];
}

/// How a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Charged.
    Settled,
    /// Not charged.
    Released,
    /// Not charged, because nobody ended it in time.
    Expired,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The id of the hold.
    pub id: HoldId,
    /// Whose money.
    pub member: MemberId,
    /// By which key.
    pub lineage: LineageId,
    /// What was charged.
    pub charged: Micros,
    /// By which rule.
    pub rule: Rule,
    /// What for.
    pub operation: Cow<'static, str>,
    /// The model that answered, else the one that was asked for.
    pub model: Option<Arc<str>>,
    /// What the answer counted.
    pub tokens: Tokens,
    /// When it began.
    pub since: Time,
    /// When it ended.
    pub at: Time,
}

/// What came of ending a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It ended now.
    Now(Receipt),
    /// It had ended before, and nothing was changed; the receipt is in the store.
    Before,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Answered,
        Self::ClientLeftLate,
        Self::ClientLeftEarly,
        Self::CancelledLate,
        Self::Cancelled,
        Self::StreamLimit,
        Self::UpstreamFailed,
        Self::RequestRefused,
        Self::EmptyAnswer,
        Self::OurFault,
        Self::Expired,
    ];

    /// What it comes to.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Answered | Self::ClientLeftLate | Self::CancelledLate | Self::StreamLimit => {
                Outcome::Settled
            }
            Self::Expired => Outcome::Expired,
            _ => Outcome::Released,
        }
    }

    /// As it is stored and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::ClientLeftLate => "client_left_late",
            Self::ClientLeftEarly => "client_left_early",
            Self::CancelledLate => "cancelled_late",
            Self::Cancelled => "cancelled",
            Self::StreamLimit => "stream_limit",
            Self::UpstreamFailed => "upstream_failed",
            Self::RequestRefused => "request_refused",
            Self::EmptyAnswer => "empty_answer",
            Self::OurFault => "our_fault",
            Self::Expired => "expired",
        }
    }

    /// Reads what [`Self::word`] gives.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.word() == word)
    }
}

impl Outcome {
    /// As it is shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Released => "released",
            Self::Expired => "expired",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_endings_with_content_are_charged() {
        for ending in [Ending::ClientLeft, Ending::Cancelled, Ending::StreamLimit] {
            assert_eq!(ending.rule(Reached::Content).outcome(), Outcome::Settled, "{ending:?}");
        }
    }

    #[test]
    fn failures_of_upstream_and_service_are_never_charged() {
        let faults = [
            Ending::UpstreamFailed,
            Ending::RequestRefused,
            Ending::ServiceFailed,
            Ending::LeaseOver,
        ];
        for (ending, reached) in faults.into_iter().flat_map(|e| Reached::ALL.map(|r| (e, r))) {
            assert_ne!(ending.rule(reached).outcome(), Outcome::Settled, "{ending:?} {reached:?}");
        }
    }

    #[test]
    fn nothing_is_charged_before_an_answer_begins() {
        for ending in Ending::ALL {
            assert_ne!(ending.rule(Reached::Nothing).outcome(), Outcome::Settled, "{ending:?}");
        }
    }

    #[test]
    fn every_rule_is_read_as_it_is_written() {
        for rule in Rule::ALL {
            assert_eq!(Rule::parse(rule.word()), Some(rule));
        }
    }
}
