//! The second half of a batch: writes the changes and commits in one round trip.

use ledger::{Changes, HoldId, IdempotencyRecord, LineageId, Time};
use tokio_postgres::{Client, Error as DriverError, Statement};

use super::rows::Value;
use super::statements::Statements;
use crate::media::stored_bytes;
use crate::member::stored_payer;
use crate::records::HoldUuid;
use crate::usage::UsageRollup;
use crate::{Artifact, AuditEntry, MediaRun, SavedAnswer, StoredResponse};

#[derive(Debug, Default)]
pub(super) struct BatchWrites<'a> {
    pub(super) changes: Changes,
    /// Requests that belong to another one, each with that one.
    pub(super) sub_requests: Vec<(HoldId, HoldId)>,
    pub(super) answers: Vec<(HoldId, &'a SavedAnswer)>,
    pub(super) responses: Vec<&'a StoredResponse>,
    pub(super) media: Vec<&'a MediaRun>,
    pub(super) audit: Vec<AuditEntry>,
    /// When idempotency records and answers expire.
    pub(super) expires_at: Time,
}

impl BatchWrites<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.answers.is_empty()
            && self.responses.is_empty()
            && self.media.is_empty()
            && self.audit.is_empty()
    }
}

/// Writes everything and commits.
///
/// The commit is sent together with the writes. If one of them fails, the server has aborted the
/// transaction before it reaches the commit, which then rolls back.
pub(super) async fn save(
    client: &Client,
    statements: &Statements,
    writes: BatchWrites<'_>,
) -> Result<(), DriverError> {
    let expires_at = writes.expires_at.micros();
    let batch = BatchWriter { client, statements, expires_at };
    let BatchWrites { changes, sub_requests, answers, mut responses, media, audit, .. } = writes;
    keep_newest(&mut responses);
    tokio::try_join!(
        biased;
        batch.ledger(&changes),
        batch.delete_idempotency(&changes.deleted_idempotency),
        batch.idempotency(&changes.idempotency),
        batch.sub_requests(&sub_requests),
        batch.answers(&answers),
        batch.responses(&responses),
        batch.runs(&media),
        batch.artifacts(&media),
        batch.audit(&audit),
        client.execute(&statements.commit, &[]),
    )?;
    Ok(())
}

/// Keeps the last write of each response, in the order of ids, which is the order of locks.
fn keep_newest(responses: &mut Vec<&StoredResponse>) {
    responses.reverse();
    responses.sort_by(|one, other| one.id.cmp(&other.id));
    responses.dedup_by(|later, first| later.id == first.id);
}

