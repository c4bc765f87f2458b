//! What only PostgreSQL has: several processes on one database, and a server that can be lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_test_support::postgres::{Cluster, Database, StopMode};
use gateway_store::{
    Actor, Answer, Closing, Error, Kind, NewKey, Opening, Options, Place, SchemaState, Scope, Store,
};
use ledger::{
    End, Ended, HoldId, IdempotencyKey, Limits, LineageId, MemberId, Micros, PostingKind, Refusal,
    Repeated, Rule, Tokens, Transfer, Wanted,
};
use tokio::task::JoinSet;

fn by() -> Actor {
    Actor { name: "test".into(), request: None }
}

fn place(database: &Database) -> Place {
    Place::Postgres(database.url())
}

async fn open(database: &Database) -> Store {
    Store::open(&place(database), &Options::default()).await.unwrap()
}

async fn fresh() -> (Database, Store) {
    let database = Cluster::shared().database();
    Store::migrate(&place(&database), &Options::default()).await.unwrap();
    let store = open(&database).await;
    (database, store)
}

async fn member(store: &Store, name: &str, micros: i64) -> (MemberId, LineageId) {
    let member = store.create_member(name, &by()).await.unwrap().id;
    let amount = Micros::new(micros);
    let transfer = Transfer { member, kind: PostingKind::TopUp, amount, reason: "paid".into() };
    store.post(transfer, &by()).await.unwrap().unwrap();
    let key = NewKey {
        id: format!("key{}", member.0),
        hash: [7; 32],
        member,
        name: "first".into(),
        scopes: vec![Scope::Chat],
        models: None,
        expires_at: None,
        limits: Limits::default(),
    };
    let key = store.create_key(&key, &by()).await.unwrap();
    (member, key.lineage)
}

fn id() -> HoldId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    HoldId::new(NEXT.fetch_add(1, Ordering::Relaxed), 0)
}

fn opening(member: MemberId, lineage: LineageId, micros: i64) -> Opening {
    Opening {
        wanted: Wanted {
            id: id(),
            member,
            lineage,
            amount: Micros::new(micros),
            operation: "chat".into(),
            model: Some("a/b".into()),
            owner: 1,
            lease_micros: 60_000_000,
            idempotency: None,
        },
        response: None,
    }
}

fn closing(id: HoldId, member: MemberId, rule: Rule) -> Closing {
    let tokens = Tokens { input: Some(1), output: None };
    let end = End { id, member, rule, model: None, tokens, answered: false };
    Closing { end, answer: None, response: None }
}

async fn assert_adds_up(store: &Store) {
    let check = store.check_ledger().await.unwrap();
    assert_eq!((check.wrong, check.sum), (0, Micros::ZERO), "{check:?}");
}

