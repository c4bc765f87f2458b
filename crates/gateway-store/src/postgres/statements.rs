//! The statements of a batch: prepared once per connection, each for any number of rows.

use tokio_postgres::{Client, Error, Statement};

use crate::audit_log;
use crate::executor::for_postgres;
use crate::tables::{
    ANSWERS, ARTIFACTS, AUDIT, HOLDS, IDEMPOTENCY, LINEAGES, MEDIA_RUNS, MEMBERS, POSTINGS,
    RECEIPTS, RESPONSES, SUB_REQUESTS, UPDATE_RESPONSE, USAGE,
};

pub(crate) const ACCOUNT: &str = "SELECT id, balance, held, blocked, day, day_requests, day_charged, \
    month, month_requests, month_charged, budget, budget_period, budget_start, budget_charged, \
    budget_held, kind, team FROM members";

pub(crate) const LINEAGE: &str = "SELECT id, member, spend_limit, requests_per_minute, concurrency, \
    budget, budget_period, budget_start, budget_charged, budget_held, spent, held, running, \
    next_arrival, last_used FROM lineages";

/// The lock on a member's row protects everything of the member, and that on a team's row its account.
/// Teams of members and those that pay for holds are locked too, all in id order to avoid deadlocks.
const LOCK_MEMBERS: &str = "WHERE id = ANY($1::bigint[] \
        || ARRAY(SELECT team FROM members WHERE id = ANY($1::bigint[]) AND team IS NOT NULL) \
        || ARRAY(SELECT payer FROM holds WHERE id = ANY($2::uuid[]) AND payer IS NOT NULL)) \
    ORDER BY id FOR NO KEY UPDATE";

const OF_LINEAGES: &str =
    "WHERE id = ANY($1 || ARRAY(SELECT lineage FROM holds WHERE id = ANY($2)))";

const LIVE_HOLDS: &str = "SELECT h.id, h.member, coalesce(h.payer, h.member), h.lineage, \
        h.amount, h.operation, h.model, h.owner, h.since, h.lease_until, h.idempotency, r.body_sha256, r.answered \
    FROM holds h \
    LEFT JOIN repeats r ON r.lineage = h.lineage AND r.word = h.idempotency AND r.hold = h.id \
    WHERE h.id = ANY($1)";

/// A key that is not answered belongs to a live hold and does not expire.
const USED_KEYS: &str = "SELECT r.lineage, r.word, r.body_sha256, r.hold, r.answered \
    FROM unnest($1::bigint[], $2::text[]) AS n (lineage, word) \
    JOIN repeats r ON r.lineage = n.lineage AND r.word = n.word \
    WHERE NOT r.answered OR r.expires_at > {now}";

const REFERENCED: &str = "SELECT p.at, p.kind, p.member, p.amount, p.balance, p.hold, p.reason, \
        p.reference \
    FROM unnest($1::bigint[], $2::text[]) AS n (member, reference) \
    JOIN postings p ON p.member = n.member AND p.reference = n.reference";

/// The time, and those ids that were used before.
const NOW: &str = "SELECT {now}, ARRAY(SELECT id FROM receipts WHERE id = ANY($1))";

