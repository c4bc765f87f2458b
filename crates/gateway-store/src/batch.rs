//! Operations on money that wait at the same time become one transaction.
//!
//! A back end collects [`LedgerOperation`]s, loads the rows that they name, lets [`apply`] decide, writes what
//! came of it, commits, and only then sends the replies. When the transaction fails, nothing has
//! happened: every job is told so, or tried again.

use ledger::{
    Book, Changes, EndResult, Hold, HoldEnd, HoldId, HoldRequest, LineageId, MemberId, Posting,
    RateLimitStatus, Refusal, Time, Transfer, TransferResult,
};
use tokio::sync::oneshot;

use crate::{Actor, Error, MediaRun, SavedAnswer, StoredResponse};

/// A hold, and what begins with it.
#[derive(Debug, Clone)]
pub struct NewHold {
    /// What is to be set aside.
    pub request: HoldRequest,
    /// A response that runs in the background, queued in the same transaction.
    pub response: Option<StoredResponse>,
}

/// The end of a hold, and what ends with it.
#[derive(Debug, Clone)]
pub struct HoldClosing {
    /// How it ends.
    pub end: HoldEnd,
    /// The answer to keep for whoever asks again.
    pub answer: Option<SavedAnswer>,
    /// The response to store or overwrite. It is written only if the hold ends now.
    pub response: Option<StoredResponse>,
    /// The media that were made. They are written only if the hold ends now.
    pub media: Option<MediaRun>,
}

/// One operation, and where its result goes.
pub(crate) enum LedgerOperation {
    Open(Box<NewHold>, Reply<Result<Hold, Refusal>>),
    Close(Box<HoldClosing>, Reply<EndResult>),
    Admit(MemberId, LineageId, Reply<Result<Option<RateLimitStatus>, Refusal>>),
    Post(Box<Transfer>, Actor, Reply<Result<TransferResult, Refusal>>),
}

/// Where a result goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// What a batch has to write, and its jobs, which wait for the commit.
#[derive(Default)]
pub(crate) struct Applied {
    pub(crate) changes: Changes,
    /// Postings made by a person, for the audit log.
    pub(crate) audited: Vec<(Posting, Actor)>,
    decided: Vec<Decided>,
}

/// A job, and what was decided about it.
enum Decided {
    Open(Box<NewHold>, Reply<Result<Hold, Refusal>>, Result<Hold, Refusal>),
    Close(Box<HoldClosing>, Reply<EndResult>, EndResult),
    Admit(
        (MemberId, LineageId),
        Reply<Result<Option<RateLimitStatus>, Refusal>>,
        Result<Option<RateLimitStatus>, Refusal>,
    ),
    Post(
        (Box<Transfer>, Actor),
        Reply<Result<TransferResult, Refusal>>,
        Result<TransferResult, Refusal>,
    ),
}

impl std::fmt::Debug for Applied {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Applied").field("changes", &self.changes).finish_non_exhaustive()
    }
}

/// Lets the laws of the ledger decide about each job, in order.
pub(crate) fn apply(
    book: &mut Book,
    jobs: impl IntoIterator<Item = LedgerOperation>,
    now: Time,
) -> Applied {
    let mut applied = Applied::default();
    for job in jobs {
        applied.decided.push(match job {
            LedgerOperation::Open(opening, reply) => {
                let result = book.hold(opening.request.clone(), now);
                Decided::Open(opening, reply, result)
            }
            LedgerOperation::Close(closing, reply) => {
                let ended = book.end(closing.end.clone(), now);
                Decided::Close(closing, reply, ended)
            }
            LedgerOperation::Admit(member, lineage, reply) => {
                let result = book.admit(lineage, now);
                Decided::Admit((member, lineage), reply, result)
            }
            LedgerOperation::Post(transfer, actor, reply) => {
                let result = book.post((*transfer).clone(), now);
                if let Ok(TransferResult::Posted(posting)) = &result {
                    applied.audited.push((posting.clone(), actor.clone()));
                }
                Decided::Post((transfer, actor), reply, result)
            }
        });
    }
    applied.changes = book.take_changes();
    applied
}

impl Applied {
    /// Answers to keep, with the hold they belong to.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (HoldId, &SavedAnswer)> {
        self.decided.iter().filter_map(|decided| match decided {
            Decided::Close(closing, _, EndResult::Ended(_)) => {
                Some((closing.end.id, closing.answer.as_ref()?))
            }
            _ => None,
        })
    }

    /// Responses to add or overwrite, in order.
    pub(crate) fn responses(&self) -> impl Iterator<Item = &StoredResponse> {
        self.decided.iter().filter_map(|decided| match decided {
            Decided::Open(opening, _, Ok(_)) => opening.response.as_ref(),
            Decided::Close(closing, _, EndResult::Ended(_)) => closing.response.as_ref(),
            _ => None,
        })
    }

    /// Media that were made.
    pub(crate) fn media(&self) -> impl Iterator<Item = &MediaRun> {
        self.decided.iter().filter_map(|decided| match decided {
            Decided::Close(closing, _, EndResult::Ended(_)) => closing.media.as_ref(),
            _ => None,
        })
    }

    /// Sends every reply, after the commit.
    pub(crate) fn committed(self) {
        for decided in self.decided {
            // Whoever asked may have left; the transaction stands all the same.
            match decided {
                Decided::Open(_, reply, result) => drop(reply.send(Ok(result))),
                Decided::Close(_, reply, ended) => drop(reply.send(Ok(ended))),
                Decided::Admit(_, reply, result) => drop(reply.send(Ok(result))),
                Decided::Post(_, reply, result) => drop(reply.send(Ok(result))),
            }
        }
    }

    /// The jobs as they came, after a transaction that failed: nothing has happened.
    pub(crate) fn into_jobs(self) -> Vec<LedgerOperation> {
        let job = |decided| match decided {
            Decided::Open(opening, reply, _) => LedgerOperation::Open(opening, reply),
            Decided::Close(closing, reply, _) => LedgerOperation::Close(closing, reply),
            Decided::Admit((member, lineage), reply, _) => {
                LedgerOperation::Admit(member, lineage, reply)
            }
            Decided::Post((transfer, actor), reply, _) => {
                LedgerOperation::Post(transfer, actor, reply)
            }
        };
        self.decided.into_iter().map(job).collect()
    }
}

impl LedgerOperation {
    /// How many bytes of answers and responses it brings.
    pub(crate) fn bytes(&self) -> usize {
        let (answer, response) = match self {
            Self::Open(opening, _) => (None, opening.response.as_ref()),
            Self::Close(closing, _) => (closing.answer.as_ref(), closing.response.as_ref()),
            Self::Admit(..) | Self::Post(..) => (None, None),
        };
        let response = response.map_or(0, |kept| kept.body.len() + kept.input.len());
        answer.map_or(0, |kept| kept.body.len()) + response
    }

    /// Tells the job that it was not done.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Open(_, reply) => drop(reply.send(Err(error))),
            Self::Close(_, reply) => drop(reply.send(Err(error))),
            Self::Admit(.., reply) => drop(reply.send(Err(error))),
            Self::Post(.., reply) => drop(reply.send(Err(error))),
        }
    }
}
