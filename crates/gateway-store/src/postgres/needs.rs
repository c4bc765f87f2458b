//! Which rows of members and keys a batch works on: several processes lock them in one order.

use std::collections::BTreeSet;

use ledger::{HoldId, LineageId, MemberId};

use crate::batch::LedgerOperation;

/// The rows a batch works on, each kind in the order in which it must be locked.
#[derive(Debug, Default)]
pub(super) struct Needs {
    pub(super) members: BTreeSet<MemberId>,
    pub(super) lineages: BTreeSet<LineageId>,
    /// Live holds that end. Their lineage and their idempotency key come with them: it is the
    /// store that knows both.
    pub(super) holds: BTreeSet<HoldId>,
    pub(super) repeats: BTreeSet<(LineageId, String)>,
    /// References of transfers: postings that may have them already.
    pub(super) references: BTreeSet<(MemberId, String)>,
}

impl Needs {
    pub(super) fn of<'a>(jobs: impl IntoIterator<Item = &'a LedgerOperation>) -> Self {
        let mut needs = Self::default();
        for job in jobs {
            match job {
                LedgerOperation::Open(opening, _) => {
                    let request = &opening.request;
                    needs.members.insert(request.member);
                    needs.lineages.insert(request.lineage);
                    if let Some(key) = &request.idempotency {
                        needs.repeats.insert((request.lineage, key.key.clone()));
                    }
                }
                LedgerOperation::Close(closing, _) => {
                    needs.members.insert(closing.end.member);
                    needs.holds.insert(closing.end.id);
                }
                LedgerOperation::Admit(member, lineage, _) => {
                    needs.members.insert(*member);
                    needs.lineages.insert(*lineage);
                }
                LedgerOperation::Post(transfer, ..) => {
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
