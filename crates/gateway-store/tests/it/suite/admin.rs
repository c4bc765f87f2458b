//! Members, keys, the audit log, settings.

use gateway_store::{Error, Key, KeyChange, KeySearch, LimitsChange, MemberChange, Scope};
use ledger::{ChargeRule, Limits, LineageId, MemberId, Micros, Time};

use crate::test_database::{SECOND, TestDatabase, actor, new_hold, new_key, rotation};

pub(crate) async fn members_are_created_found_and_changed(db: TestDatabase) {
    let store = &db.store;
    let ann = store.create_member("ann", &actor()).await.unwrap();
    let bob = store.create_member("bob", &actor()).await.unwrap();
    assert!(bob.id > ann.id && !ann.blocked && ann.created_at > Time::from_micros(0));
    let taken = store.create_member("ann", &actor()).await;
    assert!(matches!(taken, Err(Error::Exists("member"))));
    let taken = store.change_member(bob.id, &MemberChange::Rename("ann".into()), &actor()).await;
    assert!(matches!(taken, Err(Error::Exists("member"))));
    // A rejected change is not written.
    assert_eq!(store.audit(i64::MAX, 10).await.unwrap().len(), 2);

    let rename = MemberChange::Rename("robert".to_owned());
    let bob = store.change_member(bob.id, &rename, &actor()).await.unwrap();
    assert_eq!(bob.name, "robert");
    let blocked = store.change_member(ann.id, &MemberChange::Block, &actor()).await.unwrap();
    assert!(blocked.blocked);
    assert_eq!(store.member(bob.id).await.unwrap(), Some(bob.clone()));
    assert_eq!(store.member_by_name("robert").await.unwrap(), Some(bob.clone()));
    assert_eq!(store.member_by_name("bob").await.unwrap(), None);
    assert_eq!(store.members(MemberId(0), 10).await.unwrap(), [blocked.clone(), bob.clone()]);
    assert_eq!(store.members(MemberId(0), 1).await.unwrap().len(), 1);
    assert_eq!(store.members(blocked.id, 10).await.unwrap(), [bob]);
    let ann = store.change_member(ann.id, &MemberChange::Unblock, &actor()).await.unwrap();
    assert!(!ann.blocked);
}

pub(crate) async fn keys_of_all_members_are_found_in_pages(db: TestDatabase) {
    let (ann, first) = db.member("ann", 100, Limits::default()).await;
    let (bob, _) = db.member("bob", 100, Limits::default()).await;
    for (member, id) in [(ann, "b"), (bob, "a"), (bob, "c")] {
        db.key(member, id, Limits::default()).await;
    }
    let rename = KeyChange { name: Some("tablet".to_owned()), ..KeyChange::default() };
    db.store.change_key("b", &rename, &actor()).await.unwrap();
    let find = async |name: &str, member, after: &str, limit| {
        let (name, after) = (name.to_owned(), after.to_owned());
        let found = db.store.find_keys(&KeySearch { name, member, after }, limit).await.unwrap();
        found.into_iter().map(|record| record.key.id).collect::<Vec<_>>()
    };
    let all = find("", None, "", 10).await;
    assert!(all.len() == 5 && all.is_sorted(), "{all:?}");
    assert_eq!(find("", None, "", 2).await, all[..2]);
    assert_eq!(find("", None, &all[1], 10).await, all[2..]);
    assert_eq!(find("tablet", None, "", 10).await, ["b"]);
    assert_eq!(find("tablet", Some(bob), "", 2).await, ["a", "b"]);
    let rest = find("tablet", Some(bob), "b", 10).await;
    assert!(rest.contains(&"c".to_owned()) && !rest.contains(&"b".to_owned()), "{rest:?}");
    assert_eq!(find("tab", None, "", 10).await, Vec::<String>::new());

    // Only charged requests are a use.
    let used = async || db.store.lineage(first.lineage).await.unwrap().unwrap().last_used;
    let hold = db.hold(&first, 5).await.unwrap();
    db.end(&hold, ChargeRule::UpstreamFailed).await;
    assert_eq!(used().await, Time::default());
    let hold = db.hold(&first, 5).await.unwrap();
    db.end(&hold, ChargeRule::Answered).await;
    let at = used().await;
    assert_eq!(at, db.store.receipt(None, hold.id).await.unwrap().unwrap().at);
    let again = db.another().await;
    assert_eq!(again.lineage(first.lineage).await.unwrap().unwrap().last_used, at);
}

