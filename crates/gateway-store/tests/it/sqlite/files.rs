//! Foreign schemas, the serving lock, backup and restore.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gateway_store::{DatabaseLocation, Error, ErrorKind, SchemaState, Store, StoreOptions};
use ledger::{ChargeRule, EndResult, Limits};

use crate::suite::responses::queued;
use crate::test_database::{OWNER, TestDatabase, actor, closing, new_hold};

fn place(folder: &Path) -> (DatabaseLocation, StoreOptions) {
    (DatabaseLocation::Sqlite(folder.join("gateway.db")), StoreOptions::default())
}

fn write(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn an_empty_location_is_migrated_once() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (place, options) = place(folder.path());
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Empty);
    let refused = Store::open(&place, &options).await;
    assert!(matches!(refused, Err(Error::NotMigrated(SchemaState::Empty))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "looking makes no file");

    assert_eq!(Store::migrate(&place, &options).await.unwrap(), SchemaState::Empty);
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Current(16));
    assert_eq!(Store::migrate(&place, &options).await.unwrap(), SchemaState::Current(16));
    let store = Store::open(&place, &options).await.unwrap();
    store.create_member("ann", &actor()).await.unwrap();
    for name in ["gateway.db", "gateway.db-wal"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn concurrent_migrations_create_one_schema() {
    let folder = tempfile::tempdir().unwrap();
    let (place, options) = place(folder.path());
    let both = tokio::join!(Store::migrate(&place, &options), Store::migrate(&place, &options));
    both.0.unwrap();
    both.1.unwrap();
    Store::open(&place, &options).await.unwrap().ping().await.unwrap();
}

#[tokio::test]
async fn a_running_migration_is_never_taken_for_an_unknown_schema() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let (place, options) = place(folder.path());
        let mut migration = std::pin::pin!(Store::migrate(&place, &options));
        loop {
            tokio::select! {
                biased;
                migrated = &mut migration => break assert_eq!(migrated.unwrap(), SchemaState::Empty),
                state = Store::schema(&place, &options) => {
                    // A file that is being switched to WAL is briefly locked for everybody.
                    assert!(!matches!(state, Ok(SchemaState::Unknown(_))), "{state:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn foreign_schemas_are_rejected() {
    for (sql, version) in [
        ("CREATE TABLE shop (id)", 0),
        ("CREATE TABLE shop (id); PRAGMA user_version = 1", 1),
        ("PRAGMA application_id = 5", 0),
        ("PRAGMA application_id = 0x61677477; PRAGMA user_version = 99", 99),
        ("PRAGMA application_id = 0x61677477", 0),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (place, options) = place(folder.path());
        write(&folder.path().join("gateway.db"), sql);
        let unknown = SchemaState::Unknown(version);
        assert_eq!(Store::schema(&place, &options).await.unwrap(), unknown, "{sql}");
        let opened = Store::open(&place, &options).await;
        assert!(matches!(opened, Err(Error::Schema(state)) if state == unknown), "{sql}");
        let migrated = Store::migrate(&place, &options).await;
        assert!(matches!(migrated, Err(Error::Schema(state)) if state == unknown), "{sql}");
    }
}

#[tokio::test]
async fn damaged_files_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (place, options) = place(folder.path());
    let path = folder.path().join("gateway.db");
    std::fs::write(&path, b"this is not a database, it is a letter to a friend".repeat(100))
        .unwrap();
    for result in [
        Store::schema(&place, &options).await.map(drop),
        Store::open(&place, &options).await.map(drop),
        Store::migrate(&place, &options).await.map(drop),
    ] {
        assert!(
            matches!(&result, Err(error @ Error::Damaged(_)) if error.kind() == ErrorKind::Operator)
        );
    }
    std::fs::remove_file(&path).unwrap();
    Store::migrate(&place, &options).await.unwrap();
    write(&path, "DROP INDEX keys_by_member");
    assert!(matches!(Store::open(&place, &options).await, Err(Error::Damaged(_))));
    assert!(matches!(
        Store::open(&DatabaseLocation::Sqlite(folder.path().to_owned()), &options).await,
        Err(Error::Unavailable(_))
    ));
}

#[tokio::test]
async fn only_one_process_gets_the_serving_lock() {
    let db = TestDatabase::sqlite().await;
    db.store.acquire_serving_lock().await.unwrap();
    db.store.acquire_serving_lock().await.unwrap();
    let other = db.another().await;
    assert!(matches!(other.acquire_serving_lock().await, Err(Error::InUse)));
    // Other operations of another handle are allowed.
    other.create_member("ann", &actor()).await.unwrap();
    db.store.close().await;
    other.acquire_serving_lock().await.unwrap();
    drop(other);
    db.another().await.acquire_serving_lock().await.unwrap();
}

#[tokio::test]
async fn holds_of_other_processes_are_ended_after_a_crash() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 5000, Limits::default()).await;
    let mine = db.hold(&key, 5).await.unwrap();
    let mut begun = tokio::task::JoinSet::new();
    for owner in 100..2600 {
        let (store, mut hold) = (Arc::clone(&db.store), new_hold(&key, 1));
        hold.request.owner = owner;
        begun.spawn(async move { store.hold(hold).await.unwrap().unwrap() });
    }
    begun.join_all().await;
    assert_eq!(db.store.end_holds_except(OWNER).await.unwrap(), 2500);
    assert_eq!(db.money(member).await, (5000, 5));
    assert!(matches!(db.end(&mine, ChargeRule::Answered).await, EndResult::Ended(_)));
    // Background responses fail with their hold.
    queued(&db, &key, "resp_1").await;
    assert_eq!(db.store.end_holds_except(-1).await.unwrap(), 1);
    assert_eq!(db.store.response(member, "resp_1").await.unwrap().unwrap().status, "failed");
    db.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_consistent_and_restorable() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1_000_000, Limits::default()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (store, stopped) = (Arc::clone(&db.store), Arc::clone(&stop));
    let load = tokio::spawn(async move {
        let mut charged = 0;
        while !stopped.load(Ordering::SeqCst) {
            let hold = store.hold(new_hold(&key, 1)).await.unwrap().unwrap();
            store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
            charged += 1;
        }
        charged
    });
    let backup = db.path("copy.db");
    let mut has_begun = false;
    while !has_begun {
        has_begun = db.money(member).await.0 < 999_990;
    }
    db.store.backup(&backup).await.unwrap();
    assert!(matches!(db.store.backup(&backup).await, Err(Error::Exists("file"))));
    stop.store(true, Ordering::SeqCst);
    let charged = load.await.unwrap();
    assert_eq!(db.money(member).await, (1_000_000 - charged, 0));
    let files = std::fs::read_dir(db.path("")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.contains("part")), "nothing half-made is left");

    // Not while a service runs.
    let (place, options) = (&db.location, &db.options);
    db.store.acquire_serving_lock().await.unwrap();
    assert!(matches!(Store::restore(&backup, place, options).await, Err(Error::InUse)));
    db.store.close().await;
    let aside = Store::restore(&backup, place, options).await.unwrap().unwrap();
    let restored = db.another().await;
    let now = restored.account(member).await.unwrap().unwrap().balance.get();
    assert!((1_000_000 - charged..1_000_000).contains(&now), "{now} after {charged}");
    let check = restored.check_ledger().await.unwrap();
    assert_eq!((check.wrong, check.members), (0, 1));
    restored.acquire_serving_lock().await.unwrap();
    // The replaced file is kept complete.
    let old = Store::open(&DatabaseLocation::Sqlite(aside), options).await.unwrap();
    assert_eq!(old.account(member).await.unwrap().unwrap().balance.get(), 1_000_000 - charged);
}

