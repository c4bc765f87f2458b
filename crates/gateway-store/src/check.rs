//! The ledger check: the database recomputes all figures on one snapshot, in bounded memory.

use ledger::{HouseAccount, Micros, PostingKind};

use crate::AuditEntry;
use crate::audit::AuditTail;
use crate::error::Result;
use crate::executor::Executor;
use crate::usage::{settled_rules, wrong_usage};
use crate::value::values;

/// Maximum number of listed findings. All of them are counted.
pub const MAX_FINDINGS: usize = 1000;
/// Audit entries per query.
const AUDIT_PAGE: u32 = 1000;

/// Whether derived rows include a posting. SQLite may write these rows later: see
/// `sqlite::deferred_rows`.
const IS_INCLUDED: &str = "{true|id <= (SELECT posting FROM followed)}";
/// The holds of postings that these rows do not include.
const LATER_HOLDS: &str = "(SELECT hold FROM postings WHERE hold IS NOT NULL \
    AND {false|id > (SELECT posting FROM followed)})";

/// The ledger, recomputed from postings and holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerCheck {
    pub members: u64,
    pub postings: u64,
    pub holds: u64,
    /// The sum of all balances, from the postings.
    pub members_total: Micros,
    /// Name and sum of each house account, from the postings.
    pub house: Vec<(String, Micros)>,
    /// The sum over all accounts; zero in a correct ledger.
    pub sum: Micros,
    /// Number of findings.
    pub wrong: u64,
    /// The first findings.
    pub findings: Vec<LedgerFinding>,
}

/// A stored figure that differs from the recomputed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerFinding {
    /// The row: `member 3`, `key lineage 7`, `posting 12`.
    pub what: String,
    /// The figure: `balance`, `held`, `spent`, `running` …
    pub figure: String,
    pub stored: i64,
    pub added_up: i64,
}