pub(crate) async fn keys_are_created_found_changed_and_revoked(db: TestDatabase) {
    let limits = Limits {
        spend: Some(Micros::new(9)),
        requests_per_minute: Some(u32::MAX),
        concurrency: Some(2),
        budget: None,
    };
    let (member, key) = db.member("ann", 0, limits).await;
    let store = &db.store;
    let record = store.key(&key.id).await.unwrap().unwrap();
    assert_eq!((&record.key, record.limits), (&key, limits));
    assert_eq!((record.member_name.as_str(), record.member_blocked), ("ann", false));
    assert_eq!((key.hash, key.member, key.revoked_at), ([3; 32], member, None));
    assert_eq!(key.scopes, [Scope::Chat, Scope::Models]);
    let taken = store.create_key(&new_key(member, &key.id, limits), &actor()).await;
    assert!(matches!(taken, Err(Error::Exists("key"))));

    let second = store.create_key(&new_key(member, "zz", Limits::default()), &actor()).await;
    let second = second.unwrap();
    assert_ne!(second.lineage, key.lineage);
    let change = KeyChange {
        name: Some("desk".to_owned()),
        scopes: Some(vec![Scope::Mcp]),
        models: Some(None),
        expires_at: Some(Some(Time::from_micros(77))),
        limits: LimitsChange::default(),
    };
    let changed = store.change_key("zz", &change, &actor()).await.unwrap();
    let expected = Key {
        name: "desk".to_owned(),
        scopes: vec![Scope::Mcp],
        models: None,
        expires_at: Some(Time::from_micros(77)),
        ..second
    };
    assert_eq!((&changed.key, changed.limits), (&expected, Limits::default()));
    assert_eq!(store.key("zz").await.unwrap(), Some(changed.clone()));
    store.change_member(member, &MemberChange::Block, &actor()).await.unwrap();
    assert!(store.key("zz").await.unwrap().unwrap().member_blocked);

    let revoked = store.revoke_key("zz", &actor()).await.unwrap();
    assert!(revoked.key.revoked_at.is_some());
    // Revoked once: the first time is kept.
    assert_eq!(store.revoke_key("zz", &actor()).await.unwrap().key, revoked.key);
    let ids: Vec<_> = store.keys(member).await.unwrap().into_iter().map(|key| key.key.id).collect();
    assert_eq!(ids, [key.id.as_str(), "zz"]);
}

pub(crate) async fn rotation_creates_a_key_and_shortens_the_old_one(db: TestDatabase) {
    let (_, key) = db.member("ann", 0, Limits::default()).await;
    let store = &db.store;
    let new =
        store.rotate_key(&rotation(&key.id, "next", [9; 32], 60 * SECOND), &actor()).await.unwrap();
    assert_eq!((new.id.as_str(), new.hash, new.expires_at), ("next", [9; 32], None));
    assert_eq!((&new.name, &new.scopes, &new.models), (&key.name, &key.scopes, &key.models));
    let old = store.key(&key.id).await.unwrap().unwrap().key;
    let left = old.expires_at.unwrap().micros() - new.created_at.micros();
    // Both times are read within one transaction and may differ.
    assert!((59 * SECOND..=61 * SECOND).contains(&left), "{left}");
    // An earlier expiry is kept.
    let again =
        store.rotate_key(&rotation(&key.id, "third", [8; 32], 600 * SECOND), &actor()).await;
    assert_eq!(again.unwrap().expires_at, old.expires_at);
    assert_eq!(store.key(&key.id).await.unwrap().unwrap().key.expires_at, old.expires_at);
    let taken = store.rotate_key(&rotation("next", "third", [8; 32], 0), &actor()).await;
    assert!(matches!(taken, Err(Error::Exists("key"))));
    assert_eq!(store.key("next").await.unwrap().unwrap().key.expires_at, None);
    // A revoked key cannot be rotated.
    store.revoke_key("next", &actor()).await.unwrap();
    let revoked = store.rotate_key(&rotation("next", "fourth", [7; 32], 0), &actor()).await;
    assert!(matches!(revoked, Err(Error::Missing("key"))));
}

