//! The ledger check: the database recomputes all figures on one snapshot, in bounded memory.

use ledger::{HouseAccount, Micros};
use tokio_postgres::{Client, IsolationLevel, Transaction};

use super::rows::RowReader;
use super::usage;
use crate::audit::AuditTail;
use crate::check::{BudgetSum, MAX_FINDINGS, wrong_budgets};
use crate::error::Result;
use crate::records::audit_entry;
use crate::usage::wrong_usage;
use crate::{LedgerCheck, LedgerFinding};

/// Audit entries per query.
const PAGE: i64 = 1000;

/// The name of a figure, and a query for rows that do not match: `what, stored, added_up`.
const CHECKS: [(&str, &str); 9] = [
    (
        "balance",
        "SELECT 'member ' || coalesce(m.id, p.member) AS what, coalesce(m.balance, 0) AS stored, \
            coalesce(p.total, 0)::bigint AS added_up \
        FROM members m \
        FULL JOIN (SELECT member, sum(amount) AS total FROM postings GROUP BY member) p \
            ON p.member = m.id \
        WHERE m.id IS NULL OR m.balance <> coalesce(p.total, 0)",
    ),
    (
        "held",
        "SELECT 'member ' || coalesce(m.id, h.member) AS what, coalesce(m.held, 0) AS stored, \
            coalesce(h.total, 0)::bigint AS added_up \
        FROM members m \
        FULL JOIN (SELECT coalesce(payer, member) AS member, sum(amount) AS total FROM holds \
            GROUP BY 1) h ON h.member = m.id \
        WHERE m.id IS NULL OR m.held <> coalesce(h.total, 0)",
    ),
    (
        "held",
        "SELECT 'key lineage ' || coalesce(l.id, h.lineage) AS what, \
            coalesce(l.held, 0) AS stored, coalesce(h.total, 0)::bigint AS added_up \
        FROM lineages l \
        FULL JOIN (SELECT lineage, sum(amount) AS total FROM holds GROUP BY lineage) h \
            ON h.lineage = l.id \
        WHERE l.id IS NULL OR l.held <> coalesce(h.total, 0)",
    ),
    (
        "running",
        "SELECT 'key lineage ' || l.id AS what, l.running AS stored, \
            coalesce(h.total, 0) AS added_up \
        FROM lineages l \
        LEFT JOIN (SELECT lineage, count(*) AS total FROM holds GROUP BY lineage) h \
            ON h.lineage = l.id \
        WHERE l.running <> coalesce(h.total, 0)",
    ),
    (
        "spent",
        "SELECT 'key lineage ' || coalesce(l.id, r.lineage) AS what, \
            coalesce(l.spent, 0) AS stored, coalesce(r.total, 0)::bigint AS added_up \
        FROM lineages l \
        FULL JOIN (SELECT lineage, sum(charged) AS total FROM receipts GROUP BY lineage) r \
            ON r.lineage = l.id \
        WHERE l.id IS NULL OR l.spent <> coalesce(r.total, 0)",
    ),
    (
        "charged",
        "SELECT 'receipt req_' || replace(coalesce(r.id, p.hold)::text, '-', '') AS what, \
            coalesce(r.charged, 0) AS stored, coalesce(p.total, 0)::bigint AS added_up \
        FROM (SELECT id, coalesce(payer, member) AS member, charged FROM receipts WHERE charged > 0) r \
        FULL JOIN (SELECT hold, min(member) AS member, -sum(amount) AS total, count(*) AS times \
            FROM postings WHERE hold IS NOT NULL GROUP BY hold) p ON p.hold = r.id \
        WHERE r.id IS NULL OR p.hold IS NULL OR r.charged <> p.total OR r.member <> p.member \
            OR p.times <> 1",
    ),
    (
        "hold",
        "SELECT 'posting ' || id AS what, amount AS stored, 0::bigint AS added_up FROM postings \
        WHERE (kind = 'charge') <> (hold IS NOT NULL)",
    ),
    (
        "balance",
        "SELECT 'posting ' || id AS what, balance AS stored, added_up \
        FROM (SELECT id, balance, \
            coalesce(lag(balance) OVER (PARTITION BY member ORDER BY id), 0) + amount AS added_up \
            FROM postings) p \
        WHERE balance <> added_up",
    ),
    (
        "ended",
        "SELECT 'hold req_' || replace(h.id::text, '-', '') AS what, h.amount AS stored, \
            r.charged AS added_up \
        FROM holds h JOIN receipts r ON r.id = h.id",
    ),
];

