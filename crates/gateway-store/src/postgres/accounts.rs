//! Accounts, lineages, receipts and statements.

use ledger::{Account, HoldId, Lineage, LineageId, MemberId, Receipt};

use super::Postgres;
use super::rows::{self, RowReader, page};
use crate::error::Result;
use crate::records::{self, Columns, HoldUuid, hold_id};
use crate::{RelatedReceipts, SavedAnswer, StatementLine};

const ACCOUNT: &str = "SELECT id, balance, held, blocked, day, day_requests, day_charged, month, \
    month_requests, month_charged, budget, budget_period, budget_start, budget_charged, \
    budget_held, \
    kind, team FROM members WHERE id = $1";

const LINEAGE: &str = "SELECT id, member, spend_limit, requests_per_minute, concurrency, budget, \
    budget_period, budget_start, budget_charged, budget_held, spent, held, running, next_arrival, \
    last_used FROM lineages WHERE id = $1";

const RECEIPT: &str = "SELECT id, member, lineage, charged, rule, operation, model, input_tokens, \
    output_tokens, since, at, payer, attempts FROM receipts \
    WHERE id = $1 AND ($2::bigint IS NULL OR member = $2)";

const TEAM_RECEIPTS: &str = "SELECT id, member, lineage, charged, rule, operation, model, \
    input_tokens, output_tokens, since, at, payer, attempts FROM receipts \
    WHERE member = $1 AND payer IS NOT NULL AND id < $2 ORDER BY id DESC LIMIT $3";

const PARENT: &str = "SELECT parent FROM sub_requests WHERE id = $1";

const CHILDREN: &str = "SELECT r.id, member, lineage, charged, rule, operation, model, \
    input_tokens, output_tokens, since, at, payer, attempts \
    FROM sub_requests s JOIN receipts r ON r.id = s.id \
    WHERE s.parent = $1 ORDER BY since, r.id LIMIT $2";

const ANSWER: &str = "SELECT status, content_type, body FROM answers WHERE hold = $1 AND \
    expires_at > {now}";

const STATEMENT: &str = "SELECT p.id, p.at, p.kind, p.member, p.house, p.amount, p.balance, \
        p.hold, p.reason, p.reference, r.operation, r.model, r.member \
    FROM (SELECT * FROM postings WHERE member = $1 AND id < $2 ORDER BY id DESC LIMIT $3) p \
    LEFT JOIN receipts r ON r.id = p.hold ORDER BY p.id DESC";

impl Postgres {
    pub(crate) async fn account(&self, member: MemberId) -> Result<Option<Account>> {
        self.row(ACCOUNT, &[&member.0], |row| records::account(row)).await
    }

    pub(crate) async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>> {
        self.row(LINEAGE, &[&lineage.0], |row| records::lineage(row)).await
    }

    pub(crate) async fn receipt(
        &self,
        member: Option<MemberId>,
        id: HoldId,
    ) -> Result<Option<Receipt>> {
        let member = member.map(|member| member.0);
        self.row(RECEIPT, &[&HoldUuid(id), &member], |row| records::receipt(row)).await
    }

    pub(crate) async fn team_receipts(
        &self,
        member: MemberId,
        before: Option<HoldId>,
        limit: u32,
    ) -> Result<Vec<Receipt>> {
        let before = HoldUuid(before.unwrap_or(HoldId::from_bytes([u8::MAX; 16])));
        self.rows(TEAM_RECEIPTS, &[&member.0, &before, &page(limit)], |row| records::receipt(row))
            .await
    }

    pub(crate) async fn related_receipts(&self, id: HoldId) -> Result<RelatedReceipts> {
        Ok(RelatedReceipts {
            parent: self.row(PARENT, &[&HoldUuid(id)], |row| hold_id(row)).await?,
            children: self
                .rows(CHILDREN, &[&HoldUuid(id), &page(u32::MAX)], |row| records::receipt(row))
                .await?,
        })
    }

    pub(crate) async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>> {
        self.row(ANSWER, &[&HoldUuid(id)], |row| records::answer(row)).await
    }

    pub(crate) async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>> {
        self.rows(STATEMENT, &[&member.0, &before, &page(limit)], line).await
    }
}

fn line(columns: &mut RowReader<'_>) -> Result<StatementLine> {
    Ok(StatementLine {
        id: columns.take()?,
        posting: rows::posting(columns)?,
        operation: columns.take()?,
        model: columns.take()?,
        asked_by: columns.optional_member()?,
    })
}