pub(crate) async fn unknown_ids_are_reported_as_missing(db: TestDatabase) {
    let (store, by) = (&db.store, &actor());
    let nobody = MemberId(404);
    assert!(matches!(
        store.change_member(nobody, &MemberChange::Block, by).await,
        Err(Error::Missing("member"))
    ));
    assert!(matches!(
        store.create_key(&new_key(nobody, "k", Limits::default()), by).await,
        Err(Error::Missing("member"))
    ));
    let change = KeyChange::default();
    assert!(matches!(store.change_key("k", &change, by).await, Err(Error::Missing("key"))));
    assert!(matches!(store.revoke_key("k", by).await, Err(Error::Missing("key"))));
    let rotated = store.rotate_key(&rotation("k", "l", [0; 32], 0), by).await;
    assert!(matches!(rotated, Err(Error::Missing("key"))));
    assert!(matches!(store.append_events("resp_1", &[event()]).await, Err(Error::Missing(_))));
    assert_eq!(store.key("k").await.unwrap(), None);
    assert!(store.keys(nobody).await.unwrap().is_empty());
    assert_eq!(store.member(nobody).await.unwrap(), None);
    assert_eq!(store.account(nobody).await.unwrap(), None);
    assert_eq!(store.lineage(LineageId(404)).await.unwrap(), None);
    assert_eq!(store.answer(crate::test_database::new_id()).await.unwrap(), None);
    assert_eq!(store.receipt(None, crate::test_database::new_id()).await.unwrap(), None);
    assert_eq!(store.setting("none").await.unwrap(), None);
    assert!(store.audit(i64::MAX, 10).await.unwrap().is_empty());
}

fn event() -> gateway_store::ResponseEvent {
    gateway_store::ResponseEvent { sequence: 0, event: b"{}".to_vec() }
}

pub(crate) async fn every_change_is_audited(db: TestDatabase) {
    let (member, key) = db.member("ann", 5, Limits::default()).await;
    let store = &db.store;
    let rename = MemberChange::Rename("anna".to_owned());
    store.change_member(member, &rename, &actor()).await.unwrap();
    store.change_member(member, &MemberChange::Block, &actor()).await.unwrap();
    store.change_member(member, &MemberChange::Unblock, &actor()).await.unwrap();
    store.change_key(&key.id, &KeyChange::default(), &actor()).await.unwrap();
    store.rotate_key(&rotation(&key.id, "next", [9; 32], 0), &actor()).await.unwrap();
    store.revoke_key("next", &actor()).await.unwrap();
    let entries = store.audit(i64::MAX, 100).await.unwrap();
    let told: Vec<_> = entries.iter().rev().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        told,
        [
            "member.create", "ledger.top_up", "key.create", "member.rename", "member.block",
            "member.unblock", "key.change", "key.rotate", "key.revoke"
        ]
    );
    let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
    assert_eq!(ids, [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert!(entries.iter().all(|entry| entry.actor == actor()));
    let page = store.audit(4, 2).await.unwrap();
    assert_eq!(page.iter().map(|entry| entry.id).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(entries[6].subject, key.id);
    for entry in &entries {
        let detail: serde_json::Value = serde_json::from_str(&entry.detail).unwrap();
        assert!(detail.is_object());
    }
    db.check().await;
}

pub(crate) async fn a_setting_is_written_once(db: TestDatabase) {
    let store = &db.store;
    assert_eq!(store.set_setting_once("pepper", "a").await.unwrap(), "a");
    assert_eq!(store.set_setting_once("pepper", "b").await.unwrap(), "a");
    assert_eq!(store.setting("pepper").await.unwrap().as_deref(), Some("a"));
}

pub(crate) async fn a_closed_store_rejects_operations(db: TestDatabase) {
    let (_, key) = db.member("ann", 5, Limits::default()).await;
    db.store.ping().await.unwrap();
    db.store.close().await;
    assert!(matches!(db.store.hold(new_hold(&key, 1)).await, Err(Error::Closed)));
    assert!(matches!(db.store.create_member("bob", &actor()).await, Err(Error::Closed)));
    assert!(matches!(db.store.member(key.member).await, Err(Error::Closed)));
    assert!(db.store.ping().await.is_err());
    db.store.close().await;
}
