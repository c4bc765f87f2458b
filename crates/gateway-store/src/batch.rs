//! Ledger operations that wait at the same time and become one transaction.
//!
//! A back end collects [`LedgerOperation`]s, loads the rows that they need, calls [`apply`], writes
//! the changes, commits, and then sends the replies. If the transaction fails, none of the operations
//! has happened: each is refused or retried.

use ledger::{
    Book, Changes, EndResult, Hold, HoldEnd, HoldId, HoldRequest, LineageId, MemberId, Posting,
    RateLimitStatus, Refusal, Time, Transfer, TransferResult,
};
use tokio::sync::oneshot;

use crate::{Actor, Calendar, Error, MediaRun, SavedAnswer, StoredResponse};

#[derive(Debug, Clone)]
pub struct NewHold {
    pub request: HoldRequest,
    /// A background response, queued in the same transaction.
    pub response: Option<StoredResponse>,
    /// The request that this one belongs to.
    pub parent: Option<HoldId>,
}

#[derive(Debug, Clone)]
pub struct HoldClosing {
    pub end: HoldEnd,
    /// The answer for later requests with the same idempotency key.
    pub answer: Option<SavedAnswer>,
    /// The response to insert or update, if the hold ends now.
    pub response: Option<StoredResponse>,
    /// The generated media to insert, if the hold ends now.
    pub media: Option<MediaRun>,
}

pub(crate) enum LedgerOperation {
    Open(Box<NewHold>, Reply<Result<Hold, Refusal>>),
    Close(Box<HoldClosing>, Reply<EndResult>),
    Admit(FreeRequest, Reply<Result<Option<RateLimitStatus>, Refusal>>),
    Post(Box<AuditedTransfer>, Reply<Result<TransferResult, Refusal>>),
}

/// A request that costs nothing but counts against the rate limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreeRequest {
    pub(crate) member: MemberId,
    pub(crate) lineage: LineageId,
}

#[derive(Debug, Clone)]
pub(crate) struct AuditedTransfer {
    pub(crate) transfer: Transfer,
    pub(crate) by: Actor,
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// The changes of a batch, and its operations, which wait for the commit.
#[derive(Default)]
pub(crate) struct AppliedBatch {
    pub(crate) changes: Changes,
    pub(crate) audited: Vec<(Posting, Actor)>,
    decided: Vec<DecidedOperation>,
}

enum DecidedOperation {
    Open(Box<NewHold>, Reply<Result<Hold, Refusal>>, Result<Hold, Refusal>),
    Close(Box<HoldClosing>, Reply<EndResult>, EndResult),
    Admit(
        FreeRequest,
        Reply<Result<Option<RateLimitStatus>, Refusal>>,
        Result<Option<RateLimitStatus>, Refusal>,
    ),
    Post(
        Box<AuditedTransfer>,
        Reply<Result<TransferResult, Refusal>>,
        Result<TransferResult, Refusal>,
    ),
}

impl std::fmt::Debug for AppliedBatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut output = formatter.debug_struct("AppliedBatch");
        output.field("changes", &self.changes).finish_non_exhaustive()
    }
}

pub(crate) fn apply(
    book: &mut Book,
    operations: impl IntoIterator<Item = LedgerOperation>,
    now: Time,
    calendar: &Calendar,
) -> AppliedBatch {
    let windows = calendar.windows(now);
    let mut applied = AppliedBatch::default();
    for operation in operations {
        applied.decided.push(match operation {
            LedgerOperation::Open(hold, reply) => {
                let result = book.hold(hold.request.clone(), now, &windows);
                DecidedOperation::Open(hold, reply, result)
            }
            LedgerOperation::Close(closing, reply) => {
                let result = book.end(closing.end.clone(), now);
                DecidedOperation::Close(closing, reply, result)
            }
            LedgerOperation::Admit(request, reply) => {
                DecidedOperation::Admit(request, reply, book.admit(request.lineage, now))
            }
            LedgerOperation::Post(audited, reply) => {
                let result = book.post(audited.transfer.clone(), now);
                if let Ok(TransferResult::Posted(posting)) = &result {
                    applied.audited.push((posting.clone(), audited.by.clone()));
                }
                DecidedOperation::Post(audited, reply, result)
            }
        });
    }
    applied.changes = book.take_changes();
    applied
}

impl AppliedBatch {
    fn closed(&self) -> impl Iterator<Item = &HoldClosing> {
        self.decided.iter().filter_map(|decided| match decided {
            DecidedOperation::Close(closing, _, EndResult::Ended(_)) => Some(&**closing),
            _ => None,
        })
    }

    pub(crate) fn answers(&self) -> impl Iterator<Item = (HoldId, &SavedAnswer)> {
        self.closed().filter_map(|closing| Some((closing.end.id, closing.answer.as_ref()?)))
    }

    pub(crate) fn responses(&self) -> impl Iterator<Item = &StoredResponse> {
        self.decided.iter().filter_map(|decided| match decided {
            DecidedOperation::Open(hold, _, Ok(_)) => hold.response.as_ref(),
            DecidedOperation::Close(closing, _, EndResult::Ended(_)) => closing.response.as_ref(),
            _ => None,
        })
    }

    /// Holds that were opened for another request, each with that request.
    pub(crate) fn sub_requests(&self) -> impl Iterator<Item = (HoldId, HoldId)> {
        self.decided.iter().filter_map(|decided| match decided {
            DecidedOperation::Open(new, _, Ok(hold)) => Some((hold.id, new.parent?)),
            _ => None,
        })
    }

    pub(crate) fn media(&self) -> impl Iterator<Item = &MediaRun> {
        self.closed().filter_map(|closing| closing.media.as_ref())
    }

    pub(crate) fn committed(self) {
        for decided in self.decided {
            // The caller may be gone; the transaction is valid all the same.
            match decided {
                DecidedOperation::Open(_, reply, result) => drop(reply.send(Ok(result))),
                DecidedOperation::Close(_, reply, result) => drop(reply.send(Ok(result))),
                DecidedOperation::Admit(_, reply, result) => drop(reply.send(Ok(result))),
                DecidedOperation::Post(_, reply, result) => drop(reply.send(Ok(result))),
            }
        }
    }

    /// The operations again, after a transaction that failed.
    pub(crate) fn into_operations(self) -> Vec<LedgerOperation> {
        let operation = |decided| match decided {
            DecidedOperation::Open(hold, reply, _) => LedgerOperation::Open(hold, reply),
            DecidedOperation::Close(closing, reply, _) => LedgerOperation::Close(closing, reply),
            DecidedOperation::Admit(request, reply, _) => LedgerOperation::Admit(request, reply),
            DecidedOperation::Post(audited, reply, _) => LedgerOperation::Post(audited, reply),
        };
        self.decided.into_iter().map(operation).collect()
    }
}

impl LedgerOperation {
    /// Bytes of the answers and responses that it stores.
    pub(crate) fn bytes(&self) -> usize {
        let (answer, response) = match self {
            Self::Open(hold, _) => (None, hold.response.as_ref()),
            Self::Close(closing, _) => (closing.answer.as_ref(), closing.response.as_ref()),
            Self::Admit(..) | Self::Post(..) => (None, None),
        };
        let response = response.map_or(0, |stored| stored.body.len() + stored.input.len());
        answer.map_or(0, |saved| saved.body.len()) + response
    }

    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Open(_, reply) => drop(reply.send(Err(error))),
            Self::Close(_, reply) => drop(reply.send(Err(error))),
            Self::Admit(_, reply) => drop(reply.send(Err(error))),
            Self::Post(_, reply) => drop(reply.send(Err(error))),
        }
    }
}
