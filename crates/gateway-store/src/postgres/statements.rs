//! The statements of a batch: prepared once per connection, each for any number of rows.

use tokio_postgres::{Client, Error, Statement};

/// The database's clock in microseconds, so that leases and rates mean the same to all processes.
const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// The statement with the clock of the database in the place of `{now}`.
pub(super) fn with_clock(sql: &str) -> String {
    sql.replace("{now}", CLOCK)
}

/// Sets or removes the budget of a row. A new one counts requests that begin after now.
macro_rules! set_budget {
    ($table:literal) => {
        concat!(
            "UPDATE ",
            $table,
            " SET budget = $2, budget_period = $3, \
            budget_start = CASE WHEN budget IS NULL THEN 1 + {now} ELSE budget_start END, \
            budget_charged = CASE WHEN budget IS NULL THEN 0 ELSE budget_charged END, \
            budget_held = CASE WHEN budget IS NULL THEN 0 ELSE budget_held END \
            WHERE id = $1"
        )
    };
}
pub(super) use set_budget;

/// The lock on a member's row protects everything of the member, and that on a team's row its account.
/// Teams of members and those that pay for holds are locked too, all in id order to avoid deadlocks.
const LOCK_MEMBERS: &str = "SELECT id, balance, held, blocked, day, day_requests, day_charged, \
        month, month_requests, month_charged, budget, budget_period, budget_start, \
        budget_charged, budget_held, kind, team \
    FROM members \
    WHERE id = ANY($1::bigint[] \
        || ARRAY(SELECT team FROM members WHERE id = ANY($1::bigint[]) AND team IS NOT NULL) \
        || ARRAY(SELECT payer FROM holds WHERE id = ANY($2::uuid[]) AND payer IS NOT NULL)) \
    ORDER BY id FOR NO KEY UPDATE";

const LINEAGES: &str = "SELECT id, member, spend_limit, requests_per_minute, concurrency, budget, \
        budget_period, budget_start, budget_charged, budget_held, spent, held, running, \
        next_arrival, last_used \
    FROM lineages \
    WHERE id = ANY($1 || ARRAY(SELECT lineage FROM holds WHERE id = ANY($2)))";

const HOLDS: &str = "SELECT h.id, h.member, h.payer, h.lineage, h.amount, h.operation, h.model, \
    h.owner, \
        h.since, h.lease_until, h.idempotency, r.body_sha256, r.answered \
    FROM holds h \
    LEFT JOIN repeats r ON r.lineage = h.lineage AND r.word = h.idempotency AND r.hold = h.id \
    WHERE h.id = ANY($1)";

/// A key that is not answered belongs to a live hold and does not expire.
const IDEMPOTENCY: &str = "SELECT r.lineage, r.word, r.body_sha256, r.hold, r.answered \
    FROM unnest($1::bigint[], $2::text[]) AS n (lineage, word) \
    JOIN repeats r ON r.lineage = n.lineage AND r.word = n.word \
    WHERE NOT r.answered OR r.expires_at > {now}";

const REFERENCED: &str = "SELECT p.at, p.kind, p.member, p.house, p.amount, p.balance, p.hold, \
        p.reason, p.reference \
    FROM unnest($1::bigint[], $2::text[]) AS n (member, reference) \
    JOIN postings p ON p.member = n.member AND p.reference = n.reference";

/// The time, and those ids that were used before.
const NOW: &str = "SELECT {now}, ARRAY(SELECT id FROM receipts WHERE id = ANY($1))";

