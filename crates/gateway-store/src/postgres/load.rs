//! The first half of a batch: locks the members and reads the rows that the operations need.

use std::collections::BTreeSet;
use std::time::Duration;

use ledger::{Book, HoldId, HoldRequest, LineageId, MemberId, Time};
use tokio::time::timeout;
use tokio_postgres::{Client, Error as DriverError, Row};

use super::audit;
use super::error::timed_out;
use super::rows::{self, RowReader};
use super::statements::Statements;
use crate::audit::AuditTail;
use crate::batch::LedgerOperation;
use crate::error::Result;
use crate::records::{self, Columns, HoldUuid};

/// The rows that a transaction needs, in the order in which they are locked.
#[derive(Debug, Default)]
pub(super) struct RowSet {
    pub(super) members: BTreeSet<MemberId>,
    pub(super) lineages: BTreeSet<LineageId>,
    /// Holds that end. Their lineages and idempotency records are loaded with them.
    pub(super) holds: BTreeSet<HoldId>,
    /// New holds, whose ids must not have been used.
    pub(super) new_holds: Vec<HoldId>,
    idempotency_keys: BTreeSet<(LineageId, String)>,
    /// References of transfers, which earlier postings may have.
    references: BTreeSet<(MemberId, String)>,
    is_audited: bool,
}

impl RowSet {
    pub(super) fn of(operations: &[LedgerOperation]) -> Self {
        let mut needed = Self::default();
        for operation in operations {
            match operation {
                LedgerOperation::Open(hold, _) => needed.add_new_hold(&hold.request),
                LedgerOperation::Close(closing, _) => {
                    needed.members.insert(closing.end.member);
                    needed.holds.insert(closing.end.id);
                }
                LedgerOperation::Admit(request, _) => {
                    needed.members.insert(request.member);
                    needed.lineages.insert(request.lineage);
                }
                LedgerOperation::Post(audited, _) => {
                    needed.members.insert(audited.transfer.member);
                    if let Some(reference) = &audited.transfer.reference {
                        needed.references.insert((audited.transfer.member, reference.clone()));
                    }
                    needed.is_audited = true;
                }
            }
        }
        needed
    }

    pub(super) fn add_new_hold(&mut self, request: &HoldRequest) {
        self.members.insert(request.member);
        self.lineages.insert(request.lineage);
        if let Some(key) = &request.idempotency {
            self.idempotency_keys.insert((request.lineage, key.key.clone()));
        }
        self.new_holds.push(request.id);
    }

    fn has_teams(&self, book: &Book) -> bool {
        let teams = self.members.iter().filter_map(|id| book.account(*id)?.team);
        teams.into_iter().all(|team| book.account(team).is_some())
    }
}

/// The loaded rows, and the time at which they were locked.
#[derive(Debug)]
pub(super) struct LoadedBatch {
    pub(super) book: Book,
    pub(super) now: Time,
    pub(super) used_ids: Vec<HoldId>,
    /// The end of the audit log, locked if the batch writes to it.
    pub(super) audit_tail: AuditTail,
}

struct LoadedRows {
    members: Vec<Row>,
    lineages: Vec<Row>,
    holds: Vec<Row>,
    idempotency: Vec<Row>,
    referenced: Vec<Row>,
    now: Row,
    audit: Vec<Row>,
}

/// The most tries to lock the teams of members that change their team meanwhile.
const MAX_TRIES: u32 = 5;

/// Begins a transaction, locks and reads in one round trip, unless a lock is taken.
///
/// The statement that locks looks up teams before it waits for the members. A member who changed teams
/// in between has a team that is not locked: then all begins anew.
pub(super) async fn load(
    client: &Client,
    statements: &Statements,
    needed: &RowSet,
) -> std::result::Result<Result<LoadedBatch>, DriverError> {
    for _ in 1..MAX_TRIES {
        let loaded = read(&query(client, statements, needed).await?);
        match &loaded {
            Ok(batch) if !needed.has_teams(&batch.book) => {
                client.batch_execute("ROLLBACK").await?;
            }
            _ => return Ok(loaded),
        }
    }
    Ok(read(&query(client, statements, needed).await?))
}

