//! The statements of a batch: prepared once a connection, each for any number of rows.

use tokio_postgres::{Client, Error, Statement};

/// The database's clock, in microseconds: what is a lease or a rate must mean the same to every
/// process.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}
pub(super) use now;

/// Everything of a member is changed only by whoever has the member's row. Members are locked in
/// one order, so that nobody waits for somebody who waits for him.
const LOCK_MEMBERS: &str = "SELECT id, balance, held, blocked, day, day_requests, day_charged, \
        month, month_requests, month_charged \
    FROM members WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

const LINEAGES: &str = "SELECT id, member, spend_limit, requests_per_minute, concurrency, spent, \
        held, running, next_arrival \
    FROM lineages \
    WHERE id = ANY($1 || ARRAY(SELECT lineage FROM holds WHERE id = ANY($2)))";

const HOLDS: &str = "SELECT h.id, h.member, h.lineage, h.amount, h.operation, h.model, h.owner, \
        h.since, h.lease_until, h.idempotency, r.body_sha256, r.answered \
    FROM holds h \
    LEFT JOIN repeats r ON r.lineage = h.lineage AND r.word = h.idempotency AND r.hold = h.id \
    WHERE h.id = ANY($1)";

/// A key that is not answered belongs to a live hold, however long that lives.
const REPEATS: &str = concat!(
    "SELECT r.lineage, r.word, r.body_sha256, r.hold, r.answered \
    FROM unnest($1::bigint[], $2::text[]) AS n (lineage, word) \
    JOIN repeats r ON r.lineage = n.lineage AND r.word = n.word \
    WHERE NOT r.answered OR r.expires_at > ",
    now!()
);

/// Postings that have these references.
const REFERRED: &str = "SELECT p.at, p.kind, p.member, p.house, p.amount, p.balance, p.hold, \
        p.reason, p.reference \
    FROM unnest($1::bigint[], $2::text[]) AS n (member, reference) \
    JOIN postings p ON p.member = n.member AND p.reference = n.reference";

/// The time, and which of these ids were used before.
const NOW: &str = concat!("SELECT ", now!(), ", ARRAY(SELECT id FROM receipts WHERE id = ANY($1))");

/// Everything that moves money, in one statement: the server answers each with a packet of its
/// own, and to be woken for each costs more than to read it.
const MOVE: &str = "WITH \
    members_changed AS ( \
        UPDATE members m SET balance = n.balance, held = n.held, \
            day = n.day, day_requests = n.day_requests, day_charged = n.day_charged, \
            month = n.month, month_requests = n.month_requests, month_charged = n.month_charged \
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], \
            $6::bigint[], $7::integer[], $8::bigint[], $9::bigint[]) \
            AS n (id, balance, held, day, day_requests, day_charged, month, month_requests, \
                month_charged) \
        WHERE m.id = n.id), \
    lineages_changed AS ( \
        UPDATE lineages l SET spent = n.spent, held = n.held, running = n.running, \
            next_arrival = n.next_arrival \
        FROM unnest($10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[]) \
            AS n (id, spent, held, running, next_arrival) \
        WHERE l.id = n.id), \
    holds_ended AS (DELETE FROM holds WHERE id = ANY($15)), \
    holds_begun AS ( \
        INSERT INTO holds (id, member, lineage, amount, operation, model, owner, since, \
            lease_until, idempotency) \
        SELECT * FROM unnest($16::uuid[], $17::bigint[], $18::bigint[], $19::bigint[], \
            $20::text[], $21::text[], $22::bigint[], $23::bigint[], $24::bigint[], $25::text[])), \
    receipts_added AS ( \
        INSERT INTO receipts (id, member, lineage, charged, rule, operation, model, \
            input_tokens, output_tokens, since, at) \
        SELECT * FROM unnest($26::uuid[], $27::bigint[], $28::bigint[], $29::bigint[], \
            $30::text[], $31::text[], $32::text[], $33::bigint[], $34::bigint[], \
            $35::bigint[], $36::bigint[])) \
    INSERT INTO postings (at, kind, member, house, amount, balance, hold, reason, reference) \
    SELECT at, kind, member, house, amount, balance, hold, reason, reference \
    FROM unnest($37::bigint[], $38::text[], $39::bigint[], $40::text[], $41::bigint[], \
        $42::bigint[], $43::uuid[], $44::text[], $45::text[]) WITH ORDINALITY \
        AS n (at, kind, member, house, amount, balance, hold, reason, reference, place) \
    ORDER BY place";

const UPSERT_REPEATS: &str = "INSERT INTO repeats (lineage, word, body_sha256, hold, answered, \
        expires_at) \
    SELECT *, $6::bigint \
    FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::uuid[], $5::boolean[]) \
    ON CONFLICT (lineage, word) DO UPDATE SET body_sha256 = excluded.body_sha256, \
        hold = excluded.hold, answered = excluded.answered, expires_at = excluded.expires_at";

const DELETE_REPEATS: &str = "DELETE FROM repeats r \
    USING unnest($1::bigint[], $2::text[]) AS n (lineage, word) \
    WHERE r.lineage = n.lineage AND r.word = n.word";

const INSERT_ANSWERS: &str = "INSERT INTO answers (hold, status, content_type, body, expires_at) \
    SELECT *, $5::bigint FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::bytea[])";

const UPSERT_RESPONSES: &str = "INSERT INTO responses (id, member, lineage, hold, status, body, \
        input, previous, background, created_at, expires_at) \
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::uuid[], $5::text[], \
        $6::bytea[], $7::bytea[], $8::text[], $9::boolean[], $10::bigint[], $11::bigint[]) \
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body, \
        input = excluded.input, previous = excluded.previous, expires_at = excluded.expires_at \
    WHERE responses.member = excluded.member";

macro_rules! statements {
    ($($name:ident: $sql:expr,)*) => {
        /// The statements of a batch.
        pub(super) struct Statements {
            $(pub(super) $name: Statement,)*
        }

        impl Statements {
            /// Prepares them all in one round trip.
            pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
                let ($($name,)*) = tokio::try_join!($(client.prepare($sql),)*)?;
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
    repeats: REPEATS,
    referred: REFERRED,
    now: NOW,
    lock_audit: super::audit::LOCK,
    last_audit: super::audit::LAST,
    move_money: MOVE,
    upsert_repeats: UPSERT_REPEATS,
    delete_repeats: DELETE_REPEATS,
    insert_answers: INSERT_ANSWERS,
    upsert_responses: UPSERT_RESPONSES,
    insert_runs: super::media::INSERT_RUNS,
    insert_artifacts: super::media::INSERT_ARTIFACTS,
    insert_audit: super::audit::INSERT,
    commit: "COMMIT",
}