/// All ledger rows in one statement: the server answers each statement with a packet, and waking up for
/// a packet costs more than reading it.
const WRITE_LEDGER: &str = "WITH \
    members_changed AS ( \
        UPDATE members m SET balance = n.balance, held = n.held, \
            day = n.day, day_requests = n.day_requests, day_charged = n.day_charged, \
            month = n.month, month_requests = n.month_requests, month_charged = n.month_charged, \
            budget_start = n.budget_start, budget_charged = n.budget_charged, \
            budget_held = n.budget_held \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], \
            $6::bigint[], $7::integer[], $8::bigint[], $9::bigint[], $10::bigint[], \
            $11::bigint[], $12::bigint[]) \
            AS n (id, balance, held, day, day_requests, day_charged, month, month_requests, \
                month_charged, budget_start, budget_charged, budget_held) \
        WHERE m.id = n.id), \
    lineages_changed AS ( \
        UPDATE lineages l SET spent = n.spent, held = n.held, running = n.running, \
            next_arrival = n.next_arrival, budget_start = n.budget_start, \
            budget_charged = n.budget_charged, budget_held = n.budget_held, \
            last_used = n.last_used \
        FROM unnest($13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], \
            $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[]) \
            AS n (id, spent, held, running, next_arrival, budget_start, budget_charged, \
                budget_held, last_used) \
        WHERE l.id = n.id), \
    holds_ended AS (DELETE FROM holds WHERE id = ANY($22)), \
    holds_begun AS ( \
        INSERT INTO holds (id, member, lineage, amount, operation, model, owner, since, \
            lease_until, idempotency, payer) \
        SELECT * FROM unnest($23::uuid[], $24::bigint[], $25::bigint[], $26::bigint[], \
            $27::text[], $28::text[], $29::bigint[], $30::bigint[], $31::bigint[], $32::text[], \
            $33::bigint[])), \
    receipts_added AS ( \
        INSERT INTO receipts (id, member, lineage, charged, rule, operation, model, \
            input_tokens, output_tokens, since, at, payer, attempts) \
        SELECT * FROM unnest($34::uuid[], $35::bigint[], $36::bigint[], $37::bigint[], \
            $38::text[], $39::text[], $40::text[], $41::bigint[], $42::bigint[], \
            $43::bigint[], $44::bigint[], $45::bigint[], $46::text[])), \
    used AS ( \
        SELECT * FROM unnest($56::integer[], $57::bigint[], $58::bigint[], $59::text[], \
            $60::text[], $61::bigint[], $62::bigint[], $63::bigint[], $64::bigint[], $65::bigint[]) \
            AS n (day, member, lineage, operation, model, team, requests, input_tokens, output_tokens, \
                charged)), \
    usage_added AS ( \
        INSERT INTO usage AS u (day, member, lineage, operation, model, team, requests, \
            input_tokens, output_tokens, charged) \
        SELECT * FROM used \
        ON CONFLICT (day, member, lineage, operation, model, team) DO UPDATE SET \
            requests = u.requests + excluded.requests, \
            input_tokens = u.input_tokens + excluded.input_tokens, \
            output_tokens = u.output_tokens + excluded.output_tokens, \
            charged = u.charged + excluded.charged), \
    totals_added AS ( \
        INSERT INTO usage_totals AS u \
        SELECT day, operation, model, pg_backend_pid() % 16, sum(requests)::bigint, \
            sum(input_tokens)::bigint, sum(output_tokens)::bigint, sum(charged)::bigint \
        FROM used GROUP BY day, operation, model ORDER BY day, operation, model \
        ON CONFLICT (day, operation, model, shard) DO UPDATE SET \
            requests = u.requests + excluded.requests, \
            input_tokens = u.input_tokens + excluded.input_tokens, \
            output_tokens = u.output_tokens + excluded.output_tokens, \
            charged = u.charged + excluded.charged) \
    INSERT INTO postings (at, kind, member, house, amount, balance, hold, reason, reference) \
    SELECT at, kind, member, house, amount, balance, hold, reason, reference \
    FROM unnest($47::bigint[], $48::text[], $49::bigint[], $50::text[], $51::bigint[], \
        $52::bigint[], $53::uuid[], $54::text[], $55::text[]) WITH ORDINALITY \
        AS n (at, kind, member, house, amount, balance, hold, reason, reference, place) \
    ORDER BY place";

const UPSERT_IDEMPOTENCY: &str = "INSERT INTO repeats (lineage, word, body_sha256, hold, answered, \
        expires_at) \
    SELECT *, $6::bigint \
    FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::uuid[], $5::boolean[]) \
    ON CONFLICT (lineage, word) DO UPDATE SET body_sha256 = excluded.body_sha256, \
        hold = excluded.hold, answered = excluded.answered, expires_at = excluded.expires_at";

