//! The tables that batches write to: their columns, and the values of a row.

use std::sync::LazyLock;

use ledger::{Account, Hold, HoldId, IdempotencyRecord, Lineage, Posting, Receipt, Time};

use crate::usage::UsageKey;
use crate::value::Value;
use crate::{Artifact, AuditEntry, MediaRun, SavedAnswer, StoredResponse, UsageCounts};

pub(crate) struct Table {
    name: &'static str,
    /// Names and types of PostgreSQL.
    columns: &'static [(&'static str, &'static str)],
    /// Inserts one row, in both databases.
    pub(crate) insert: String,
}

impl Table {
    fn new(name: &'static str, columns: &'static [(&str, &str)]) -> Self {
        let mut table = Self { name, columns, insert: String::new() };
        let parameters = table.list((1..).map(|n| format!("${n}")));
        table.insert = format!("INSERT INTO {name} ({}) VALUES ({parameters})", table.names());
        table
    }

    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn names(&self) -> String {
        self.list(self.columns.iter().map(|(name, _)| (*name).to_owned()))
    }

    /// In PostgreSQL, rows in array parameters from this number on.
    pub(crate) fn rows(&self, first: usize) -> String {
        let arrays = (first..).zip(self.columns).map(|(n, (_, kind))| format!("${n}::{kind}[]"));
        format!("unnest({})", self.list(arrays))
    }

    /// Inserts such rows.
    pub(crate) fn insert_rows(&self, first: usize) -> String {
        let (name, names, rows) = (self.name, self.names(), self.rows(first));
        format!("INSERT INTO {name} ({names}) SELECT * FROM {rows}")
    }

    /// Updates such rows by their id, the first column.
    pub(crate) fn update_rows(&self, first: usize) -> String {
        let set = self.columns.iter().skip(1).map(|(name, _)| format!("{name} = n.{name}"));
        let (name, names, set) = (self.name, self.names(), self.list(set));
        let rows = self.rows(first);
        format!("UPDATE {name} SET {set} FROM {rows} AS n ({names}) WHERE {name}.id = n.id")
    }

    /// Joins one text for each column, at most.
    fn list(&self, texts: impl Iterator<Item = String>) -> String {
        texts.take(self.width()).collect::<Vec<_>>().join(", ")
    }
}

