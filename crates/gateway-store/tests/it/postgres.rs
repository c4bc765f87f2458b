//! Behaviour of PostgreSQL only: several processes on one database, and failures of the server.

mod limits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use agent_test_support::postgres::{Cluster, StopMode};
use gateway_store::{DatabaseLocation, Error, ErrorKind, Key, SchemaState, Store, StoreOptions};
use ledger::{ChargeRule, EndResult, Hold, Limits, MemberId, Refusal};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::suite::responses::queued;
use crate::test_database::{
    LEASE, LONG, OWNER, TestDatabase, closing, new_hold, patient, with_key,
};

/// A separate cluster that can be stopped.
async fn alone() -> (Arc<Cluster>, TestDatabase) {
    let cluster = Arc::new(Cluster::start_new());
    let db = TestDatabase::on_database(cluster.database(), patient()).await;
    (cluster, db)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_holds_of_two_processes_never_exceed_the_balance() {
    let db = TestDatabase::postgres().await;
    let stores = [Arc::clone(&db.store), Arc::new(db.another().await)];
    let (member, key) = db.member("ann", 1379, Limits::default()).await;
    let mut racers = JoinSet::new();
    for number in 0..1000 {
        let (store, hold) = (Arc::clone(&stores[number % 2]), new_hold(&key, 10));
        racers.spawn(async move { store.hold(hold).await.unwrap() });
    }
    let held: Vec<Hold> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!((held.len(), db.money(member).await), (137, (1379, 1370)));
    db.check().await;

    // Four concurrent ends of each hold, through both stores.
    let mut enders = JoinSet::new();
    for hold in held {
        for number in 0..4 {
            let rule = if number < 2 { ChargeRule::Answered } else { ChargeRule::Cancelled };
            let (store, closing) = (Arc::clone(&stores[number % 2]), closing(&hold, rule));
            enders.spawn(async move { store.end(closing).await.unwrap() });
        }
    }
    let charges = enders.join_all().await.into_iter().filter_map(|ended| match ended {
        EndResult::Ended(receipt) => Some(receipt.charged.get()),
        EndResult::AlreadyEnded => None,
    });
    let charges: Vec<i64> = charges.collect();
    assert_eq!(charges.len(), 137);
    assert_eq!(db.money(member).await, (1379 - charges.iter().sum::<i64>(), 0));
    db.check().await;
}

/// Opens and ends holds until stopped; returns the acknowledged charges.
async fn keep_busy(load: Arc<Load>, store: Arc<Store>, key: Key) -> i64 {
    let mut charged = 0;
    while !load.stop.load(Ordering::Relaxed) {
        let hold = match store.hold(new_hold(&key, 10)).await {
            Ok(hold) => hold.unwrap(),
            Err(error) => {
                load.fail(&error);
                continue;
            }
        };
        // Retries like the service if the result is unknown.
        while let Err(error) = store.end(closing(&hold, ChargeRule::Answered)).await {
            load.fail(&error);
        }
        charged += 10;
    }
    charged
}

#[derive(Default)]
struct Load {
    stop: AtomicBool,
    failures: AtomicU64,
}

impl Load {
    fn fail(&self, error: &Error) {
        assert_eq!(error.kind(), ErrorKind::Temporary, "{error:?}");
        self.failures.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_of_the_server_under_load_lose_nothing() {
    let (cluster, db) = alone().await;
    let load = Arc::new(Load::default());
    let mut tasks = JoinSet::new();
    let mut members: Vec<MemberId> = Vec::new();
    for number in 0..8 {
        let (member, key) = db.member(&format!("m{number}"), 1 << 40, Limits::default()).await;
        members.push(member);
        for _ in 0..8 {
            let (load, store) = (Arc::clone(&load), Arc::clone(&db.store));
            tasks.spawn(keep_busy(load, store, key.clone()));
        }
    }
    for mode in [StopMode::Immediate, StopMode::Fast, StopMode::Immediate] {
        // sleep: the load runs meanwhile; nothing is waited for.
        sleep(Duration::from_millis(300)).await;
        let cluster = Arc::clone(&cluster);
        tokio::task::spawn_blocking(move || cluster.restart(mode)).await.unwrap();
        db.store.ping().await.unwrap();
    }
    // sleep: as above.
    sleep(Duration::from_millis(300)).await;
    load.stop.store(true, Ordering::Relaxed);
    let charged: i64 = timeout(LONG, tasks.join_all()).await.unwrap().iter().sum();
    assert!(load.failures.load(Ordering::Relaxed) > 0 && charged > 0);
    let mut balances = 0;
    for member in members {
        balances += db.money(member).await.0;
    }
    // Every acknowledged end was charged exactly once.
    assert_eq!(balances, 8 * (1 << 40) - charged);
    db.check().await;
    // Unacknowledged holds expire with their lease.
    db.advance_clock(LEASE * 2);
    while db.store.expire_holds().await.unwrap() > 0 {}
    assert_eq!(db.store.check_ledger().await.unwrap().holds, 0);
    db.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_are_reopened() {
    let db = TestDatabase::postgres().await;
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    for _ in 0..3 {
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        let again = async {
            loop {
                match db.store.hold(new_hold(&key, 1)).await {
                    Ok(held) => break held,
                    Err(error) => assert!(matches!(error, Error::Unavailable(_)), "{error:?}"),
                }
            }
        };
        let hold = timeout(LONG, again).await.unwrap().unwrap();
        while db.store.account(key.member).await.is_err() {}
        db.end(&hold, ChargeRule::Answered).await;
    }
    db.check().await;
}

#[tokio::test]
async fn an_unavailable_server_is_reported_in_time() {
    let (cluster, db) = alone().await;
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    let store = db.impatient(Duration::from_millis(500)).await;
    cluster.stop(StopMode::Fast);
    for _ in 0..2 {
        let held = timeout(LONG / 2, store.hold(new_hold(&key, 1))).await.unwrap();
        assert!(matches!(held, Err(Error::Unavailable(_))));
        let asked = timeout(LONG / 2, store.ping()).await.unwrap();
        assert!(matches!(asked, Err(Error::Unavailable(_))));
    }
    cluster.start();
    timeout(LONG, async { while store.hold(new_hold(&key, 1)).await.is_err() {} }).await.unwrap();
    db.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_is_reported_after_the_timeout() {
    let (_cluster, db) = alone().await;
    let db = Arc::new(db);
    let store = db.impatient(Duration::from_millis(500)).await;
    let (_, key) = db.member("ann", 1_000_000, Limits::default()).await;
    let (_, other) = db.member("bob", 1000, Limits::default()).await;
    let shared = Arc::clone(&db);
    let locker = tokio::task::spawn_blocking(move || {
        shared
            .execute("BEGIN; UPDATE members SET name = 'x' WHERE name = 'ann'; SELECT pg_sleep(3)");
    });
    let mut waited = false;
    while !locker.is_finished() {
        match store.hold(new_hold(&key, 1)).await {
            Ok(held) => drop(held.unwrap()),
            Err(error) => {
                assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
                waited = true;
            }
        }
    }
    locker.await.unwrap();
    assert!(waited);
    timeout(LONG, async { while store.hold(new_hold(&other, 1)).await.is_err() {} }).await.unwrap();
    db.check().await;
}

/// Three failures in the middle of a transaction on the only connection of the pool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_transactions_are_rolled_back_before_the_next_one() {
    // Long enough that the server does not end the transaction by itself.
    let wait = Duration::from_secs(4);
    let options = StoreOptions { connections: 1, timeout: wait, ..StoreOptions::default() };
    let db = TestDatabase::on_database(Cluster::shared().database(), options).await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    // A successful run first, so that the connection has prepared its statements.
    db.hold(&key, 5).await.unwrap();
    db.advance_clock(LEASE * 2);
    assert_eq!(db.store.expire_holds().await.unwrap(), 1);
    queued(&db, &key, "resp_1").await;
    db.advance_clock(LEASE * 2);
    let broken = [
        // A statement in the middle fails.
        (
            "ALTER TABLE responses RENAME COLUMN previous TO earlier",
            "ALTER TABLE responses RENAME COLUMN earlier TO previous",
        ),
        // The last statement fails.
        (
            "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \
                $$BEGIN RAISE EXCEPTION 'no'; END$$; \
             CREATE TRIGGER no BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION no()",
            "DROP TRIGGER no ON receipts",
        ),
    ];
    for (breaks, mends) in broken {
        db.execute(breaks);
        let failed = db.store.expire_holds().await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Operator, "{failed:?}");
        db.execute(mends);
        assert_eq!(db.money(member).await, (1000, 5), "{breaks}");
        assert_eq!(open_transactions(&db).await, "0", "{breaks}");
    }
    // A lock that is needed in the middle is taken.
    let locker = client(&db).await;
    locker.batch_execute("BEGIN; SELECT id FROM responses FOR UPDATE").await.unwrap();
    assert!(matches!(db.store.expire_holds().await, Err(Error::Unavailable(_))));
    assert_eq!(db.money(member).await, (1000, 5));
    locker.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(open_transactions(&db).await, "0");

    assert_eq!(db.store.expire_holds().await.unwrap(), 1);
    assert_eq!(db.money(member).await, (1000, 0));
    assert_eq!(db.store.response(member, "resp_1").await.unwrap().unwrap().status, "failed");
    db.check().await;
}

/// A connection outside the store.
async fn client(db: &TestDatabase) -> tokio_postgres::Client {
    let DatabaseLocation::Postgres(place) = &db.location else { panic!("this is not PostgreSQL") };
    let (client, connection) = tokio_postgres::connect(place, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The number of idle connections in a transaction, once the server has noticed closed ones.
async fn open_transactions(db: &TestDatabase) -> String {
    let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND state LIKE 'idle in transaction%'";
    let closed = async {
        loop {
            let open = db.query(count);
            if open == "0" {
                return open;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, closed).await.unwrap_or_else(|_| db.query(count))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_renewal_and_expiry_do_not_deadlock() {
    let db = TestDatabase::postgres().await;
    let stores = [Arc::clone(&db.store), Arc::new(db.another().await)];
    let load = Arc::new(Load::default());
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let (_, key) = db.member(&format!("m{number}"), 1 << 40, Limits::default()).await;
        let (load, store) = (Arc::clone(&load), Arc::clone(&stores[number % 2]));
        tasks.spawn(keep_busy(load, store, key));
    }
    let (lost, key) = db.member("lost", 1000, Limits::default()).await;
    let mut expired = 0;
    for _ in 0..10 {
        let mut hold = new_hold(&key, 1);
        (hold.request.owner, hold.request.lease_micros) = (OWNER + 1, -1);
        db.store.hold(hold).await.unwrap().unwrap();
        let [one, other] = &stores;
        let (one, other, renewed) =
            tokio::join!(one.expire_holds(), other.expire_holds(), one.renew_leases(OWNER, LEASE));
        renewed.unwrap();
        expired += one.unwrap() + other.unwrap();
    }
    load.stop.store(true, Ordering::Relaxed);
    timeout(LONG, tasks.join_all()).await.unwrap();
    // No deadlock occurred.
    assert_eq!(load.failures.load(Ordering::Relaxed), 0);
    assert_eq!((expired, db.money(lost).await), (10, (1000, 0)));
    db.check().await;
}

#[tokio::test]
async fn holds_of_other_processes_are_not_ended() {
    let db = TestDatabase::postgres().await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    db.hold(&key, 5).await.unwrap();
    assert_eq!(db.store.end_holds_except(OWNER + 1).await.unwrap(), 0);
    assert_eq!(db.money(member).await, (1000, 5));
}

#[tokio::test]
async fn hold_ids_are_not_reused() {
    let db = TestDatabase::postgres().await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    let live = db.hold(&key, 5).await.unwrap();
    let ended = db.hold(&key, 5).await.unwrap();
    db.end(&ended, ChargeRule::Answered).await;
    for hold in [live, ended] {
        let mut again = new_hold(&key, 5);
        again.request.id = hold.id;
        let good = new_hold(&key, 5);
        let (refused, held) = tokio::join!(db.store.hold(again), db.store.hold(good));
        assert_eq!(refused.unwrap(), Err(Refusal::IdUsed));
        assert!(held.unwrap().is_ok());
    }
    assert_eq!(db.money(member).await, (995, 15));
    db.check().await;
}

/// PostgreSQL rejects text with a zero byte. Such an operation fails alone, on reads and on writes,
/// however many operations wait with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_that_the_database_rejects_fails_alone() {
    let db = TestDatabase::postgres().await;
    let (member, key) = db.member("ann", 10_000, Limits::default()).await;
    let mut racers = JoinSet::new();
    for number in 0..600 {
        let mut hold = new_hold(&key, 1);
        match number % 50 {
            17 => hold.request.model = Some("a\0b".into()),
            39 => hold.request = with_key(&key, 1, "a\0b", 1).request,
            _ => {}
        }
        let store = Arc::clone(&db.store);
        racers.spawn(async move { (number % 50, store.hold(hold).await) });
    }
    let (mut held, mut refused) = (Vec::new(), 0);
    for (number, result) in racers.join_all().await {
        match result {
            Ok(begun) => held.push(begun.unwrap()),
            Err(error) => {
                assert!(matches!(error, Error::Refused(_)), "{error:?}");
                assert!([17, 39].contains(&number), "{number} is not to blame");
                refused += 1;
            }
        }
    }
    assert_eq!((held.len(), refused), (576, 24));
    assert_eq!(db.money(member).await, (10_000, 576));

    // Ends too: the model name of an upstream is written with them.
    let mut enders = JoinSet::new();
    for (number, hold) in held.into_iter().enumerate() {
        let mut closing = closing(&hold, ChargeRule::Answered);
        closing.end.model = (number % 100 == 5).then(|| "a\0b".into());
        let store = Arc::clone(&db.store);
        enders.spawn(async move { store.end(closing).await.is_ok() });
    }
    let ended = enders.join_all().await.into_iter().filter(|is_good| *is_good).count();
    assert_eq!((ended, db.money(member).await), (570, (9430, 6)));
    db.check().await;
}

#[tokio::test]
async fn foreign_schemas_are_not_modified() {
    let database = Cluster::shared().database();
    let (place, options) = (DatabaseLocation::Postgres(database.url()), StoreOptions::default());
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Empty);
    let refused = Store::open(&place, &options).await.unwrap_err();
    assert!(matches!(refused, Error::NotMigrated(SchemaState::Empty)));

    database.query("CREATE TABLE members (something text)");
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Unknown(0));
    assert!(matches!(Store::migrate(&place, &options).await, Err(Error::Schema(_))));
    database.query("DROP TABLE members");

    let both = tokio::join!(Store::migrate(&place, &options), Store::migrate(&place, &options));
    let both = [both.0.unwrap(), both.1.unwrap()];
    assert!(both.contains(&SchemaState::Empty) && both.contains(&SchemaState::Current(12)));
    database.query("INSERT INTO schema_version VALUES (13, 0)");
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Unknown(13));
    assert!(matches!(Store::open(&place, &options).await, Err(Error::Schema(_))));
}

#[tokio::test]
async fn errors_contain_no_password() {
    let options = StoreOptions { timeout: Duration::from_secs(2), ..StoreOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().display();
    for place in [
        format!("postgres:///x?host={socket}&user=a&password=hunter2"),
        "postgres://a:hunter2@127.0.0.1:1/x?sslmode=require".to_owned(),
        "postgres://a:hunter2@127.0.0.1:none/x".to_owned(),
    ] {
        let place = DatabaseLocation::Postgres(place);
        let error = Store::open(&place, &options).await.unwrap_err();
        assert!(!format!("{error:?} {error} {place:?}").contains("hunter2"));
    }
}
