//! Results of a ledger check.

use ledger::Micros;

/// The most findings that a check lists. It counts all of them.
pub const MAX_FINDINGS: usize = 1000;

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

impl LedgerCheck {
    pub(crate) fn list(&mut self, finding: LedgerFinding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        }
    }
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

/// The sums that budgets count: of which rows, and where they are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BudgetSum {
    Charged,
    Held,
}

/// Queries for budgets of members and keys whose use does not match: `what, stored, added_up`. A condition
/// restricts the rows `r` that are summed up.
pub(crate) fn wrong_budgets(sum: BudgetSum, condition: &str) -> [String; 2] {
    let (rows, amount, stored) = match sum {
        BudgetSum::Charged => ("receipts", "charged", "budget_charged"),
        BudgetSum::Held => ("holds", "amount", "budget_held"),
    };
    // The budget of a member counts all its requests, that of a team those that it pays for.
    let of_accounts = format!(
        "(SELECT id, member AS owner, since, {amount} FROM {rows} UNION ALL \
         SELECT id, payer, since, {amount} FROM {rows} WHERE payer IS NOT NULL)"
    );
    let of_keys = format!("(SELECT id, lineage AS owner, since, {amount} FROM {rows})");
    [("member", "members", of_accounts), ("key lineage", "lineages", of_keys)].map(
        |(name, table, counted)| {
            format!(
                "SELECT '{name} ' || t.id AS what, t.{stored} AS stored, \
                 CAST(coalesce(d.total, 0) AS bigint) AS added_up FROM {table} t LEFT JOIN \
                 (SELECT b.id, sum(r.{amount}) AS total FROM {counted} r \
                 JOIN {table} b ON b.id = r.owner \
                 WHERE b.budget IS NOT NULL AND r.since >= b.budget_start {condition} GROUP BY b.id) d \
                 ON d.id = t.id WHERE t.budget IS NOT NULL AND t.{stored} <> coalesce(d.total, 0)"
            )
        },
    )
}
