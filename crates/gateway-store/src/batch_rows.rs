//! The rows that a transaction on the ledger loads, and its writes.

use std::collections::BTreeSet;

use ledger::{Book, Changes, HoldId, HoldRequest, LineageId, MemberId, Time};

use crate::audit::AuditTail;
use crate::batch::LedgerOperation;
use crate::{AuditEntry, MediaRun, SavedAnswer, StoredResponse};

/// The rows that a transaction needs, in the order in which they are locked.
#[derive(Debug, Default)]
pub(crate) struct RowSet {
    pub(crate) members: BTreeSet<MemberId>,
    pub(crate) lineages: BTreeSet<LineageId>,
    /// Holds that end, each with its member. Their lineages and idempotency records are loaded with
    /// them.
    pub(crate) holds: BTreeSet<(HoldId, MemberId)>,
    /// New holds, whose ids must not have been used.
    pub(crate) new_holds: Vec<(HoldId, MemberId)>,
    pub(crate) idempotency_keys: BTreeSet<(LineageId, String)>,
    /// References of transfers, which earlier postings may have.
    pub(crate) references: BTreeSet<(MemberId, String)>,
    pub(crate) is_audited: bool,
}

impl RowSet {
    pub(crate) fn of(operations: &[LedgerOperation]) -> Self {
        let mut needed = Self::default();
        for operation in operations {
            match operation {
                LedgerOperation::Open(open) => needed.add_new_hold(&open.operation.request),
                LedgerOperation::Close(close) => {
                    needed.add_hold(close.operation.end.id, close.operation.end.member);
                }
                LedgerOperation::Admit(admit) => {
                    needed.members.insert(admit.operation.member);
                    needed.lineages.insert(admit.operation.lineage);
                }
                LedgerOperation::Post(post) => {
                    let transfer = &post.operation.transfer;
                    needed.members.insert(transfer.member);
                    if let Some(reference) = &transfer.reference {
                        needed.references.insert((transfer.member, reference.clone()));
                    }
                    needed.is_audited = true;
                }
            }
        }
        needed
    }

    pub(crate) fn add_hold(&mut self, id: HoldId, member: MemberId) {
        self.members.insert(member);
        self.holds.insert((id, member));
    }

    pub(crate) fn add_new_hold(&mut self, request: &HoldRequest) {
        self.members.insert(request.member);
        self.lineages.insert(request.lineage);
        if let Some(key) = &request.idempotency {
            self.idempotency_keys.insert((request.lineage, key.key.clone()));
        }
        self.new_holds.push((request.id, request.member));
    }
}

/// The loaded rows, and the time at which they were locked.
#[derive(Debug)]
pub(crate) struct LoadedBatch {
    pub(crate) book: Book,
    pub(crate) now: Time,
    /// Ids of new holds that have a receipt.
    pub(crate) used_ids: Vec<HoldId>,
    /// The end of the audit log, locked if the batch writes to it.
    pub(crate) audit_tail: AuditTail,
}

#[derive(Debug, Default)]
pub(crate) struct BatchWrites<'a> {
    pub(crate) changes: Changes,
    /// Requests that belong to another one, each with that one.
    pub(crate) sub_requests: Vec<(HoldId, HoldId)>,
    pub(crate) answers: Vec<(HoldId, &'a SavedAnswer)>,
    pub(crate) responses: Vec<&'a StoredResponse>,
    pub(crate) media: Vec<&'a MediaRun>,
    pub(crate) audit: Vec<AuditEntry>,
    /// When idempotency records and answers expire.
    pub(crate) expires_at: Time,
}

impl BatchWrites<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.answers.is_empty()
            && self.responses.is_empty()
            && self.media.is_empty()
            && self.audit.is_empty()
    }
}
