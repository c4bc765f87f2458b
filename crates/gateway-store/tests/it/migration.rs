//! Migration of databases of older versions.

use std::path::Path;

use agent_test_support::postgres::Cluster;
use gateway_store::{
    DatabaseLocation, Error, SchemaState, Store, StoreOptions, UsageCounts, UsageLine, UsageQuery,
};
use ledger::{ChargeRule, HoldId, LineageId, MemberId, Micros, PostingKind, TransferResult};

use crate::test_database::{TestDatabase, closing, new_hold};

const SQLITE_1: &str = include_str!("../../src/sqlite/schema/001.sql");
const POSTGRES_1: &str = include_str!("../../src/postgres/schema/001.sql");

/// A live hold, and one that was charged.
const LIVE: HoldId = HoldId::new(1_790_000_000_000, 1);
const CHARGED: HoldId = HoldId::new(1_790_000_000_000, 2);

/// A member with top-ups of 100, charges of 30 and holds of 20, in the first schema.
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

/// The hexadecimal digits of an id.
fn digits(id: HoldId) -> String {
    id.to_string().trim_start_matches("req_").to_owned()
}

/// Checks rows and operations after the migration.
async fn works_after_migration(db: TestDatabase) {
    assert_eq!(db.money(MemberId(1)).await, (70, 20));
    db.check().await;
    let lines = db.store.statement(MemberId(1), i64::MAX, 10).await.unwrap();
    let amounts: Vec<i64> = lines.iter().map(|line| line.posting.amount.get()).collect();
    assert_eq!(amounts, [-30, 100]);
    assert!(lines.iter().all(|line| line.posting.reference.is_none()));
    assert_eq!(lines[0].posting.hold, Some(CHARGED));
    let (from_day, to_day, by) = (0, 0, Vec::new());
    let query =
        UsageQuery { member: Some(MemberId(1)), team: None, from_day, to_day, by, limit: 10 };
    for query in [UsageQuery { member: None, ..query.clone() }, query] {
        let usage = db.store.usage(&query).await.unwrap();
        let counts = UsageCounts { requests: 1, charged: Micros::new(30), ..Default::default() };
        assert_eq!(usage, [UsageLine { counts, ..Default::default() }]);
    }

    // The old hold is charged, and new features work.
    let mut hold = db.store.hold(new_hold(&key(), 1)).await.unwrap().unwrap();
    hold.id = LIVE;
    db.store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
    let first = db.transfer(MemberId(1), PostingKind::TopUp, 5, "invoice 18").await.unwrap();
    let again = db.transfer(MemberId(1), PostingKind::TopUp, 5, "invoice 18").await.unwrap();
    assert_eq!(again, TransferResult::AlreadyPosted(first.into_posting()));
    assert_eq!(db.money(MemberId(1)).await, (55, 1));
    db.check().await;
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

/// An old schema is reported, rejected and migrated once.
async fn migrate(location: &DatabaseLocation, newest: i64) {
    let options = StoreOptions::default();
    let old = SchemaState::Old(1);
    assert_eq!(Store::schema(location, &options).await.unwrap(), old);
    let opened = Store::open(location, &options).await;
    assert!(matches!(opened, Err(Error::NotMigrated(state)) if state == old));
    assert_eq!(Store::migrate(location, &options).await.unwrap(), old);
    let current = SchemaState::Current(newest);
    assert_eq!(Store::migrate(location, &options).await.unwrap(), current);
    assert_eq!(Store::schema(location, &options).await.unwrap(), current);
}

fn write(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn sqlite_files_of_the_first_schema_are_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.db");
    let blob = |id: HoldId| format!("x'{}'", digits(id));
    write(&path, "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x61677477");
    write(&path, &format!("{SQLITE_1} PRAGMA user_version = 1; {}", rows(blob, "sqlite")));
    migrate(&DatabaseLocation::Sqlite(path), 16).await;
    works_after_migration(TestDatabase::sqlite_in(folder).await).await;
}

/// Version 8 stored the holds of a transaction under load as a list in one row.
#[tokio::test]
async fn holds_of_schema_8_become_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.db");
    let migrations: Vec<String> = (1..=8)
        .map(|version| {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sqlite/schema");
            std::fs::read_to_string(format!("{folder}/{version:03}.sql")).unwrap()
        })
        .collect();
    write(&path, "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x61677477");
    write(&path, &format!("{} PRAGMA user_version = 8;", migrations.join("\n")));
    let (live, charged) = (digits(LIVE), digits(CHARGED));
    write(
        &path,
        &format!(
            "INSERT INTO members (id, name, created_at, balance, last_posting) \
                 VALUES (1, 'ann', 1, 70, 2); \
             INSERT INTO lineages (id, member, spend_limit, spent) VALUES (1, 1, 200, 30); \
             INSERT INTO receipts (id, member, lineage, charged, rule, operation, since, at) \
                 VALUES (x'{charged}', 1, 1, 30, 'answered', 'chat', 1, 2); \
             INSERT INTO postings (at, kind, member, amount, balance, hold, reason, previous) \
                 VALUES (1, 'top_up', 1, 100, 100, NULL, 'invoice 17', NULL), \
                        (2, 'charge', 1, -30, 70, x'{charged}', NULL, 1); \
             UPDATE followed SET posting = 2; \
             INSERT INTO opened (holds) VALUES \
                 ('[[\"{live}\",1,1,20,\"chat\",null,7,1,9000000000000000,null], \
                    [\"{charged}\",1,1,30,\"chat\",null,7,1,9000000000000000,null]]');"
        ),
    );
    let location = DatabaseLocation::Sqlite(path);
    let options = StoreOptions::default();
    assert_eq!(Store::migrate(&location, &options).await.unwrap(), SchemaState::Old(8));
    works_after_migration(TestDatabase::sqlite_in(folder).await).await;
}

#[tokio::test]
async fn postgresql_databases_of_the_first_schema_are_migrated() {
    let database = Cluster::shared().database();
    let uuid = |id: HoldId| format!("'{}'::uuid", digits(id));
    database.query(POSTGRES_1);
    database.query("INSERT INTO schema_version VALUES (1, 1)");
    database.query(&rows(uuid, "postgres"));
    migrate(&DatabaseLocation::Postgres(database.url()), 12).await;
    works_after_migration(TestDatabase::on_database(database, StoreOptions::default()).await).await;
}
