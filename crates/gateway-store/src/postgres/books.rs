//! What can be asked about money: accounts, lineages, receipts, statements.

use ledger::{Account, HoldId, Lineage, LineageId, MemberId, Receipt};
use tokio_postgres::Row;

use super::link::Link;
use super::rows::{self, Columns, Uid, page};
use super::statements::now;
use crate::backend::Result;
use crate::{SavedAnswer, StatementLine};

const ACCOUNT: &str = "SELECT id, balance, held, blocked, day, day_requests, day_charged, month, \
    month_requests, month_charged FROM members WHERE id = $1";

const LINEAGE: &str = "SELECT id, member, spend_limit, requests_per_minute, concurrency, spent, \
    held, running, next_arrival FROM lineages WHERE id = $1";

const RECEIPT: &str = "SELECT id, member, lineage, charged, rule, operation, model, input_tokens, \
    output_tokens, since, at FROM receipts WHERE id = $1 AND ($2::bigint IS NULL OR member = $2)";

const ANSWER: &str = concat!(
    "SELECT status, content_type, body FROM answers WHERE hold = $1 AND expires_at > ",
    now!()
);

const STATEMENT: &str = "SELECT p.id, p.at, p.kind, p.member, p.house, p.amount, p.balance, \
        p.hold, p.reason, p.reference, r.operation, r.model \
    FROM (SELECT * FROM postings WHERE member = $1 AND id < $2 ORDER BY id DESC LIMIT $3) p \
    LEFT JOIN receipts r ON r.id = p.hold ORDER BY p.id DESC";

pub(super) async fn account(link: &mut Link, member: MemberId) -> Result<Option<Account>> {
    link.row(ACCOUNT, &[&member.0]).await?.as_ref().map(rows::account).transpose()
}

pub(super) async fn lineage(link: &mut Link, lineage: LineageId) -> Result<Option<Lineage>> {
    link.row(LINEAGE, &[&lineage.0]).await?.as_ref().map(rows::lineage).transpose()
}

pub(super) async fn receipt(
    link: &mut Link,
    member: Option<MemberId>,
    id: HoldId,
) -> Result<Option<Receipt>> {
    let member = member.map(|member| member.0);
    link.row(RECEIPT, &[&Uid(id), &member]).await?.as_ref().map(rows::receipt).transpose()
}

pub(super) async fn answer(link: &mut Link, id: HoldId) -> Result<Option<SavedAnswer>> {
    link.row(ANSWER, &[&Uid(id)]).await?.as_ref().map(rows::answer).transpose()
}

pub(super) async fn statement(
    link: &mut Link,
    member: MemberId,
    before: i64,
    limit: u32,
) -> Result<Vec<StatementLine>> {
    let lines = link.rows(STATEMENT, &[&member.0, &before, &page(limit)]).await?;
    lines.iter().map(line).collect()
}

fn line(row: &Row) -> Result<StatementLine> {
    let mut columns = Columns::of(row);
    Ok(StatementLine {
        id: columns.take()?,
        posting: rows::posting(&mut columns)?,
        operation: columns.take()?,
        model: columns.take()?,
    })
}
