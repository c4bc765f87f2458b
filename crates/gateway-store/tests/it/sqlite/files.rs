//! Schemas that are not ours, the right to serve, backup and restore.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gateway_store::{DatabaseLocation, Error, ErrorKind, SchemaState, Store, StoreOptions};
use ledger::{ChargeRule, EndResult, Limits};

use crate::suite::responses::queued;
use crate::world::{OWNER, World, actor, closing, opening};

fn place(folder: &Path) -> (DatabaseLocation, StoreOptions) {
    (DatabaseLocation::Sqlite(folder.join("gateway.db")), StoreOptions::default())
}

fn write(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn an_empty_place_is_migrated_once() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (place, options) = place(folder.path());
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Empty);
    let refused = Store::open(&place, &options).await;
    assert!(matches!(refused, Err(Error::NotMigrated(SchemaState::Empty))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "looking makes no file");

    assert_eq!(Store::migrate(&place, &options).await.unwrap(), SchemaState::Empty);
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Current(8));
    assert_eq!(Store::migrate(&place, &options).await.unwrap(), SchemaState::Current(8));
    let store = Store::open(&place, &options).await.unwrap();
    store.create_member("ann", &actor()).await.unwrap();
    for name in ["gateway.db", "gateway.db-wal"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn two_that_migrate_at_once_make_one_schema() {
    let folder = tempfile::tempdir().unwrap();
    let (place, options) = place(folder.path());
    let both = tokio::join!(Store::migrate(&place, &options), Store::migrate(&place, &options));
    both.0.unwrap();
    both.1.unwrap();
    Store::open(&place, &options).await.unwrap().ping().await.unwrap();
}

#[tokio::test]
async fn a_schema_that_is_not_ours_is_refused() {
    for (sql, version) in [
        ("CREATE TABLE shop (id)", 0),
        ("CREATE TABLE shop (id); PRAGMA user_version = 1", 1),
        ("PRAGMA application_id = 5", 0),
        ("PRAGMA application_id = 0x61677477; PRAGMA user_version = 9", 9),
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
async fn a_damaged_file_is_refused_at_once() {
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
async fn only_one_process_serves() {
    let world = World::sqlite().await;
    world.store.acquire_serving_lock().await.unwrap();
    world.store.acquire_serving_lock().await.unwrap();
    let other = world.another().await;
    assert!(matches!(other.acquire_serving_lock().await, Err(Error::InUse)));
    // Another handle may do all else meanwhile.
    other.create_member("ann", &actor()).await.unwrap();
    world.store.close().await;
    other.acquire_serving_lock().await.unwrap();
    drop(other);
    world.another().await.acquire_serving_lock().await.unwrap();
}

/// After a crash, what another process held is nobody's: only one serves.
#[tokio::test]
async fn abandoned_holds_of_other_processes_end() {
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 5000, Limits::default()).await;
    let mine = world.hold(&key, 5).await.unwrap();
    let mut begun = tokio::task::JoinSet::new();
    for owner in 100..2600 {
        let (store, mut opening) = (Arc::clone(&world.store), opening(&key, 1));
        opening.request.owner = owner;
        begun.spawn(async move { store.hold(opening).await.unwrap().unwrap() });
    }
    begun.join_all().await;
    assert_eq!(world.store.end_holds_except(OWNER).await.unwrap(), 2500);
    assert_eq!(world.money(member).await, (5000, 5));
    assert!(matches!(world.end(&mine, ChargeRule::Answered).await, EndResult::Ended(_)));
    // What ran in the background has failed.
    queued(&world, &key, "resp_1").await;
    assert_eq!(world.store.end_holds_except(-1).await.unwrap(), 1);
    assert_eq!(world.store.response(member, "resp_1").await.unwrap().unwrap().status, "failed");
    world.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_adds_up_and_is_restored() {
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 1_000_000, Limits::default()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (store, stopped) = (Arc::clone(&world.store), Arc::clone(&stop));
    let load = tokio::spawn(async move {
        let mut charged = 0;
        while !stopped.load(Ordering::SeqCst) {
            let hold = store.hold(opening(&key, 1)).await.unwrap().unwrap();
            store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
            charged += 1;
        }
        charged
    });
    let backup = world.path("copy.db");
    let mut has_begun = false;
    while !has_begun {
        has_begun = world.money(member).await.0 < 999_990;
    }
    world.store.backup(&backup).await.unwrap();
    assert!(matches!(world.store.backup(&backup).await, Err(Error::Exists("file"))));
    stop.store(true, Ordering::SeqCst);
    let charged = load.await.unwrap();
    assert_eq!(world.money(member).await, (1_000_000 - charged, 0));
    let files = std::fs::read_dir(world.path("")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.contains("part")), "nothing half-made is left");

    // Not under a service.
    let (place, options) = (&world.place, &world.options);
    world.store.acquire_serving_lock().await.unwrap();
    assert!(matches!(Store::restore(&backup, place, options).await, Err(Error::InUse)));
    world.store.close().await;
    let aside = Store::restore(&backup, place, options).await.unwrap().unwrap();
    let restored = world.another().await;
    let now = restored.account(member).await.unwrap().unwrap().balance.get();
    assert!((1_000_000 - charged..1_000_000).contains(&now), "{now} after {charged}");
    let check = restored.check_ledger().await.unwrap();
    assert_eq!((check.wrong, check.members), (0, 1));
    restored.acquire_serving_lock().await.unwrap();
    // What was there is kept, whole.
    let old = Store::open(&DatabaseLocation::Sqlite(aside), options).await.unwrap();
    assert_eq!(old.account(member).await.unwrap().unwrap().balance.get(), 1_000_000 - charged);
}

#[tokio::test]
async fn a_backup_is_restored_where_nothing_is() {
    let world = World::sqlite().await;
    world.member("ann", 5, Limits::default()).await;
    let backup = world.path("copy.db");
    world.store.backup(&backup).await.unwrap();
    let place = DatabaseLocation::Sqlite(world.path("new.db"));
    assert_eq!(Store::restore(&backup, &place, &world.options).await.unwrap(), None);
    let store = Store::open(&place, &world.options).await.unwrap();
    assert!(store.member_by_name("ann").await.unwrap().is_some());
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored() {
    let world = World::sqlite().await;
    for number in 0..200 {
        world.store.create_member(&format!("member {number}"), &actor()).await.unwrap();
    }
    let backup = world.path("copy.db");
    world.store.backup(&backup).await.unwrap();
    world.store.close().await;
    let mut bytes = std::fs::read(&backup).unwrap();
    let middle = bytes.len() / 4096 / 2 * 4096;
    bytes[middle..middle + 4096 * 3].fill(0xa5);
    std::fs::write(&backup, bytes).unwrap();
    let result = Store::restore(&backup, &world.place, &world.options).await;
    assert!(matches!(result, Err(Error::Damaged(_))), "{result:?}");
    write(&world.path("shop.db"), "CREATE TABLE shop (id)");
    let result = Store::restore(&world.path("shop.db"), &world.place, &world.options).await;
    assert!(matches!(result, Err(Error::Schema(_))), "{result:?}");
    let result = Store::restore(&world.path("none.db"), &world.place, &world.options).await;
    assert!(matches!(result, Err(Error::Unavailable(_))), "{result:?}");
    // The database is as it was.
    assert_eq!(world.another().await.members(ledger::MemberId(0), 1000).await.unwrap().len(), 200);
}
