//! What a check of the ledger finds.

use ledger::Micros;

/// The most findings a check lists; it counts them all.
pub const MAX_FINDINGS: usize = 1000;

/// The books, added up again from postings and holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerCheck {
    /// Members looked at.
    pub members: u64,
    /// Postings added up.
    pub postings: u64,
    /// Live holds.
    pub holds: u64,
    /// What all members have together, by the postings.
    pub members_total: Micros,
    /// What the accounts of the house have, by the postings: name and sum.
    pub house: Vec<(String, Micros)>,
    /// Sum over all accounts; zero when all is well.
    pub sum: Micros,
    /// How many things do not add up.
    pub wrong: u64,
    /// The first of them.
    pub findings: Vec<LedgerFinding>,
}

/// One thing that does not add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerFinding {
    /// Which row: `member 3`, `key lineage 7`, `posting 12`.
    pub what: String,
    /// Which figure: `balance`, `held`, `spent`, `running` …
    pub figure: String,
    /// As it is stored.
    pub stored: i64,
    /// As it adds up.
    pub added_up: i64,
}