#[tokio::test]
async fn a_request_is_held_charged_and_found_again() {
    let (_database, store) = fresh().await;
    let (member, lineage) = member(&store, "ada", 1000).await;
    let mut first = opening(member, lineage, 300);
    let word = IdempotencyKey { word: "once".into(), body_sha256: [1; 32] };
    first.wanted.idempotency = Some(word);
    let hold = store.hold(first.clone()).await.unwrap().unwrap();
    let mut again = first.clone();
    again.wanted.id = id();
    let refused = store.hold(again.clone()).await.unwrap().unwrap_err();
    assert_eq!(refused, Refusal::Repeated(Repeated::Running));
    let account = store.account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.held.get()), (1000, 300));

    let mut close = closing(hold.id, member, Rule::Answered);
    close.end.answered = true;
    let answer = Answer { status: 200, content_type: "a/b".into(), body: b"hi".to_vec() };
    close.answer = Some(answer.clone());
    let Ended::Now(receipt) = store.end(close.clone()).await.unwrap() else { panic!() };
    assert_eq!(store.end(close).await.unwrap(), Ended::Before);
    assert_eq!(store.receipt(Some(member), hold.id).await.unwrap(), Some(receipt));
    assert_eq!(store.receipt(Some(MemberId(99)), hold.id).await.unwrap(), None);
    assert_eq!(store.answer(hold.id).await.unwrap(), Some(answer));
    let refused = store.hold(again.clone()).await.unwrap().unwrap_err();
    assert_eq!(refused, Refusal::Repeated(Repeated::Answered(hold.id)));
    again.wanted.idempotency = None;
    again.wanted.id = hold.id;
    assert_eq!(store.hold(again).await.unwrap().unwrap_err(), Refusal::IdUsed);

    let lines = store.statement(member, i64::MAX, 10).await.unwrap();
    let amounts: Vec<i64> = lines.iter().map(|line| line.posting.amount.get()).collect();
    assert_eq!(amounts, [-300, 1000]);
    assert_eq!(lines[0].operation.as_deref(), Some("chat"));
    assert_adds_up(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_on_two_processes_race_a_balance_that_covers_137() {
    let (database, one) = fresh().await;
    let stores = [Arc::new(one), Arc::new(open(&database).await)];
    let (member, lineage) = member(&stores[0], "ada", 1370 + 9).await;
    let mut tasks = JoinSet::new();
    for number in 0..1000 {
        let store = Arc::clone(&stores[number % 2]);
        tasks.spawn(async move { store.hold(opening(member, lineage, 10)).await.unwrap() });
    }
    let results = tasks.join_all().await;
    let held: Vec<HoldId> = results.iter().flatten().map(|hold| hold.id).collect();
    assert_eq!(held.len(), 137);
    assert_adds_up(&stores[0]).await;

    // Each hold is ended by four at once, on both.
    let mut tasks = JoinSet::new();
    for id in held {
        for number in 0..4 {
            let store = Arc::clone(&stores[number % 2]);
            let rule = if number < 2 { Rule::Answered } else { Rule::Cancelled };
            tasks.spawn(async move { store.end(closing(id, member, rule)).await.unwrap() });
        }
    }
    let ends = tasks.join_all().await;
    let receipts: Vec<_> = ends
        .iter()
        .filter_map(|end| if let Ended::Now(r) = end { Some(r) } else { None })
        .collect();
    assert_eq!(receipts.len(), 137);
    let charged: i64 = receipts.iter().map(|receipt| receipt.charged.get()).sum();
    let account = stores[1].account(member).await.unwrap().unwrap();
    assert_eq!((account.balance.get(), account.held.get()), (1379 - charged, 0));
    assert_adds_up(&stores[1]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_lost_under_load_loses_nothing() {
    let cluster = Arc::new(Cluster::start_new());
    let database = cluster.database();
    Store::migrate(&place(&database), &Options::default()).await.unwrap();
    let store = Arc::new(open(&database).await);
    let mut members = Vec::new();
    for number in 0..8 {
        members.push(member(&store, &format!("m{number}"), 1_000_000_000).await);
    }
    let failures = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for number in 0..64 {
        let (store, failures, stop) =
            (Arc::clone(&store), Arc::clone(&failures), Arc::clone(&stop));
        let (member, lineage) = members[number % members.len()];
        tasks.spawn(async move {
            let mut charged = 0_i64;
            while stop.load(Ordering::Relaxed) == 0 {
                let hold = match store.hold(opening(member, lineage, 10)).await {
                    Ok(hold) => hold.unwrap(),
                    Err(error) => {
                        assert_eq!(error.kind(), Kind::Temporary, "{error:?}");
                        failures.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                };
                loop {
                    match store.end(closing(hold.id, member, Rule::Answered)).await {
                        Ok(_) => break charged += 10,
                        Err(error) => {
                            assert_eq!(error.kind(), Kind::Temporary, "{error:?}");
                            failures.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
            charged
        });
    }
    for mode in [StopMode::Immediate, StopMode::Fast, StopMode::Immediate] {
        // sleep: the load runs meanwhile; nothing is waited for.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let cluster = Arc::clone(&cluster);
        tokio::task::spawn_blocking(move || cluster.restart(mode)).await.unwrap();
        store.ping().await.unwrap();
    }
    // sleep: as above.
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.store(1, Ordering::Relaxed);
    let charged: i64 = tasks.join_all().await.iter().sum();
    assert!(failures.load(Ordering::Relaxed) > 0);
    let mut balances = 0;
    for (member, _) in &members {
        balances += store.account(*member).await.unwrap().unwrap().balance.get();
    }
    // Every end that was acknowledged, or found done, is charged once: no more and no less.
    assert_eq!(balances, 8_000_000_000 - charged);
    assert_adds_up(&store).await;
}

#[tokio::test]
async fn a_server_that_stays_away_is_told_in_time() {
    let cluster = Arc::new(Cluster::start_new());
    let database = cluster.database();
    let options = Options { wait: Duration::from_millis(400), ..Options::default() };
    Store::migrate(&place(&database), &options).await.unwrap();
    let store = Store::open(&place(&database), &options).await.unwrap();
    let (member, lineage) = member(&store, "ada", 1000).await;
    cluster.stop(StopMode::Fast);
    let limit = Duration::from_secs(3);
    for _ in 0..2 {
        let held = tokio::time::timeout(limit, store.hold(opening(member, lineage, 1))).await;
        assert!(matches!(held.unwrap(), Err(Error::Unavailable(_))));
        let asked = tokio::time::timeout(limit, store.ping()).await;
        assert!(matches!(asked.unwrap(), Err(Error::Unavailable(_))));
    }
    cluster.start();
    store.hold(opening(member, lineage, 1)).await.unwrap().unwrap();
    store.close().await;
    assert!(matches!(store.hold(opening(member, lineage, 1)).await, Err(Error::Closed)));
    assert!(matches!(store.ping().await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_schema_that_is_not_ours_is_left_alone() {
    let database = Cluster::shared().database();
    let (place, options) = (place(&database), Options::default());
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Empty);
    let refused = Store::open(&place, &options).await.unwrap_err();
    assert!(matches!(refused, Error::NotMigrated(SchemaState::Empty)));

    database.query("CREATE TABLE members (something text)");
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Unknown(0));
    assert!(matches!(Store::migrate(&place, &options).await, Err(Error::Schema(_))));
    database.query("DROP TABLE members");

    let both = tokio::join!(Store::migrate(&place, &options), Store::migrate(&place, &options));
    let both = [both.0.unwrap(), both.1.unwrap()];
    assert!(both.contains(&SchemaState::Empty) && both.contains(&SchemaState::Current(1)));
    database.query("INSERT INTO schema_version VALUES (9, 0)");
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Unknown(9));
    assert!(matches!(Store::open(&place, &options).await, Err(Error::Schema(_))));
}