const COUNTS: &str = "SELECT (SELECT count(*) FROM members), (SELECT count(*) FROM holds), \
    (SELECT coalesce(sum(balance), 0)::bigint FROM members)";

const HOUSE: &str = "SELECT house, count(*), -sum(amount)::bigint FROM postings GROUP BY house";

const ENTRIES: &str = "SELECT id, at, actor, request, action, subject, detail, digest FROM audit \
    WHERE id > $1 ORDER BY id LIMIT $2";

/// Checks one snapshot without a timeout.
pub(super) async fn run(client: &mut Client) -> Result<LedgerCheck> {
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let no_timeouts =
        "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
    transaction.batch_execute(no_timeouts).await?;
    let mut check = totals(&transaction).await?;
    for (figure, sql) in CHECKS {
        find(&transaction, figure, sql, &mut check).await?;
    }
    for sql in wrong_usage(usage::DIALECT, "") {
        find(&transaction, "usage", &sql, &mut check).await?;
    }
    for sum in [BudgetSum::Charged, BudgetSum::Held] {
        for sql in wrong_budgets(sum, "") {
            find(&transaction, "budget", &sql, &mut check).await?;
        }
    }
    check_audit(&transaction, &mut check).await?;
    Ok(check)
}

async fn totals(transaction: &Transaction<'_>) -> Result<LedgerCheck> {
    let row = transaction.query_one(COUNTS, &[]).await?;
    let mut columns = RowReader::new(&row);
    let mut check = LedgerCheck {
        members: count(columns.take()?),
        holds: count(columns.take()?),
        ..LedgerCheck::default()
    };
    let stored: i64 = columns.take()?;
    check.house = HouseAccount::ALL.map(|house| (house.as_str().to_owned(), Micros::ZERO)).into();
    let mut house_total: i64 = 0;
    for row in transaction.query(HOUSE, &[]).await? {
        let mut columns = RowReader::new(&row);
        let (name, postings, sum): (&str, i64, i64) =
            (columns.take()?, columns.take()?, columns.take()?);
        check.postings += count(postings);
        house_total = house_total.saturating_add(sum);
        for (house, total) in &mut check.house {
            if house == name {
                *total = Micros::new(sum);
            }
        }
    }
    check.members_total = Micros::new(house_total.saturating_neg());
    // The stored balances, so that a balance that was changed without a posting is detected.
    check.sum = Micros::new(stored.saturating_add(house_total));
    Ok(check)
}

async fn find(
    transaction: &Transaction<'_>,
    figure: &str,
    sql: &str,
    check: &mut LedgerCheck,
) -> Result<()> {
    let sql = format!(
        "SELECT what, stored, added_up, count(*) OVER () FROM ({sql}) AS found \
        ORDER BY length(what), what LIMIT $1"
    );
    let limit = i64::try_from(MAX_FINDINGS).unwrap_or(i64::MAX);
    let found = transaction.query(&sql, &[&limit]).await?;
    for (index, row) in found.iter().enumerate() {
        let mut columns = RowReader::new(row);
        let finding = LedgerFinding {
            what: columns.take()?,
            figure: figure.to_owned(),
            stored: columns.take()?,
            added_up: columns.take()?,
        };
        if index == 0 {
            check.wrong += count(columns.take()?);
        }
        check.list(finding);
    }
    Ok(())
}

async fn check_audit(transaction: &Transaction<'_>, check: &mut LedgerCheck) -> Result<()> {
    let entries = transaction.prepare(ENTRIES).await?;
    let mut last = AuditTail::default();
    loop {
        let page = transaction.query(&entries, &[&last.id, &PAGE]).await?;
        if page.is_empty() {
            return Ok(());
        }
        for row in &page {
            let entry = audit_entry(&mut RowReader::new(row))?;
            let expected = last.id + 1;
            if entry.id != expected || entry.digest != entry.digest_after(&last.digest) {
                check.wrong += 1;
                let what = format!("audit entry {}", entry.id);
                let figure = "digest".to_owned();
                check.list(LedgerFinding { what, figure, stored: entry.id, added_up: expected });
            }
            last = AuditTail { id: entry.id, digest: entry.digest };
        }
    }
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