/// The name of a figure, and a query for rows that do not match: `what, stored, added_up`.
pub(crate) type Comparison = (&'static str, String);

/// Checks the snapshot of a transaction, with comparisons of what only this database stores.
pub(crate) async fn run(db: &mut impl Executor, own: Vec<Comparison>) -> Result<LedgerCheck> {
    let mut check = totals(db).await?;
    for (figure, sql) in comparisons().into_iter().chain(own) {
        compare(db, figure, &sql, &mut check).await?;
    }
    if check.sum != Micros::ZERO {
        check.wrong += 1;
        check.list("all accounts".to_owned(), "sum", check.sum.get(), 0);
    }
    check_audit(db, &mut check).await?;
    Ok(check)
}

fn comparisons() -> Vec<Comparison> {
    let amounts = format!(
        "SELECT member AS id, CASE WHEN {IS_INCLUDED} THEN amount ELSE 0 END AS due FROM postings"
    );
    let charged = format!(
        "SELECT lineage AS id, CASE WHEN id IN {LATER_HOLDS} THEN 0 ELSE charged END AS due \
         FROM receipts"
    );
    let receipt = "'receipt req_' || {replace(id::text, '-', '')|lower(hex(id))} AS what";
    let by_receipt = format!(
        "SELECT {receipt}, CAST(sum(charged) AS bigint) AS stored, \
         CAST(sum(posted) AS bigint) AS added_up \
         FROM (SELECT id, coalesce(payer, member) AS member, charged, 0 AS posted \
         FROM receipts WHERE charged > 0 UNION ALL \
         SELECT hold, member, 0, -amount FROM postings WHERE hold IS NOT NULL) AS charges \
         GROUP BY id HAVING sum(charged) <> sum(posted) OR count(*) <> 2 OR min(member) <> max(member)"
    );
    let rules = format!(
        "SELECT {receipt}, charged AS stored, 0 AS added_up FROM receipts \
         WHERE charged > 0 AND rule NOT IN ({})",
        settled_rules()
    );
    let kinds = "SELECT 'posting ' || id AS what, amount AS stored, 0 AS added_up FROM postings \
                 WHERE (kind = 'charge') <> (hold IS NOT NULL)";
    let balances = "SELECT 'posting ' || id AS what, balance AS stored, added_up \
                    FROM (SELECT id, balance, coalesce(lag(balance) \
                    OVER (PARTITION BY member ORDER BY id), 0) + amount AS added_up FROM postings) p \
                    WHERE balance <> added_up";
    let ended = "SELECT 'hold req_' || {replace(h.id::text, '-', '')|lower(hex(h.id))} AS what, \
                 h.amount AS stored, r.charged AS added_up \
                 FROM holds h JOIN receipts r ON r.id = h.id";
    let mut comparisons = vec![
        ("balance", sums("member", "members", "balance", &amounts)),
        ("spent", sums("key lineage", "lineages", "spent", &charged)),
        ("charged", by_receipt),
        ("charge contradicts its rule", rules),
        ("hold", kinds.to_owned()),
        ("balance", balances.to_owned()),
        ("ended", ended.to_owned()),
    ];
    let usage = wrong_usage(&format!("AND id NOT IN {LATER_HOLDS}"));
    comparisons.extend(usage.map(|sql| ("usage", sql)));
    comparisons.extend(budgets("receipts", "charged", &format!("AND r.id NOT IN {LATER_HOLDS}")));
    comparisons
}

/// Comparisons of what PostgreSQL stores about live holds.
pub(crate) fn stored_holds() -> Vec<Comparison> {
    let of_members = "SELECT coalesce(payer, member) AS id, amount AS due FROM holds";
    let of_lineages = "SELECT lineage AS id, amount AS due FROM holds";
    let running = "SELECT lineage AS id, 1 AS due FROM holds";
    let mut comparisons = vec![
        ("held", sums("member", "members", "held", of_members)),
        ("held", sums("key lineage", "lineages", "held", of_lineages)),
        ("running", sums("key lineage", "lineages", "running", running)),
    ];
    comparisons.extend(budgets("holds", "amount", ""));
    comparisons
}

/// Comparisons of what only SQLite stores, and what constraints of PostgreSQL ensure.
pub(crate) fn links() -> Vec<Comparison> {
    let held = "SELECT 'member ' || id AS what, sum(held) AS stored, sum(amount) AS added_up \
                FROM (SELECT coalesce(payer, member) AS id, amount AS held, 0 AS amount FROM holds \
                UNION ALL SELECT member, 0, amount FROM postings) \
                GROUP BY id HAVING sum(held) > sum(amount)";
    let lineages = "SELECT DISTINCT 'holds of key lineage ' || lineage AS what, lineage AS stored, \
                    0 AS added_up FROM holds WHERE NOT EXISTS (SELECT 1 FROM lineages \
                    WHERE lineages.id = holds.lineage AND lineages.member = holds.member)";
    let previous = "SELECT 'posting ' || id AS what, coalesce(previous, 0) AS stored, added_up \
                    FROM (SELECT id, previous, coalesce(lag(id) \
                    OVER (PARTITION BY member ORDER BY id), 0) AS added_up FROM postings) \
                    WHERE coalesce(previous, 0) <> added_up";
    let last = format!(
        "SELECT 'member ' || m.id AS what, coalesce(m.last_posting, 0) AS stored, \
         coalesce(p.last, 0) AS added_up FROM members m \
         LEFT JOIN (SELECT member, max(id) AS last FROM postings WHERE {IS_INCLUDED} \
         GROUP BY member) p ON p.member = m.id \
         WHERE coalesce(m.last_posting, 0) <> coalesce(p.last, 0)"
    );
    let all =
        [("held", held), ("lineage", lineages), ("previous", previous), ("last posting", &last)];
    all.map(|(figure, sql)| (figure, sql.to_owned())).into()
}

/// Rows of a table whose figure is not the sum of the amounts `id, due`.
fn sums(name: &str, table: &str, figure: &str, amounts: &str) -> String {
    format!(
        "SELECT '{name} ' || id AS what, CAST(sum(stored) AS bigint) AS stored, \
         CAST(sum(due) AS bigint) AS added_up \
         FROM (SELECT id, {figure} AS stored, 0 AS due, 1 AS found FROM {table} \
         UNION ALL SELECT id, 0, due, 0 FROM ({amounts}) AS amounts) AS compared \
         GROUP BY id HAVING sum(stored) <> sum(due) OR sum(found) = 0"
    )
}

/// Budgets of members and keys whose use is not the sum of receipts or holds `r`.
fn budgets(rows: &str, amount: &str, condition: &str) -> [Comparison; 2] {
    let stored = if rows == "holds" { "budget_held" } else { "budget_charged" };
    // The budget of a member counts all its requests, that of a team those that it pays for.
    let of_accounts = format!(
        "(SELECT id, member AS owner, since, {amount} FROM {rows} UNION ALL \
         SELECT id, payer, since, {amount} FROM {rows} WHERE payer IS NOT NULL)"
    );
    let of_keys = format!("(SELECT id, lineage AS owner, since, {amount} FROM {rows})");
    [("member", "members", of_accounts), ("key lineage", "lineages", of_keys)].map(
        |(name, table, counted)| {
            let sql = format!(
                "SELECT '{name} ' || t.id AS what, t.{stored} AS stored, \
                 CAST(coalesce(d.total, 0) AS bigint) AS added_up FROM {table} t LEFT JOIN \
                 (SELECT b.id, sum(r.{amount}) AS total FROM {counted} r \
                 JOIN {table} b ON b.id = r.owner \
                 WHERE b.budget IS NOT NULL AND r.since >= b.budget_start {condition} GROUP BY b.id) d \
                 ON d.id = t.id WHERE t.budget IS NOT NULL AND t.{stored} <> coalesce(d.total, 0)"
            );
            ("budget", sql)
        },
    )
}

async fn totals(db: &mut impl Executor) -> Result<LedgerCheck> {
    let sql = "SELECT kind, count(*), CAST(-sum(amount) AS bigint) FROM postings GROUP BY kind";
    let sums: Vec<(PostingKind, u64, i64)> = db.rows(sql, values![]).await?;
    let total = |house: HouseAccount| {
        let sum = sums.iter().find(|(kind, ..)| kind.house() == house);
        sum.map_or(0, |(.., sum)| *sum)
    };
    let house = HouseAccount::ALL.map(|house| (house, total(house)));
    let house_total = house.iter().fold(0_i64, |sum, (_, total)| sum.saturating_add(*total));
    let sql = "SELECT (SELECT count(*) FROM members), (SELECT count(*) FROM holds), \
               (SELECT CAST(coalesce(sum(balance), 0) AS bigint) FROM members)";
    let (members, holds, balances) = db.row(sql, values![]).await?.unwrap_or_default();
    // Balances that SQLite stores do not include later postings.
    let sql = format!(
        "SELECT CAST(coalesce(sum(amount), 0) AS bigint) FROM postings WHERE NOT {IS_INCLUDED}"
    );
    let later: i64 = db.row(&sql, values![]).await?.unwrap_or_default();
    // The stored balances, so that a balance that was changed without a posting is detected.
    let stored = i64::saturating_add(balances, later);
    Ok(LedgerCheck {
        members,
        postings: sums.iter().map(|(_, count, _)| count).sum(),
        holds,
        members_total: Micros::new(house_total.saturating_neg()),
        house: house.map(|(house, sum)| (house.as_str().to_owned(), Micros::new(sum))).into(),
        sum: Micros::new(stored.saturating_add(house_total)),
        ..LedgerCheck::default()
    })
}

async fn compare(
    db: &mut impl Executor,
    figure: &str,
    sql: &str,
    check: &mut LedgerCheck,
) -> Result<()> {
    let sql = format!(
        "SELECT what, CAST(stored AS bigint), CAST(added_up AS bigint), count(*) OVER () \
         FROM ({sql}) AS found ORDER BY length(what), what LIMIT {MAX_FINDINGS}"
    );
    let found: Vec<(String, i64, i64, u64)> = db.rows(&sql, values![]).await?;
    check.wrong += found.first().map_or(0, |(.., count)| *count);
    for (what, stored, added_up, _) in found {
        check.list(what, figure, stored, added_up);
    }
    Ok(())
}

async fn check_audit(db: &mut impl Executor, check: &mut LedgerCheck) -> Result<()> {
    let sql = "SELECT id, at, actor, request, action, subject, detail, digest FROM audit \
               WHERE id > $1 ORDER BY id LIMIT $2";
    let mut last = AuditTail::default();
    loop {
        let page: Vec<AuditEntry> = db.rows(sql, values![last.id, AUDIT_PAGE]).await?;
        if page.is_empty() {
            return Ok(());
        }
        for entry in page {
            let expected = last.id + 1;
            if entry.id != expected || entry.digest != entry.digest_after(&last.digest) {
                check.wrong += 1;
                check.list(format!("audit entry {}", entry.id), "digest", entry.id, expected);
            }
            last = AuditTail { id: entry.id, digest: entry.digest };
        }
    }
}

impl LedgerCheck {
    fn list(&mut self, what: String, figure: &str, stored: i64, added_up: i64) {
        if self.findings.len() < MAX_FINDINGS {
            let figure = figure.to_owned();
            self.findings.push(LedgerFinding { what, figure, stored, added_up });
        }
    }
}
