//! Operations on money that wait at the same time become one transaction.
//!
//! A back end collects [`Job`]s, loads the rows that [`Needs`] names (locked, in the order given),
//! lets [`apply`] decide, writes what came of it, commits, and only then sends the replies. When
//! the transaction fails, every job is told so and nothing has happened.

use std::collections::BTreeSet;

use ledger::{
    Book, Changes, End, Ended, Hold, HoldId, LineageId, MemberId, Posted, Posting, Refusal, Room,
    Time, Transfer, Wanted,
};
use tokio::sync::oneshot;

use crate::{Actor, Answer, Error, StoredResponse};

/// A hold, and what begins with it.
#[derive(Debug, Clone)]
pub struct Opening {
    /// What is to be set aside.
    pub wanted: Wanted,
    /// A response that runs in the background, queued in the same transaction.
    pub response: Option<StoredResponse>,
}

/// The end of a hold, and what ends with it.
#[derive(Debug, Clone)]
pub struct Closing {
    /// How it ends.
    pub end: End,
    /// The answer to keep for whoever asks again.
    pub answer: Option<Answer>,
    /// The response to store or overwrite. It is written only if the hold ends now.
    pub response: Option<StoredResponse>,
}

/// One operation, and where its result goes.
pub(crate) enum Job {
    Open(Box<Opening>, Reply<Result<Hold, Refusal>>),
    Close(Box<Closing>, Reply<Ended>),
    Admit(MemberId, LineageId, Reply<Result<Option<Room>, Refusal>>),
    Post(Box<Transfer>, Actor, Reply<Result<Posted, Refusal>>),
}

/// Where a result goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// The rows a batch works on, each kind in the order in which it must be locked.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub(crate) members: BTreeSet<MemberId>,
    pub(crate) lineages: BTreeSet<LineageId>,
    /// Live holds that end. Their lineage and their idempotency key come with them: it is the
    /// store that knows both.
    pub(crate) holds: BTreeSet<HoldId>,
    pub(crate) repeats: BTreeSet<(LineageId, String)>,
    /// References of transfers: postings that may have them already.
    pub(crate) references: BTreeSet<(MemberId, String)>,
}

impl Needs {
    pub(crate) fn of<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Self {
        let mut needs = Self::default();
        for job in jobs {
            match job {
                Job::Open(opening, _) => {
                    let wanted = &opening.wanted;
                    needs.members.insert(wanted.member);
                    needs.lineages.insert(wanted.lineage);
                    if let Some(key) = &wanted.idempotency {
                        needs.repeats.insert((wanted.lineage, key.word.clone()));
                    }
                }
                Job::Close(closing, _) => {
                    needs.members.insert(closing.end.member);
                    needs.holds.insert(closing.end.id);
                }
                Job::Admit(member, lineage, _) => {
                    needs.members.insert(*member);
                    needs.lineages.insert(*lineage);
                }
                Job::Post(transfer, ..) => {
                    needs.members.insert(transfer.member);
                    if let Some(reference) = &transfer.reference {
                        needs.references.insert((transfer.member, reference.clone()));
                    }
                }
            }
        }
        needs
    }
}

/// What a batch has to write, and the replies that wait for the commit.
#[derive(Default)]
pub(crate) struct Applied {
    pub(crate) changes: Changes,
    /// Answers to keep, with the hold they belong to.
    pub(crate) answers: Vec<(HoldId, Answer)>,
    /// Responses to add or overwrite.
    pub(crate) responses: Vec<StoredResponse>,
    /// Postings made by a person, for the audit log.
    pub(crate) audited: Vec<(Posting, Actor)>,
    replies: Vec<Box<dyn FnOnce(Option<Failure>) + Send>>,
}

/// Makes the error that each waiting job is told.
type Failure = std::sync::Arc<dyn Fn() -> Error + Send + Sync>;

impl std::fmt::Debug for Applied {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Applied").field("changes", &self.changes).finish_non_exhaustive()
    }
}

/// Lets the laws of the ledger decide about each job, in order.
pub(crate) fn apply(book: &mut Book, jobs: impl IntoIterator<Item = Job>, now: Time) -> Applied {
    let mut applied = Applied::default();
    for job in jobs {
        match job {
            Job::Open(opening, reply) => {
                let Opening { wanted, response } = *opening;
                let result = book.hold(wanted, now);
                if result.is_ok() {
                    applied.responses.extend(response);
                }
                applied.wait(reply, result);
            }
            Job::Close(closing, reply) => {
                let Closing { end, answer, response } = *closing;
                let id = end.id;
                let ended = book.end(end, now);
                if matches!(ended, Ended::Now(_)) {
                    applied.answers.extend(answer.map(|answer| (id, answer)));
                    applied.responses.extend(response);
                }
                applied.wait(reply, ended);
            }
            Job::Admit(_, lineage, reply) => {
                let result = book.admit(lineage, now);
                applied.wait(reply, result);
            }
            Job::Post(transfer, actor, reply) => {
                let result = book.post(*transfer, now);
                if let Ok(Posted::Now(posting)) = &result {
                    applied.audited.push((posting.clone(), actor));
                }
                applied.wait(reply, result);
            }
        }
    }
    applied.changes = book.take_changes();
    applied
}

impl Applied {
    fn wait<T: Send + 'static>(&mut self, reply: Reply<T>, result: T) {
        self.replies.push(Box::new(move |failure| {
            // Whoever asked may have left; the transaction stands all the same.
            let _ = reply.send(match failure {
                None => Ok(result),
                Some(failure) => Err(failure()),
            });
        }));
    }

    /// Sends every reply, after the commit.
    pub(crate) fn committed(self) {
        for reply in self.replies {
            reply(None);
        }
    }

    /// Tells every job that nothing has happened.
    pub(crate) fn failed(self, failure: impl Fn() -> Error + Send + Sync + 'static) {
        let failure: Failure = std::sync::Arc::new(failure);
        for reply in self.replies {
            reply(Some(failure.clone()));
        }
    }
}

impl Job {
    /// Tells the job that it was not tried.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Open(_, reply) => drop(reply.send(Err(error))),
            Self::Close(_, reply) => drop(reply.send(Err(error))),
            Self::Admit(.., reply) => drop(reply.send(Err(error))),
            Self::Post(.., reply) => drop(reply.send(Err(error))),
        }
    }
}
