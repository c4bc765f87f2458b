//! Full and read-only disks.

use agent_test_support::disk::SmallDisk;
use gateway_store::{DatabaseLocation, Error, ErrorKind, Store, StoreOptions};
use ledger::{ChargeRule, EndResult, Limits, PostingKind, Transfer};

use crate::test_database::{actor, closing, new_hold, new_key};

/// A store on a small disk, with a member who has a balance.
async fn store(disk: &SmallDisk) -> (Store, gateway_store::Key) {
    let place = DatabaseLocation::Sqlite(disk.path().join("gateway.db"));
    let options = StoreOptions::default();
    Store::migrate(&place, &options).await.unwrap();
    let store = Store::open(&place, &options).await.unwrap();
    let member = store.create_member("ann", &actor()).await.unwrap().id;
    let amount = ledger::Micros::new(1_000_000);
    let (kind, reason) = (PostingKind::TopUp, String::new());
    let transfer = Transfer { member, kind, amount, reason, reference: None };
    store.post(transfer, &actor()).await.unwrap().unwrap();
    let key = store.create_key(&new_key(member, "k", Limits::default()), &actor()).await.unwrap();
    (store, key)
}

#[tokio::test]
async fn the_store_recovers_from_a_full_disk() {
    let disk = SmallDisk::mount(4 * 1024 * 1024);
    let (store, key) = store(&disk).await;
    let before = store.hold(new_hold(&key, 5)).await.unwrap().unwrap();
    let ballast = disk.fill();
    // The log has some space left, which is used up soon.
    let mut charged = 0;
    let error = loop {
        assert!(charged < 100_000, "the disk never filled up");
        let hold = match store.hold(new_hold(&key, 1)).await {
            Ok(result) => result.unwrap(),
            Err(error) => break error,
        };
        match store.end(closing(&hold, ChargeRule::Answered)).await {
            Ok(_) => charged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Full(_) | Error::Unavailable(_)), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Temporary);
    assert!(store.create_member("bob", &actor()).await.is_err());
    // Reads work, and nothing was charged without a record.
    let account = store.account(key.member).await.unwrap().unwrap();
    assert_eq!(account.balance.get(), 1_000_000 - charged);
    assert_eq!(store.check_ledger().await.unwrap().wrong, 0);

    std::fs::remove_file(ballast).unwrap();
    let ended = store.end(closing(&before, ChargeRule::Answered)).await.unwrap();
    assert!(matches!(ended, EndResult::Ended(_)));
    store.create_member("bob", &actor()).await.unwrap();
    let account = store.account(key.member).await.unwrap().unwrap();
    assert_eq!(account.balance.get(), 1_000_000 - charged - 5);
    assert_eq!(store.check_ledger().await.unwrap().wrong, 0);
}

#[tokio::test]
async fn a_read_only_disk_is_reported() {
    let disk = SmallDisk::mount(4 * 1024 * 1024);
    let (store, key) = store(&disk).await;
    store.close().await;
    drop(store);
    disk.make_read_only();
    let place = DatabaseLocation::Sqlite(disk.path().join("gateway.db"));
    let options = StoreOptions::default();
    if let Ok(store) = Store::open(&place, &options).await {
        let refused = store.hold(new_hold(&key, 5)).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
        store.close().await;
    }
    disk.make_writable();
    let store = Store::open(&place, &options).await.unwrap();
    store.hold(new_hold(&key, 5)).await.unwrap().unwrap();
}
