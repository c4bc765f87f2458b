//! Fills a database as years of service would: members, keys, charges and their receipts.
//!
//! The schema is the service's own. What is written adds up, which `ledger check` confirms. The
//! postings of all members are mixed, as they are when many use a service at once.

use std::time::SystemTime;

use gateway::KeyHasher;
use rusqlite::{Connection, params};

use crate::home;
use crate::service::{CONCURRENCY, CREDIT_MICROS, Home, REQUESTS_PER_MINUTE, new_key};

/// What each charge takes.
const PRICE_MICROS: i64 = 1000;
const SCOPES: &str = "models chat responses research media search fetch mcp";
/// The time between two charges of a member, in microseconds: 40 days.
const PERIOD: i64 = 40 * 86_400_000_000;

/// How much there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) members: i64,
    /// Of all members; each member has as many.
    pub(crate) postings: i64,
    /// How many members have keys that are known here, spread evenly.
    pub(crate) asking: usize,
}

/// Fills the file of a home that has only its schema.
pub(crate) fn fill(home: &mut Home, amount: Amount) {
    let connection = Connection::open(home::file(home).expect("a file")).expect("a database");
    let index = take_index(&connection, "keys_by_member");
    // A loss of power would only lose the measurement.
    let begin = "PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; \
                 PRAGMA temp_store = MEMORY; BEGIN";
    connection.execute_batch(begin).expect("a transaction");
    let start = now() - PERIOD * (amount.postings / amount.members);
    members(&connection, amount, start);
    postings(&connection, amount, start);
    usage(&connection);
    home.keys = keys(&connection, &home.hasher(), amount, start);
    connection.execute_batch(&index).expect("the index again");
    let followed = "UPDATE followed SET posting = (SELECT max(id) FROM postings)";
    connection.execute_batch(followed).expect("the rows tell of all postings");
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").expect("it is written");
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_micros()).expect("a number")
}

/// An index is made faster when all rows are there.
fn take_index(connection: &Connection, name: &str) -> String {
    let find = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    let sql = connection.query_row(find, [name], |row| row.get(0)).expect("an index of the schema");
    connection.execute_batch(&format!("DROP INDEX {name}")).expect("it is dropped");
    sql
}

fn members(connection: &Connection, amount: Amount, start: i64) {
    let spent = PRICE_MICROS * (amount.postings / amount.members - 1);
    let count = amount.members;
    connection
        .execute(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1) \
             INSERT INTO members (id, name, created_at, balance, last_posting) \
             SELECT n, 'member ' || n, ?2, ?3, ?4 + n FROM n",
            params![count, start, CREDIT_MICROS - spent, amount.postings - count],
        )
        .expect("members");
    connection
        .execute(
            "INSERT INTO lineages (id, member, spend_limit, requests_per_minute, concurrency, spent) \
             SELECT id, id, ?1, ?2, ?3, ?4 FROM members",
            params![CREDIT_MICROS, REQUESTS_PER_MINUTE, CONCURRENCY, spent],
        )
        .expect("lineages");
}

/// First everyone pays in, then everyone is charged, round by round, spread over all days.
fn postings(connection: &Connection, amount: Amount, start: i64) {
    connection
        .execute(
            "INSERT INTO postings (at, kind, member, amount, balance, reason) \
             SELECT ?1, 'top_up', id, ?2, ?2, 'bench' FROM members ORDER BY id",
            params![start, CREDIT_MICROS],
        )
        .expect("postings");
    let between = PERIOD / amount.members;
    for round in 1..amount.postings / amount.members {
        let hold = "unhex(printf('%032x', ?1 * 100000000 + id))";
        let receipts = format!(
            "INSERT INTO receipts (id, member, lineage, charged, rule, operation, model, \
             input_tokens, output_tokens, since, at) SELECT {hold}, id, id, ?2, 'answered', 'chat', \
             'mock/small', 19, 140, ?3 + ?4 * id, ?3 + ?4 * id FROM members ORDER BY id"
        );
        let begun = start + PERIOD * round;
        let values = params![round, PRICE_MICROS, begun, between];
        connection.execute(&receipts, values).expect("receipts");
        let postings = format!(
            "INSERT INTO postings (at, kind, member, amount, balance, hold, previous) \
             SELECT ?3 + ?6 * id, 'charge', id, -?2, ?4, {hold}, ?5 + id FROM members ORDER BY id"
        );
        let balance = CREDIT_MICROS - round * PRICE_MICROS;
        let before = (round - 1) * amount.members;
        let values = params![round, PRICE_MICROS, begun, balance, before, between];
        connection.execute(&postings, values).expect("postings");
    }
}

fn usage(connection: &Connection) {
    let add = "INSERT INTO usage SELECT at / 86400000000, member, lineage, operation, model, \
               0, count(*), sum(input_tokens), sum(output_tokens), sum(charged) FROM receipts \
               GROUP BY 1, 2, 3, 4, 5; \
               INSERT INTO usage_totals SELECT day, operation, model, sum(requests), \
               sum(input_tokens), sum(output_tokens), sum(charged) FROM usage GROUP BY 1, 2, 3";
    connection.execute_batch(add).expect("usage");
}

/// A key for everyone; those that are known here are real.
fn keys(connection: &Connection, hasher: &KeyHasher, amount: Amount, start: i64) -> Vec<String> {
    let asking = i64::try_from(amount.asking).expect("a number");
    let step = amount.members / asking;
    connection
        .execute(
            "INSERT INTO keys (id, hash, member, lineage, name, scopes, created_at) \
             SELECT printf('%012d', id), zeroblob(32), id, id, 'bench', ?1, ?2 FROM members \
             WHERE id % ?3 <> 0",
            params![SCOPES, start, step],
        )
        .expect("keys");
    let mut insert = connection
        .prepare(
            "INSERT INTO keys (id, hash, member, lineage, name, scopes, created_at) \
             VALUES (?1, ?2, ?3, ?3, 'bench', ?4, ?5)",
        )
        .expect("a statement");
    let mut keys = Vec::with_capacity(amount.asking);
    for member in (step..=amount.members).step_by(usize::try_from(step).expect("a number")) {
        let key = new_key();
        let values = params![key.public_id(), hasher.hash(&key), member, SCOPES, start];
        insert.execute(values).expect("a key");
        keys.push(key.as_str().to_owned());
    }
    keys
}