/// A table, and a function that returns the values of a row: each column with its type and value.
macro_rules! tables {
    ($(
        $(#[doc = $doc:literal])*
        $table:ident = $name:ident, $function:ident($row:ident: $of:ty) {
            $($column:ident $kind:ident = $value:expr,)*
        }
    )*) => {
        $(
            $(#[doc = $doc])*
            pub(crate) static $table: LazyLock<Table> = LazyLock::new(|| {
                let columns = &[$((stringify!($column), stringify!($kind))),*];
                Table::new(stringify!($name), columns)
            });

            pub(crate) fn $function<'a>(
                $row: $of,
            ) -> [Value<'a>; [$(stringify!($column)),*].len()] {
                [$(Value::from($value)),*]
            }
        )*
    };
}

tables! {
    /// SQLite stores neither `held` nor `budget_held`.
    MEMBERS = members, member(row: &'a Account) {
        id bigint = row.id,
        balance bigint = row.balance,
        held bigint = row.held,
        day integer = row.usage.day.number,
        day_requests bigint = row.usage.day.requests,
        day_charged bigint = row.usage.day.charged,
        month integer = row.usage.month.number,
        month_requests bigint = row.usage.month.requests,
        month_charged bigint = row.usage.month.charged,
        budget_start bigint = row.budget_use.start,
        budget_charged bigint = row.budget_use.charged,
        budget_held bigint = row.budget_use.held,
    }
    /// SQLite stores neither `held`, `running` nor `budget_held`.
    LINEAGES = lineages, lineage(row: &'a Lineage) {
        id bigint = row.id,
        spent bigint = row.spent,
        held bigint = row.held,
        running bigint = row.running,
        next_arrival bigint = row.next_arrival,
        budget_start bigint = row.budget_use.start,
        budget_charged bigint = row.budget_use.charged,
        budget_held bigint = row.budget_use.held,
        last_used bigint = row.last_used,
    }
    HOLDS = holds, hold(row: &'a Hold) {
        id uuid = row.id,
        member bigint = row.member,
        lineage bigint = row.lineage,
        amount bigint = row.amount,
        operation text = &*row.operation,
        model text = row.model.as_deref(),
        owner bigint = row.owner,
        since bigint = row.since,
        lease_until bigint = row.lease_until,
        idempotency text = row.idempotency.as_deref(),
        payer bigint = (row.payer != row.member).then_some(row.payer),
    }
    RECEIPTS = receipts, receipt(row: &'a Receipt) {
        id uuid = row.id,
        member bigint = row.member,
        lineage bigint = row.lineage,
        charged bigint = row.charged,
        rule text = row.rule.as_str(),
        operation text = &*row.operation,
        model text = row.model.as_deref(),
        input_tokens bigint = row.tokens.input,
        output_tokens bigint = row.tokens.output,
        since bigint = row.since,
        at bigint = row.at,
        payer bigint = (row.payer != row.member).then_some(row.payer),
        attempts text = row.attempts.as_deref(),
    }
    /// SQLite derives `house`, and adds `previous`.
    POSTINGS = postings, posting(row: &'a Posting) {
        at bigint = row.at,
        kind text = row.kind.as_str(),
        member bigint = row.member,
        house text = row.house.as_str(),
        amount bigint = row.amount,
        balance bigint = row.balance,
        hold uuid = row.hold,
        reason text = row.reason.as_deref(),
        reference text = row.reference.as_deref(),
    }
    USAGE = usage, usage(row: (&'a UsageKey, &'a UsageCounts)) {
        day integer = row.0.day,
        member bigint = row.0.member,
        lineage bigint = row.0.lineage,
        operation text = &*row.0.operation,
        model text = row.0.model(),
        team bigint = row.0.team,
        requests bigint = row.1.requests,
        input_tokens bigint = row.1.input_tokens,
        output_tokens bigint = row.1.output_tokens,
        charged bigint = row.1.charged,
    }
    IDEMPOTENCY = repeats, idempotency(row: (&'a IdempotencyRecord, Time)) {
        lineage bigint = row.0.lineage,
        word text = &row.0.key,
        body_sha256 bytea = &row.0.body_sha256,
        hold uuid = row.0.hold,
        answered boolean = row.0.answered,
        expires_at bigint = row.1,
    }
    SUB_REQUESTS = sub_requests, sub_request(row: (HoldId, HoldId)) {
        id uuid = row.0,
        parent uuid = row.1,
    }
    ANSWERS = answers, answer(row: ((HoldId, &'a SavedAnswer), Time)) {
        hold uuid = row.0.0,
        status integer = row.0.1.status,
        content_type text = &row.0.1.content_type,
        body bytea = &row.0.1.body,
        expires_at bigint = row.1,
    }
    RESPONSES = responses, response(row: &'a StoredResponse) {
        id text = &row.id,
        member bigint = row.member,
        lineage bigint = row.lineage,
        hold uuid = row.hold,
        status text = &row.status,
        body bytea = &row.body,
        input bytea = &row.input,
        previous text = row.previous.as_deref(),
        background boolean = row.background,
        created_at bigint = row.created_at,
        expires_at bigint = row.expires_at,
    }
    MEDIA_RUNS = media_runs, media_run(row: &'a MediaRun) {
        id text = &row.id,
        member bigint = row.member,
        hold uuid = row.hold,
        model text = &row.model,
        capability text = &row.capability,
        charge bigint = row.charge,
        created_at bigint = row.created_at,
        expires_at bigint = row.expires_at,
    }
    ARTIFACTS = artifacts, artifact(row: (&'a MediaRun, i32, &'a Artifact)) {
        id text = &row.2.id,
        run text = &row.0.id,
        position integer = row.1,
        member bigint = row.0.member,
        object text = &row.2.object,
        media_type text = &row.2.media_type,
        bytes bigint = i64::try_from(row.2.bytes).unwrap_or(i64::MAX),
        sha256 bytea = &row.2.sha256,
        expires_at bigint = row.0.expires_at,
    }
    AUDIT = audit, audit_entry(row: &'a AuditEntry) {
        id bigint = row.id,
        at bigint = row.at,
        actor text = &row.actor.name,
        request text = row.actor.request.as_deref(),
        action text = &row.action,
        subject text = &row.subject,
        detail text = &row.detail,
        digest bytea = &row.digest,
    }
}

/// After an insert of a response that may exist.
pub(crate) const UPDATE_RESPONSE: &str = "ON CONFLICT (id) DO UPDATE SET status = excluded.status, \
    body = excluded.body, input = excluded.input, previous = excluded.previous, \
    expires_at = excluded.expires_at";

/// The artifacts of a run, each with its position.
pub(crate) fn artifacts(run: &MediaRun) -> impl Iterator<Item = [Value<'_>; 9]> {
    (0..).zip(&run.artifacts).map(move |(position, it)| artifact((run, position, it)))
}