const DELETE_IDEMPOTENCY: &str = "DELETE FROM repeats r \
    USING unnest($1::bigint[], $2::text[]) AS n (lineage, word) \
    WHERE r.lineage = n.lineage AND r.word = n.word";

const INSERT_SUB_REQUESTS: &str =
    "INSERT INTO sub_requests (id, parent) SELECT * FROM unnest($1::uuid[], $2::uuid[])";

const INSERT_ANSWERS: &str = "INSERT INTO answers (hold, status, content_type, body, expires_at) \
    SELECT *, $5::bigint FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::bytea[])";

const UPSERT_RESPONSES: &str = "INSERT INTO responses (id, member, lineage, hold, status, body, \
        input, previous, background, created_at, expires_at) \
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::uuid[], $5::text[], \
        $6::bytea[], $7::bytea[], $8::text[], $9::boolean[], $10::bigint[], $11::bigint[]) \
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body, \
        input = excluded.input, previous = excluded.previous, expires_at = excluded.expires_at \
    WHERE responses.member = excluded.member";

/// Serializes writers of the audit log. It is the last lock that a transaction takes.
pub(super) const LOCK_AUDIT: &str = "SELECT pg_advisory_xact_lock(7310577375801501001)";

pub(super) const LAST_AUDIT: &str = "SELECT id, digest FROM audit ORDER BY id DESC LIMIT 1";

const INSERT_AUDIT: &str = "INSERT INTO audit (id, at, actor, request, action, subject, \
        detail, digest) \
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], \
        $6::text[], $7::text[], $8::bytea[])";

const INSERT_RUNS: &str = "INSERT INTO media_runs \
        (id, member, hold, model, capability, charge, created_at, expires_at) \
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], \
        $6::bigint[], $7::bigint[], $8::bigint[])";

/// Inserts artifacts and marks their objects as referenced. Objects are locked in the order of their
/// names to avoid deadlocks.
const INSERT_ARTIFACTS: &str = "WITH \
    locked AS ( \
        SELECT name FROM media_objects WHERE name = ANY($5) AND state < 2 \
        ORDER BY name FOR NO KEY UPDATE), \
    referred AS ( \
        UPDATE media_objects o SET state = 1 FROM locked WHERE o.name = locked.name) \
    INSERT INTO artifacts (id, run, position, member, object, media_type, bytes, sha256, \
    expires_at) \
    SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::text[], \
        $6::text[], $7::bigint[], $8::bytea[], $9::bigint[])";

macro_rules! statements {
    ($($name:ident: $sql:expr,)*) => {
        pub(super) struct Statements {
            $(pub(super) $name: Statement,)*
        }

        impl Statements {
            /// Prepares all statements in one round trip.
            pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
                let ($($name,)*) = tokio::try_join!($(async { client.prepare(&with_clock($sql)).await },)*)?;
                Ok(Self { $($name,)* })
            }
        }
    };
}

statements! {
    begin: "BEGIN ISOLATION LEVEL READ COMMITTED",
    lock_members: LOCK_MEMBERS,
    lineages: LINEAGES,
    holds: HOLDS,
    idempotency: IDEMPOTENCY,
    referenced: REFERENCED,
    now: NOW,
    lock_audit: LOCK_AUDIT,
    last_audit: LAST_AUDIT,
    write_ledger: WRITE_LEDGER,
    upsert_idempotency: UPSERT_IDEMPOTENCY,
    delete_idempotency: DELETE_IDEMPOTENCY,
    insert_sub_requests: INSERT_SUB_REQUESTS,
    insert_answers: INSERT_ANSWERS,
    upsert_responses: UPSERT_RESPONSES,
    insert_runs: INSERT_RUNS,
    insert_artifacts: INSERT_ARTIFACTS,
    insert_audit: INSERT_AUDIT,
    commit: "COMMIT",
}