#[tokio::test]
async fn a_backup_is_restored_to_a_new_location() {
    let db = TestDatabase::sqlite().await;
    db.member("ann", 5, Limits::default()).await;
    let backup = db.path("copy.db");
    db.store.backup(&backup).await.unwrap();
    let place = DatabaseLocation::Sqlite(db.path("new.db"));
    assert_eq!(Store::restore(&backup, &place, &db.options).await.unwrap(), None);
    let store = Store::open(&place, &db.options).await.unwrap();
    assert!(store.member_by_name("ann").await.unwrap().is_some());
}

#[tokio::test]
async fn damaged_backups_are_not_restored() {
    let db = TestDatabase::sqlite().await;
    for number in 0..200 {
        db.store.create_member(&format!("member {number}"), &actor()).await.unwrap();
    }
    let backup = db.path("copy.db");
    db.store.backup(&backup).await.unwrap();
    db.store.close().await;
    let mut bytes = std::fs::read(&backup).unwrap();
    let middle = bytes.len() / 4096 / 2 * 4096;
    bytes[middle..middle + 4096 * 3].fill(0xa5);
    std::fs::write(&backup, bytes).unwrap();
    let result = Store::restore(&backup, &db.location, &db.options).await;
    assert!(matches!(result, Err(Error::Damaged(_))), "{result:?}");
    write(&db.path("shop.db"), "CREATE TABLE shop (id)");
    let result = Store::restore(&db.path("shop.db"), &db.location, &db.options).await;
    assert!(matches!(result, Err(Error::Schema(_))), "{result:?}");
    let result = Store::restore(&db.path("none.db"), &db.location, &db.options).await;
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
    // The database is unchanged.
    assert_eq!(db.another().await.members(ledger::MemberId(0), 1000).await.unwrap().len(), 200);
}
