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
    Open(Box<Pending<NewHold, Result<Hold, Refusal>>>),
    Close(Box<Pending<HoldClosing, EndResult>>),
    Admit(Box<Pending<FreeRequest, Result<Option<RateLimitStatus>, Refusal>>>),
    Post(Box<Pending<AuditedTransfer, Result<TransferResult, Refusal>>>),
}

/// An operation whose caller waits for the commit.
pub(crate) struct Pending<O, T> {
    pub(crate) operation: O,
    reply: oneshot::Sender<Result<T, Error>>,
    /// The result, if the transaction is committed.
    result: Option<T>,
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

/// The changes of a batch, and its operations, which wait for the commit.
#[derive(Default)]
pub(crate) struct AppliedBatch {
    pub(crate) changes: Changes,
    pub(crate) audited: Vec<(Posting, Actor)>,
    operations: Vec<LedgerOperation>,
}

pub(crate) fn apply(
    book: &mut Book,
    mut operations: Vec<LedgerOperation>,
    now: Time,
    calendar: &Calendar,
) -> AppliedBatch {
    let windows = calendar.windows(now);
    let mut audited = Vec::new();
    for operation in &mut operations {
        match operation {
            LedgerOperation::Open(open) => {
                let request = open.operation.request.clone();
                open.result = Some(book.hold(request, now, &windows));
            }
            LedgerOperation::Close(close) => {
                close.result = Some(book.end(close.operation.end.clone(), now));
            }
            LedgerOperation::Admit(admit) => {
                admit.result = Some(book.admit(admit.operation.lineage, now));
            }
            LedgerOperation::Post(post) => {
                let result = book.post(post.operation.transfer.clone(), now);
                if let Ok(TransferResult::Posted(posting)) = &result {
                    audited.push((posting.clone(), post.operation.by.clone()));
                }
                post.result = Some(result);
            }
        }
    }
    AppliedBatch { changes: book.take_changes(), audited, operations }
}

impl AppliedBatch {
    fn opened(&self) -> impl Iterator<Item = &NewHold> {
        self.operations.iter().filter_map(LedgerOperation::opened)
    }

    fn closed(&self) -> impl Iterator<Item = &HoldClosing> {
        self.operations.iter().filter_map(LedgerOperation::closed)
    }

    pub(crate) fn answers(&self) -> impl Iterator<Item = (HoldId, &SavedAnswer)> {
        self.closed().filter_map(|closing| Some((closing.end.id, closing.answer.as_ref()?)))
    }

    pub(crate) fn responses(&self) -> impl Iterator<Item = &StoredResponse> {
        self.operations.iter().filter_map(|operation| {
            let opened = operation.opened().map(|hold| &hold.response);
            opened.or(operation.closed().map(|closing| &closing.response))?.as_ref()
        })
    }

    /// Holds that were opened for another request, each with that request.
    pub(crate) fn sub_requests(&self) -> impl Iterator<Item = (HoldId, HoldId)> {
        self.opened().filter_map(|hold| Some((hold.request.id, hold.parent?)))
    }

    pub(crate) fn media(&self) -> impl Iterator<Item = &MediaRun> {
        self.closed().filter_map(|closing| closing.media.as_ref())
    }

    /// Sends the results.
    pub(crate) fn committed(self) {
        self.operations.into_iter().for_each(|operation| operation.finish(None));
    }

    pub(crate) fn into_operations(self) -> Vec<LedgerOperation> {
        self.operations
    }
}

impl<O, T> Pending<O, T> {
    pub(crate) fn new(operation: O, reply: oneshot::Sender<Result<T, Error>>) -> Self {
        Self { operation, reply, result: None }
    }

    /// Replies with another result than that of the batch.
    pub(crate) fn reply(self, result: Result<T, Error>) {
        // The caller may be gone; the transaction is valid all the same.
        let _ = self.reply.send(result);
    }

    /// Replies with the result of the batch, or with the error that prevented it.
    fn finish(mut self, error: Option<Error>) {
        let result = self.result.take().map(Ok);
        if let Some(result) = error.map(Err).or(result) {
            self.reply(result);
        }
    }
}

impl LedgerOperation {
    /// Bytes of the answers and responses that it stores.
    pub(crate) fn bytes(&self) -> usize {
        let (answer, response) = match self {
            Self::Open(open) => (None, open.operation.response.as_ref()),
            Self::Close(close) => {
                (close.operation.answer.as_ref(), close.operation.response.as_ref())
            }
            Self::Admit(_) | Self::Post(_) => (None, None),
        };
        let response = response.map_or(0, |stored| stored.body.len() + stored.input.len());
        answer.map_or(0, |saved| saved.body.len()) + response
    }

    pub(crate) fn refuse(self, error: Error) {
        self.finish(Some(error));
    }

    fn finish(self, error: Option<Error>) {
        match self {
            Self::Open(open) => open.finish(error),
            Self::Close(close) => close.finish(error),
            Self::Admit(admit) => admit.finish(error),
            Self::Post(post) => post.finish(error),
        }
    }

    /// The hold that this operation has opened.
    fn opened(&self) -> Option<&NewHold> {
        match self {
            Self::Open(open) => matches!(open.result, Some(Ok(_))).then_some(&open.operation),
            _ => None,
        }
    }

    /// The hold that this operation has ended.
    fn closed(&self) -> Option<&HoldClosing> {
        match self {
            Self::Close(close) => {
                matches!(close.result, Some(EndResult::Ended(_))).then_some(&close.operation)
            }
            _ => None,
        }
    }
}
