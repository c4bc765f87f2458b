//! Accounts, lineages, receipts, statements, usage and the audit log.

use ledger::{Account, HoldId, Lineage, LineageId, MemberId, Receipt};

use super::{MAX_PAGE, Store, page};
use crate::error::Result;
use crate::postgres::{ACCOUNT, LINEAGE};
use crate::value::values;
use crate::{AuditEntry, LedgerCheck, RelatedReceipts, StatementLine, UsageLine, UsageQuery};

const RECEIPT: &str = "SELECT r.id, r.member, r.lineage, r.charged, r.rule, r.operation, r.model, \
    r.input_tokens, r.output_tokens, r.since, r.at, coalesce(r.payer, r.member), r.attempts \
    FROM receipts r";

impl Store {
    pub async fn account(&self, member: MemberId) -> Result<Option<Account>> {
        match self {
            Self::Sqlite(database) => database.account(member).await,
            Self::Postgres(_) => {
                self.row(format!("{ACCOUNT} WHERE id = $1"), values![member]).await
            }
        }
    }

    /// Returns the shared state of a key and its successors.
    pub async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>> {
        match self {
            Self::Sqlite(database) => database.lineage(lineage).await,
            Self::Postgres(_) => {
                self.row(format!("{LINEAGE} WHERE id = $1"), values![lineage]).await
            }
        }
    }

    /// Returns the receipt of a hold, of one member or of any.
    pub async fn receipt(&self, member: Option<MemberId>, id: HoldId) -> Result<Option<Receipt>> {
        let receipt = self.row(format!("{RECEIPT} WHERE r.id = $1"), values![id]).await?;
        let is_of_member = |it: &Receipt| member.is_none_or(|member| member == it.member);
        Ok(receipt.filter(is_of_member))
    }

    /// Lists receipts of a member that a team paid, with an id below `before`, newest first.
    pub async fn team_receipts(
        &self,
        member: MemberId,
        before: Option<HoldId>,
        limit: u32,
    ) -> Result<Vec<Receipt>> {
        let before = before.unwrap_or(HoldId::from_bytes([u8::MAX; 16]));
        let sql = format!(
            "{RECEIPT} WHERE r.member = $1 AND r.payer IS NOT NULL AND r.id < $2 \
             ORDER BY r.id DESC LIMIT $3"
        );
        self.rows(sql, values![member, before, page(limit)]).await
    }

    /// Returns the request that another one belongs to, and the receipts of those that belong to it.
    pub async fn related_receipts(&self, id: HoldId) -> Result<RelatedReceipts> {
        let parent = self.row("SELECT parent FROM sub_requests WHERE id = $1", values![id]).await?;
        let sql = format!(
            "{RECEIPT} JOIN sub_requests s ON s.id = r.id WHERE s.parent = $1 \
             ORDER BY r.since, r.id LIMIT $2"
        );
        Ok(RelatedReceipts { parent, children: self.rows(sql, values![id, MAX_PAGE]).await? })
    }

    /// Lists postings of a member with an id below `before`, newest first.
    pub async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>> {
        self.write_deferred().await?;
        match self {
            Self::Sqlite(database) => database.statement(member, before, limit.min(MAX_PAGE)).await,
            Self::Postgres(_) => {
                let sql = "SELECT p.id, p.at, p.kind, p.member, p.amount, p.balance, p.hold, \
                           p.reason, p.reference, r.operation, r.model, r.member \
                           FROM (SELECT * FROM postings WHERE member = $1 AND id < $2 \
                           ORDER BY id DESC LIMIT $3) p \
                           LEFT JOIN receipts r ON r.id = p.hold ORDER BY p.id DESC";
                self.rows(sql, values![member, before, page(limit)]).await
            }
        }
    }

    /// Aggregates usage. Rows are ordered by day, else by charge, highest first.
    pub async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageLine>> {
        self.write_deferred().await?;
        self.rows(query.sql(), values![]).await
    }

    /// Rebuilds usage from the receipts. No hold can end meanwhile.
    pub async fn rebuild_usage(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.rebuild_usage().await,
            Self::Postgres(database) => Box::pin(database.rebuild_usage()).await,
        }
    }

    /// Lists audit entries with an id below `before`, newest first.
    pub async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
        let sql = "SELECT id, at, actor, request, action, subject, detail, digest FROM audit \
                   WHERE id < $1 ORDER BY id DESC LIMIT $2";
        self.rows(sql, values![before, page(limit)]).await
    }

    /// Recomputes all figures from postings and holds, and compares.
    pub async fn check_ledger(&self) -> Result<LedgerCheck> {
        match self {
            Self::Sqlite(database) => database.check_ledger().await,
            Self::Postgres(database) => Box::pin(database.check_ledger()).await,
        }
    }
}