/// Sends all statements at once. The server runs them in this order, so that all that follow the lock,
/// including the clock, see the last committed state of what the lock protects.
async fn query(
    client: &Client,
    statements: &Statements,
    needed: &RowSet,
) -> std::result::Result<LoadedRows, DriverError> {
    let members: Vec<i64> = needed.members.iter().map(|id| id.0).collect();
    let lineages: Vec<i64> = needed.lineages.iter().map(|id| id.0).collect();
    let new_holds: Vec<HoldUuid> = needed.new_holds.iter().copied().map(HoldUuid).collect();
    let mut holds: Vec<HoldUuid> = needed.holds.iter().copied().map(HoldUuid).collect();
    holds.extend_from_slice(&new_holds);
    let (key_lineages, keys): (Vec<i64>, Vec<&str>) =
        needed.idempotency_keys.iter().map(|(id, key)| (id.0, key.as_str())).unzip();
    let (transfer_members, transfer_references): (Vec<i64>, Vec<&str>) =
        needed.references.iter().map(|(id, reference)| (id.0, reference.as_str())).unzip();

    let begin = client.execute(&statements.begin, &[]);
    let members = async { client.query(&statements.lock_members, &[&members, &holds]).await };
    let lineages = async {
        if lineages.is_empty() && holds.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.lineages, &[&lineages, &holds]).await
    };
    let live_holds = async {
        if holds.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.holds, &[&holds]).await
    };
    let idempotency = async {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.idempotency, &[&key_lineages, &keys]).await
    };
    let referenced = async {
        if transfer_references.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.referenced, &[&transfer_members, &transfer_references]).await
    };
    let lock_audit = async {
        if needed.is_audited { client.execute(&statements.lock_audit, &[]).await } else { Ok(0) }
    };
    let audit = async {
        if needed.is_audited {
            return client.query(&statements.last_audit, &[]).await;
        }
        Ok(Vec::new())
    };
    let now = async { client.query_one(&statements.now, &[&new_holds]).await };
    let (_, members, lineages, holds, idempotency, referenced, _, audit, now) = tokio::try_join!(
        biased;
        begin, members, lineages, live_holds, idempotency, referenced, lock_audit, audit, now
    )?;
    Ok(LoadedRows { members, lineages, holds, idempotency, referenced, now, audit })
}

fn read(loaded: &LoadedRows) -> Result<LoadedBatch> {
    let mut book = Book::default();
    for row in &loaded.members {
        book.add_account(records::account(&mut RowReader::new(row))?);
    }
    for row in &loaded.lineages {
        book.add_lineage(records::lineage(&mut RowReader::new(row))?);
    }
    for row in &loaded.holds {
        let (hold, record) = rows::hold(row)?;
        book.add_hold(hold);
        if let Some(record) = record {
            book.add_idempotency_record(record);
        }
    }
    for row in &loaded.idempotency {
        book.add_idempotency_record(rows::idempotency_record(row)?);
    }
    for row in &loaded.referenced {
        book.add_referenced_posting(rows::posting(&mut RowReader::new(row))?);
    }
    let mut columns = RowReader::new(&loaded.now);
    let now = columns.time()?;
    let used_ids: Vec<HoldUuid> = columns.take()?;
    let used_ids = used_ids.into_iter().map(|id| id.0).collect();
    Ok(LoadedBatch { book, now, used_ids, audit_tail: audit::tail(&loaded.audit)? })
}

pub(super) async fn roll_back(client: &Client, limit: Duration) -> Result<()> {
    let done = timeout(limit, client.batch_execute("ROLLBACK")).await;
    Ok(done.map_err(|_| timed_out())??)
}
