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

/// Why a hold was charged or not. The receipt says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The answer was complete: charged.
    Answered,
    /// The client left after the first byte of the answer: charged.
    ClientLeftLate,
    /// The client left before the first byte of the answer: not charged.
    ClientLeftEarly,
    /// No upstream gave a complete answer: not charged.
    UpstreamFailed,
    /// The upstream said that the request is wrong: not charged.
    RequestRefused,
    /// The answer was empty: not charged.
    EmptyAnswer,
    /// It was cancelled by whoever asked: not charged.
    Cancelled,
    /// We failed: not charged.
    OurFault,
    /// Its lease ended, as after a crash: not charged.
    Expired,
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
    pub const ALL: [Self; 9] = [
        Self::Answered,
        Self::ClientLeftLate,
        Self::ClientLeftEarly,
        Self::UpstreamFailed,
        Self::RequestRefused,
        Self::EmptyAnswer,
        Self::Cancelled,
        Self::OurFault,
        Self::Expired,
    ];

    /// What it comes to.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Answered | Self::ClientLeftLate => Outcome::Settled,
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
            Self::UpstreamFailed => "upstream_failed",
            Self::RequestRefused => "request_refused",
            Self::EmptyAnswer => "empty_answer",
            Self::Cancelled => "cancelled",
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
