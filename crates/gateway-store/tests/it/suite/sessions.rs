//! Sessions of the web pages.

use gateway_store::{MAX_SESSIONS, NewSession};
use ledger::MemberId;

use crate::test_database::TestDatabase;

const HOUR: i64 = 3600 * 1_000_000;

fn new(number: u8, member: Option<i64>) -> NewSession {
    NewSession {
        hash: [number; 32],
        member: member.map(MemberId),
        key: member.map(|_| "public".to_owned()),
        client: "Firefox".to_owned(),
        address: "127.0.0.1".to_owned(),
        idle_micros: HOUR,
        max_micros: 3 * HOUR,
    }
}

pub(super) async fn sessions_are_found_listed_and_ended(db: TestDatabase) {
    let member = Some(MemberId(7));
    for session in [new(1, Some(7)), new(2, Some(7)), new(3, None)] {
        db.store.create_session(&session).await.unwrap();
    }
    let found = db.store.session([1; 32]).await.unwrap().unwrap();
    assert_eq!((found.member, found.key.as_deref()), (member, Some("public")));
    assert!(found.idle_until >= found.created_at.plus_micros(HOUR));
    assert_eq!(db.store.sessions(member).await.unwrap().len(), 2);
    assert_eq!(db.store.sessions(None).await.unwrap().len(), 1);
    assert!(!db.store.end_session(None, [1; 32]).await.unwrap(), "it is not an operator's");
    assert!(db.store.end_session(member, [1; 32]).await.unwrap());
    assert_eq!(db.store.session([1; 32]).await.unwrap(), None);
    assert_eq!(db.store.session([9; 32]).await.unwrap(), None);
}

pub(super) async fn too_many_sessions_replace_the_oldest(db: TestDatabase) {
    let more = u8::try_from(MAX_SESSIONS).unwrap() + 1;
    for number in 0..more {
        db.store.create_session(&new(number, Some(7))).await.unwrap();
    }
    let listed = db.store.sessions(Some(MemberId(7))).await.unwrap();
    assert_eq!(listed.len(), usize::from(more) - 1);
    assert_eq!(db.store.session([0; 32]).await.unwrap(), None);
}

pub(super) async fn sessions_that_are_over_are_deleted(db: TestDatabase) {
    db.store.create_session(&NewSession { idle_micros: 0, ..new(1, None) }).await.unwrap();
    db.store.create_session(&NewSession { max_micros: 0, ..new(2, None) }).await.unwrap();
    db.store.create_session(&new(3, None)).await.unwrap();
    db.store.renew_session([1; 32], HOUR).await.unwrap();
    assert_eq!(db.store.session([1; 32]).await.unwrap(), None, "it is over");
    assert_eq!(db.store.session([2; 32]).await.unwrap(), None);
    assert_eq!(db.store.delete_expired().await.unwrap(), 2);
    db.store.renew_session([3; 32], 2 * HOUR).await.unwrap();
    let kept = db.store.session([3; 32]).await.unwrap().unwrap();
    assert!(kept.idle_until >= kept.seen_at.plus_micros(2 * HOUR));
}
