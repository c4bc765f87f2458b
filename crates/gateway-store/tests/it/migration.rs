//! Databases that an older version of the program made.

use std::path::Path;

use agent_test_support::postgres::Cluster;
use gateway_store::{DatabaseLocation, Error, SchemaState, Store, StoreOptions};
use ledger::{ChargeRule, HoldId, LineageId, MemberId, PostingKind, TransferResult};

use crate::world::{World, closing, opening};

const SQLITE_1: &str = include_str!("../../src/sqlite/schema/001.sql");
const POSTGRES_1: &str = include_str!("../../src/postgres/schema/001.sql");

/// A hold of before: live, and one that was charged.
const LIVE: HoldId = HoldId::new(1_790_000_000_000, 1);
const CHARGED: HoldId = HoldId::new(1_790_000_000_000, 2);

/// A member who paid in 100, was charged 30, and has 20 held; as the first schema had it.
fn rows(id: impl Fn(HoldId) -> String, name: &str) -> String {
    let (live, charged) = (id(LIVE), id(CHARGED));
    let house = |word: &str| if name == "sqlite" { String::new() } else { format!("'{word}', ") };
    let column = if name == "sqlite" { "" } else { "house, " };
    let (funding, revenue) = (house("house:funding"), house("house:revenue"));
    format!(
        "INSERT INTO members (id, name, created_at, balance, held, day_requests, month_requests) \
             VALUES (1, 'ann', 1, 70, 20, 0, 0); \
         INSERT INTO lineages (id, member, spend_limit, spent, held, running) \
             VALUES (1, 1, 200, 30, 20, 1); \
         INSERT INTO holds (id, member, lineage, amount, operation, owner, since, lease_until) \
             VALUES ({live}, 1, 1, 20, 'chat', 7, 1, 9000000000000000); \
         INSERT INTO receipts (id, member, lineage, charged, rule, operation, since, at) \
             VALUES ({charged}, 1, 1, 30, 'answered', 'chat', 1, 2); \
         INSERT INTO postings (at, kind, member, {column}amount, balance, hold, reason) \
             VALUES (1, 'top_up', 1, {funding}100, 100, NULL, 'invoice 17'), \
                    (2, 'charge', 1, {revenue}-30, 70, {charged}, NULL);"
    )
}

/// The digits of an id, as both databases read them.
fn digits(id: HoldId) -> String {
    id.to_string().trim_start_matches("req_").to_owned()
}

/// What holds after the migration, on either database.
async fn goes_on(world: World) {
    assert_eq!(world.money(MemberId(1)).await, (70, 20));
    world.check().await;
    let lines = world.store.statement(MemberId(1), i64::MAX, 10).await.unwrap();
    let amounts: Vec<i64> = lines.iter().map(|line| line.posting.amount.get()).collect();
    assert_eq!(amounts, [-30, 100]);
    assert!(lines.iter().all(|line| line.posting.reference.is_none()));
    assert_eq!(lines[0].posting.hold, Some(CHARGED));

    // What was held before is charged now, and what is new works.
    let mut hold = world.store.hold(opening(&key(), 1)).await.unwrap().unwrap();
    hold.id = LIVE;
    world.store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
    let top_up = (PostingKind::TopUp, 5);
    let first = world.refer(MemberId(1), top_up, "invoice 18").await.unwrap();
    let again = world.refer(MemberId(1), top_up, "invoice 18").await.unwrap();
    assert_eq!(again, TransferResult::AlreadyPosted(first.into_posting()));
    assert_eq!(world.money(MemberId(1)).await, (55, 1));
    world.check().await;
}

fn key() -> gateway_store::Key {
    gateway_store::Key {
        id: "k".to_owned(),
        hash: [0; 32],
        member: MemberId(1),
        lineage: LineageId(1),
        name: String::new(),
        scopes: Vec::new(),
        models: None,
        created_at: ledger::Time::default(),
        expires_at: None,
        revoked_at: None,
    }
}

/// An old schema is told, not used, and brought up to date once.
async fn is_migrated(place: &DatabaseLocation, newest: i64) {
    let options = StoreOptions::default();
    let old = SchemaState::Old(1);
    assert_eq!(Store::schema(place, &options).await.unwrap(), old);
    let opened = Store::open(place, &options).await;
    assert!(matches!(opened, Err(Error::NotMigrated(state)) if state == old));
    assert_eq!(Store::migrate(place, &options).await.unwrap(), old);
    let current = SchemaState::Current(newest);
    assert_eq!(Store::migrate(place, &options).await.unwrap(), current);
    assert_eq!(Store::schema(place, &options).await.unwrap(), current);
}

fn write(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_sqlite_file_of_the_first_schema_is_migrated_with_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.db");
    let blob = |id: HoldId| format!("x'{}'", digits(id));
    write(&path, "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x61677477");
    write(&path, &format!("{SQLITE_1} PRAGMA user_version = 1; {}", rows(blob, "sqlite")));
    is_migrated(&DatabaseLocation::Sqlite(path), 8).await;
    goes_on(World::sqlite_in(folder).await).await;
}

#[tokio::test]
async fn a_postgresql_database_of_the_first_schema_is_migrated_with_its_rows() {
    let database = Cluster::shared().database();
    let uuid = |id: HoldId| format!("'{}'::uuid", digits(id));
    database.query(POSTGRES_1);
    database.query("INSERT INTO schema_version VALUES (1, 1)");
    database.query(&rows(uuid, "postgres"));
    is_migrated(&DatabaseLocation::Postgres(database.url()), 5).await;
    goes_on(World::on_database(database, StoreOptions::default()).await).await;
}
