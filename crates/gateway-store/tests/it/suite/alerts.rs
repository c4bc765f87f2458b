//! Alerts and their outbox.

use gateway_store::{NewAlert, WebhookOutcome};
use ledger::{MemberId, Micros, PostingKind, Transfer};

use crate::test_database::TestDatabase;

const LEASE: i64 = 60 * 1_000_000;

fn alert(key: Option<&str>) -> NewAlert {
    NewAlert {
        kind: "provider".to_owned(),
        subject: "up".to_owned(),
        message: "the provider up fails".to_owned(),
        key: key.map(str::to_owned),
        channels: vec!["email".to_owned(), "webhook".to_owned()],
    }
}

pub(super) async fn a_condition_is_reported_once_until_it_ends(db: TestDatabase) {
    let store = &db.store;
    let first = store.open_alert(&alert(Some("a"))).await.unwrap().unwrap();
    assert_eq!(store.open_alert(&alert(Some("a"))).await.unwrap(), None);
    assert!(store.open_alert(&alert(Some("b"))).await.unwrap().is_some());
    assert!(store.open_alert(&alert(None)).await.unwrap().is_some());
    assert!(store.open_alert(&alert(None)).await.unwrap().is_some());
    store.end_alert("a").await.unwrap();
    store.end_alert("unknown").await.unwrap();
    // It ended a moment ago.
    assert_eq!(store.open_alert(&alert(Some("a"))).await.unwrap(), None);
    let listed = store.alerts(i64::MAX, 10).await.unwrap();
    assert_eq!(listed.len(), 8, "two channels of four alerts");
    assert_eq!(listed.last().unwrap().alert.id, first);
    assert_eq!(store.alerts(first + 1, 10).await.unwrap().len(), 2);
}

pub(super) async fn one_sender_at_a_time_has_a_delivery(db: TestDatabase) {
    let store = &db.store;
    let new = NewAlert { channels: vec!["webhook".to_owned()], ..alert(None) };
    store.open_alert(&new).await.unwrap();
    let claims = tokio::join!(store.claim_alert(LEASE), store.claim_alert(LEASE));
    let claims: Vec<_> = [claims.0.unwrap(), claims.1.unwrap()].into_iter().flatten().collect();
    assert_eq!(claims.len(), 1);
    let retry = WebhookOutcome::Retry { after_micros: 0 };
    assert!(store.finish_alert(&claims[0], retry, "away").await.unwrap());
    let second = store.claim_alert(0).await.unwrap().unwrap();
    assert_eq!((second.tries, second.error.as_str()), (2, "away"));
    // The lease is over, and the claim of the other one is the valid one.
    let third = store.claim_alert(LEASE).await.unwrap().unwrap();
    assert!(!store.finish_alert(&second, WebhookOutcome::Delivered, "").await.unwrap());
    assert!(store.finish_alert(&third, WebhookOutcome::Delivered, "").await.unwrap());
    assert_eq!(store.claim_alert(LEASE).await.unwrap(), None);
    let listed = store.alerts(i64::MAX, 1).await.unwrap();
    assert_eq!(listed[0].outcome.as_deref(), Some("delivered"));
}

pub(super) async fn the_newest_credit_is_found(db: TestDatabase) {
    let by = gateway_store::Actor { name: "cli:op".to_owned(), request: None };
    let member = db.store.create_member("ada", &by).await.unwrap().id;
    assert_eq!(db.store.last_credit(member).await.unwrap(), None);
    for (kind, amount) in
        [(PostingKind::TopUp, 100), (PostingKind::TopUp, 50), (PostingKind::Adjustment, -30)]
    {
        let transfer = Transfer {
            kind,
            member,
            amount: Micros::new(amount),
            reason: "test".to_owned(),
            reference: None,
        };
        db.store.post(transfer, &by).await.unwrap().unwrap();
    }
    let credit = db.store.last_credit(member).await.unwrap().unwrap();
    assert_eq!(credit.balance, Micros::new(150));
    assert_eq!(db.store.last_credit(MemberId(99)).await.unwrap(), None);
}