/// Converts rows to arrays of column values.
macro_rules! columns {
    ($rows:expr, $row:ident => $($value:expr),+ $(,)?) => {
        &[$(&$rows.iter().map(|$row| $value).collect::<Vec<_>>() as Value<'_>),+]
    };
}

struct BatchWriter<'a> {
    client: &'a Client,
    statements: &'a Statements,
    expires_at: i64,
}

impl BatchWriter<'_> {
    async fn write(
        &self,
        statement: &Statement,
        columns: &[Value<'_>],
    ) -> Result<u64, DriverError> {
        self.client.execute(statement, columns).await
    }

    async fn ledger(&self, changes: &Changes) -> Result<u64, DriverError> {
        let members: &[Value<'_>] = columns!(changes.accounts, row =>
            row.id.0,
            row.balance.get(),
            row.held.get(),
            row.usage.day.number,
            row.usage.day.requests,
            row.usage.day.charged.get(),
            row.usage.month.number,
            row.usage.month.requests,
            row.usage.month.charged.get(),
            row.budget_use.start.micros(),
            row.budget_use.charged.get(),
            row.budget_use.held.get(),
        );
        let lineages: &[Value<'_>] = columns!(changes.lineages, row =>
            row.id.0,
            row.spent.get(),
            row.held.get(),
            i64::from(row.running),
            row.next_arrival.micros(),
            row.budget_use.start.micros(),
            row.budget_use.charged.get(), row.budget_use.held.get(),
            row.last_used.micros(),
        );
        let ended: &[Value<'_>] = columns!(changes.ended_holds, row => HoldUuid(row.1));
        let begun: &[Value<'_>] = columns!(changes.opened_holds, row =>
            HoldUuid(row.id),
            row.member.0,
            row.lineage.0,
            row.amount.get(),
            &*row.operation,
            row.model.as_deref(),
            row.owner,
            row.since.micros(),
            row.lease_until.micros(),
            row.idempotency.as_deref(),
            stored_payer(row.member, row.payer),
        );
        let receipts: &[Value<'_>] = columns!(changes.receipts, row =>
            HoldUuid(row.id),
            row.member.0,
            row.lineage.0,
            row.charged.get(),
            row.rule.as_str(),
            &*row.operation,
            row.model.as_deref(),
            row.tokens.input,
            row.tokens.output,
            row.since.micros(),
            row.at.micros(),
            stored_payer(row.member, row.payer),
            row.attempts.as_deref(),
        );
        let postings: &[Value<'_>] = columns!(changes.postings, row =>
            row.at.micros(),
            row.kind.as_str(),
            row.member.0,
            row.house.as_str(),
            row.amount.get(),
            row.balance.get(),
            row.hold.map(HoldUuid),
            row.reason.as_deref(),
            row.reference.as_deref(),
        );
        let rollup = UsageRollup::of(&changes.receipts);
        let usage = rollup.rows().collect::<Vec<_>>();
        let usage: &[Value<'_>] = columns!(usage, row =>
            row.0.day,
            row.0.member.0,
            row.0.lineage.0,
            &*row.0.operation,
            row.0.model(),
            row.0.team.0,
            row.1.requests,
            row.1.input_tokens, row.1.output_tokens,
            row.1.charged.get(),
        );
        self.write_ledger([members, lineages, ended, begun, receipts, postings, usage]).await
    }

    async fn write_ledger(&self, tables: [&[Value<'_>]; 7]) -> Result<u64, DriverError> {
        self.write(&self.statements.write_ledger, &tables.concat()).await
    }

    async fn sub_requests(&self, rows: &[(HoldId, HoldId)]) -> Result<u64, DriverError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let columns: &[Value<'_>] = columns!(rows, row => HoldUuid(row.0), HoldUuid(row.1));
        self.write(&self.statements.insert_sub_requests, columns).await
    }

    async fn idempotency(&self, rows: &[IdempotencyRecord]) -> Result<u64, DriverError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let columns: &[Value<'_>] = columns!(rows, row =>
            row.lineage.0,
            row.key.as_str(),
            &row.body_sha256[..],
            HoldUuid(row.hold),
            row.answered,
        );
        let columns = [columns, &[&self.expires_at]].concat();
        self.write(&self.statements.upsert_idempotency, &columns).await
    }

    async fn delete_idempotency(&self, rows: &[(LineageId, String)]) -> Result<u64, DriverError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let columns: &[Value<'_>] = columns!(rows, row =>
            row.0.0,
            row.1.as_str(),
        );
        self.write(&self.statements.delete_idempotency, columns).await
    }

    async fn answers(&self, rows: &[(HoldId, &SavedAnswer)]) -> Result<u64, DriverError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let columns: &[Value<'_>] = columns!(rows, row =>
            HoldUuid(row.0),
            i32::from(row.1.status),
            row.1.content_type.as_str(),
            &row.1.body[..],
        );
        let columns = [columns, &[&self.expires_at]].concat();
        self.write(&self.statements.insert_answers, &columns).await
    }

    async fn responses(&self, rows: &[&StoredResponse]) -> Result<u64, DriverError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let columns: &[Value<'_>] = columns!(rows, row =>
            row.id.as_str(),
            row.member.0,
            row.lineage.0,
            HoldUuid(row.hold),
            row.status.as_str(),
            &row.body[..],
            &row.input[..],
            row.previous.as_deref(),
            row.background,
            row.created_at.micros(),
            row.expires_at.micros(),
        );
        self.write(&self.statements.upsert_responses, columns).await
    }

    async fn runs(&self, rows: &[&MediaRun]) -> Result<u64, DriverError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let columns: &[Value<'_>] = columns!(rows, row =>
            row.id.as_str(),
            row.member.0,
            HoldUuid(row.hold),
            row.model.as_str(),
            row.capability.as_str(),
            row.charge.get(),
            row.created_at.micros(),
            row.expires_at.micros(),
        );
        self.write(&self.statements.insert_runs, columns).await
    }

    async fn artifacts(&self, runs: &[&MediaRun]) -> Result<u64, DriverError> {
        if runs.is_empty() {
            return Ok(0);
        }
        let rows: Vec<(&MediaRun, i32, &Artifact)> = runs
            .iter()
            .flat_map(|run| {
                (0..).zip(&run.artifacts).map(|(position, artifact)| (*run, position, artifact))
            })
            .collect();
        let columns: &[Value<'_>] = columns!(rows, row =>
            row.2.id.as_str(),
            row.0.id.as_str(),
            row.1,
            row.0.member.0,
            row.2.object.as_str(),
            row.2.media_type.as_str(),
            stored_bytes(row.2.bytes),
            &row.2.sha256[..],
            row.0.expires_at.micros(),
        );
        self.write(&self.statements.insert_artifacts, columns).await
    }

    async fn audit(&self, rows: &[AuditEntry]) -> Result<u64, DriverError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let columns: &[Value<'_>] = columns!(rows, row =>
            row.id,
            row.at.micros(),
            row.actor.name.as_str(),
            row.actor.request.as_deref(),
            row.action.as_str(),
            row.subject.as_str(),
            row.detail.as_str(),
            &row.digest[..],
        );
        self.write(&self.statements.insert_audit, columns).await
    }
}