/// All ledger rows in one statement: the server answers each statement with a packet, and waking up for
/// a packet costs more than reading it.
fn write_ledger() -> String {
    let mut next = 1;
    let mut parameters = |width| {
        let first = next;
        next += width;
        first
    };
    let members = MEMBERS.update_rows(parameters(MEMBERS.width()));
    let lineages = LINEAGES.update_rows(parameters(LINEAGES.width()));
    let ended = parameters(1);
    let begun = HOLDS.insert_rows(parameters(HOLDS.width()));
    let receipts = RECEIPTS.insert_rows(parameters(RECEIPTS.width()));
    let (posting, postings) = (POSTINGS.names(), POSTINGS.rows(parameters(POSTINGS.width())));
    let (columns, used) = (USAGE.names(), USAGE.rows(parameters(USAGE.width())));
    let added = "requests = u.requests + excluded.requests, \
        input_tokens = u.input_tokens + excluded.input_tokens, \
        output_tokens = u.output_tokens + excluded.output_tokens, \
        charged = u.charged + excluded.charged";
    format!(
        "WITH members_changed AS ({members}), lineages_changed AS ({lineages}), \
         holds_ended AS (DELETE FROM holds WHERE id = ANY(${ended})), \
         holds_begun AS ({begun}), receipts_added AS ({receipts}), \
         used AS (SELECT * FROM {used} AS n ({columns})), \
         usage_added AS ( \
            INSERT INTO usage AS u ({columns}) SELECT {columns} FROM used \
            ON CONFLICT (day, member, lineage, operation, model, team) DO UPDATE SET {added}), \
         totals_added AS ( \
            INSERT INTO usage_totals AS u \
            SELECT day, operation, model, pg_backend_pid() % 16, sum(requests)::bigint, \
                sum(input_tokens)::bigint, sum(output_tokens)::bigint, sum(charged)::bigint \
            FROM used GROUP BY day, operation, model ORDER BY day, operation, model \
            ON CONFLICT (day, operation, model, shard) DO UPDATE SET {added}) \
         INSERT INTO postings ({posting}) SELECT {posting} \
         FROM {postings} WITH ORDINALITY AS n ({posting}, place) ORDER BY place"
    )
}

fn upsert_idempotency() -> String {
    let insert = IDEMPOTENCY.insert_rows(1);
    format!(
        "{insert} ON CONFLICT (lineage, word) DO UPDATE SET body_sha256 = excluded.body_sha256, \
         hold = excluded.hold, answered = excluded.answered, expires_at = excluded.expires_at"
    )
}

fn upsert_responses() -> String {
    let insert = RESPONSES.insert_rows(1);
    format!("{insert} {UPDATE_RESPONSE} WHERE responses.member = excluded.member")
}

/// Inserts artifacts and marks their objects as referenced. Objects are locked in the order of their
/// names to avoid deadlocks.
fn insert_artifacts() -> String {
    let insert = ARTIFACTS.insert_rows(1);
    format!(
        "WITH locked AS ( \
            SELECT name FROM media_objects WHERE name = ANY($5) AND state < 2 \
            ORDER BY name FOR NO KEY UPDATE), \
        referred AS ( \
            UPDATE media_objects o SET state = 1 FROM locked WHERE o.name = locked.name) \
        {insert}"
    )
}

const DELETE_IDEMPOTENCY: &str = "DELETE FROM repeats r \
    USING unnest($1::bigint[], $2::text[]) AS n (lineage, word) \
    WHERE r.lineage = n.lineage AND r.word = n.word";

macro_rules! statements {
    ($($name:ident: $sql:expr,)*) => {
        pub(super) struct Statements {
            $(pub(super) $name: Statement,)*
        }

        impl Statements {
            /// Prepares all statements in one round trip.
            pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
                let ($($name,)*) = tokio::try_join!($(async { client.prepare(&for_postgres($sql)).await },)*)?;
                Ok(Self { $($name,)* })
            }
        }
    };
}

statements! {
    begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
    lock_members: &format!("{ACCOUNT} {LOCK_MEMBERS}"),
    lineages: &format!("{LINEAGE} {OF_LINEAGES}"),
    holds: LIVE_HOLDS,
    idempotency: USED_KEYS,
    referenced: REFERENCED,
    now: NOW,
    lock_audit: audit_log::LOCK,
    last_audit: audit_log::TAIL,
    write_ledger: &write_ledger(),
    upsert_idempotency: &upsert_idempotency(),
    delete_idempotency: DELETE_IDEMPOTENCY,
    insert_sub_requests: &SUB_REQUESTS.insert_rows(1),
    insert_answers: &ANSWERS.insert_rows(1),
    upsert_responses: &upsert_responses(),
    insert_runs: &MEDIA_RUNS.insert_rows(1),
    insert_artifacts: &insert_artifacts(),
    insert_audit: &AUDIT.insert_rows(1),
    commit: "COMMIT",
}
