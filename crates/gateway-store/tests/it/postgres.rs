//! What only PostgreSQL has: several processes on one database, and a server that can be lost.

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
use crate::world::{LEASE, LONG, OWNER, World, closing, opening, patient, repeated};

/// A cluster of its own, which can be stopped.
async fn alone() -> (Arc<Cluster>, World) {
    let cluster = Arc::new(Cluster::start_new());
    let world = World::on_database(cluster.database(), patient()).await;
    (cluster, world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_on_two_processes_race_a_balance_that_covers_137() {
    let world = World::postgres().await;
    let stores = [Arc::clone(&world.store), Arc::new(world.another().await)];
    let (member, key) = world.member("ann", 1379, Limits::default()).await;
    let mut racers = JoinSet::new();
    for number in 0..1000 {
        let (store, opening) = (Arc::clone(&stores[number % 2]), opening(&key, 10));
        racers.spawn(async move { store.hold(opening).await.unwrap() });
    }
    let held: Vec<Hold> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!((held.len(), world.money(member).await), (137, (1379, 1370)));
    world.check().await;

    // Each hold is ended by four at once, on both.
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
    assert_eq!(world.money(member).await, (1379 - charges.iter().sum::<i64>(), 0));
    world.check().await;
}

/// Holds and ends until it is told to stop; gives how many were charged as far as it knows.
async fn keep_busy(load: Arc<Load>, store: Arc<Store>, key: Key) -> i64 {
    let mut charged = 0;
    while !load.stop.load(Ordering::Relaxed) {
        let hold = match store.hold(opening(&key, 10)).await {
            Ok(hold) => hold.unwrap(),
            Err(error) => {
                load.fail(&error);
                continue;
            }
        };
        // Whoever is not told how it ended asks again, as the service does.
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
async fn a_server_that_is_lost_under_load_loses_nothing() {
    let (cluster, world) = alone().await;
    let load = Arc::new(Load::default());
    let mut tasks = JoinSet::new();
    let mut members: Vec<MemberId> = Vec::new();
    for number in 0..8 {
        let (member, key) = world.member(&format!("m{number}"), 1 << 40, Limits::default()).await;
        members.push(member);
        for _ in 0..8 {
            let (load, store) = (Arc::clone(&load), Arc::clone(&world.store));
            tasks.spawn(keep_busy(load, store, key.clone()));
        }
    }
    for mode in [StopMode::Immediate, StopMode::Fast, StopMode::Immediate] {
        // sleep: the load runs meanwhile; nothing is waited for.
        sleep(Duration::from_millis(300)).await;
        let cluster = Arc::clone(&cluster);
        tokio::task::spawn_blocking(move || cluster.restart(mode)).await.unwrap();
        world.store.ping().await.unwrap();
    }
    // sleep: as above.
    sleep(Duration::from_millis(300)).await;
    load.stop.store(true, Ordering::Relaxed);
    let charged: i64 = timeout(LONG, tasks.join_all()).await.unwrap().iter().sum();
    assert!(load.failures.load(Ordering::Relaxed) > 0 && charged > 0);
    let mut balances = 0;
    for member in members {
        balances += world.money(member).await.0;
    }
    // Every end that was acknowledged, or found done, was charged once: no more and no less.
    assert_eq!(balances, 8 * (1 << 40) - charged);
    world.check().await;
    // Holds of which nobody was told end with their lease.
    world.pass(LEASE * 2);
    while world.store.expire_holds().await.unwrap() > 0 {}
    assert_eq!(world.store.check_ledger().await.unwrap().holds, 0);
    world.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_cut_are_made_again() {
    let world = World::postgres().await;
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    for _ in 0..3 {
        world.damage(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        let again = async {
            loop {
                match world.store.hold(opening(&key, 1)).await {
                    Ok(held) => break held,
                    Err(error) => assert!(matches!(error, Error::Unavailable(_)), "{error:?}"),
                }
            }
        };
        let hold = timeout(LONG, again).await.unwrap().unwrap();
        while world.store.account(key.member).await.is_err() {}
        world.end(&hold, ChargeRule::Answered).await;
    }
    world.check().await;
}

#[tokio::test]
async fn a_server_that_stays_away_is_told_in_time() {
    let (cluster, world) = alone().await;
    let (_, key) = world.member("ann", 1000, Limits::default()).await;
    let store = world.impatient(Duration::from_millis(500)).await;
    cluster.stop(StopMode::Fast);
    for _ in 0..2 {
        let held = timeout(LONG / 2, store.hold(opening(&key, 1))).await.unwrap();
        assert!(matches!(held, Err(Error::Unavailable(_))));
        let asked = timeout(LONG / 2, store.ping()).await.unwrap();
        assert!(matches!(asked, Err(Error::Unavailable(_))));
    }
    cluster.start();
    timeout(LONG, async { while store.hold(opening(&key, 1)).await.is_err() {} }).await.unwrap();
    world.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_somebody_keeps_locked_is_not_waited_for_forever() {
    let (_cluster, world) = alone().await;
    let world = Arc::new(world);
    let store = world.impatient(Duration::from_millis(500)).await;
    let (_, key) = world.member("ann", 1_000_000, Limits::default()).await;
    let (_, other) = world.member("bob", 1000, Limits::default()).await;
    let shared = Arc::clone(&world);
    let locker = tokio::task::spawn_blocking(move || {
        shared
            .damage("BEGIN; UPDATE members SET name = 'x' WHERE name = 'ann'; SELECT pg_sleep(3)");
    });
    let mut waited = false;
    while !locker.is_finished() {
        match store.hold(opening(&key, 1)).await {
            Ok(held) => drop(held.unwrap()),
            Err(error) => {
                assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
                waited = true;
            }
        }
    }
    locker.await.unwrap();
    assert!(waited);
    timeout(LONG, async { while store.hold(opening(&other, 1)).await.is_err() {} }).await.unwrap();
    world.check().await;
}

/// A failure in the middle of a transaction of the pool's only connection, in three ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_failed_halfway_is_not_there_for_the_next_one() {
    // Long enough that the server does not end the transaction meanwhile.
    let wait = Duration::from_secs(4);
    let options = StoreOptions { connections: 1, wait, ..StoreOptions::default() };
    let world = World::on_database(Cluster::shared().database(), options).await;
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    // Once all goes well: the connection knows its statements after that.
    world.hold(&key, 5).await.unwrap();
    world.pass(LEASE * 2);
    assert_eq!(world.store.expire_holds().await.unwrap(), 1);
    queued(&world, &key, "resp_1").await;
    world.pass(LEASE * 2);
    let broken = [
        // A statement between the first and the last one is refused.
        (
            "ALTER TABLE responses RENAME COLUMN previous TO earlier",
            "ALTER TABLE responses RENAME COLUMN earlier TO previous",
        ),
        // The last one is.
        (
            "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS \
                $$BEGIN RAISE EXCEPTION 'no'; END$$; \
             CREATE TRIGGER no BEFORE INSERT ON receipts FOR EACH ROW EXECUTE FUNCTION no()",
            "DROP TRIGGER no ON receipts",
        ),
    ];
    for (breaks, mends) in broken {
        world.damage(breaks);
        let failed = world.store.expire_holds().await.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Operator, "{failed:?}");
        world.damage(mends);
        assert_eq!(world.money(member).await, (1000, 5), "{breaks}");
        assert_eq!(open_transactions(&world).await, "0", "{breaks}");
    }
    // Somebody keeps a lock that is needed in the middle.
    let locker = client(&world).await;
    locker.batch_execute("BEGIN; SELECT id FROM responses FOR UPDATE").await.unwrap();
    assert!(matches!(world.store.expire_holds().await, Err(Error::Unavailable(_))));
    assert_eq!(world.money(member).await, (1000, 5));
    locker.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(open_transactions(&world).await, "0");

    assert_eq!(world.store.expire_holds().await.unwrap(), 1);
    assert_eq!(world.money(member).await, (1000, 0));
    assert_eq!(world.store.response(member, "resp_1").await.unwrap().unwrap().status, "failed");
    world.check().await;
}

/// A connection of the test's own.
async fn client(world: &World) -> tokio_postgres::Client {
    let DatabaseLocation::Postgres(place) = &world.place else { panic!("this is not PostgreSQL") };
    let (client, connection) = tokio_postgres::connect(place, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// How many connections stand in a transaction and do nothing, once the server has seen which of
/// them were closed.
async fn open_transactions(world: &World) -> String {
    let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND state LIKE 'idle in transaction%'";
    let closed = async {
        loop {
            let open = world.ask(count);
            if open == "0" {
                return open;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, closed).await.unwrap_or_else(|_| world.ask(count))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_are_renewed_and_ended_by_many_at_once() {
    let world = World::postgres().await;
    let stores = [Arc::clone(&world.store), Arc::new(world.another().await)];
    let load = Arc::new(Load::default());
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let (_, key) = world.member(&format!("m{number}"), 1 << 40, Limits::default()).await;
        let (load, store) = (Arc::clone(&load), Arc::clone(&stores[number % 2]));
        tasks.spawn(keep_busy(load, store, key));
    }
    let (lost, key) = world.member("lost", 1000, Limits::default()).await;
    let mut expired = 0;
    for _ in 0..10 {
        let mut opening = opening(&key, 1);
        (opening.request.owner, opening.request.lease_micros) = (OWNER + 1, -1);
        world.store.hold(opening).await.unwrap().unwrap();
        let [one, other] = &stores;
        let (one, other, renewed) =
            tokio::join!(one.expire_holds(), other.expire_holds(), one.renew_leases(OWNER, LEASE));
        renewed.unwrap();
        expired += one.unwrap() + other.unwrap();
    }
    load.stop.store(true, Ordering::Relaxed);
    timeout(LONG, tasks.join_all()).await.unwrap();
    // Nobody waited for somebody who waited for him.
    assert_eq!(load.failures.load(Ordering::Relaxed), 0);
    assert_eq!((expired, world.money(lost).await), (10, (1000, 0)));
    world.check().await;
}

#[tokio::test]
async fn holds_of_other_processes_are_not_abandoned() {
    let world = World::postgres().await;
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    world.hold(&key, 5).await.unwrap();
    assert_eq!(world.store.end_holds_except(OWNER + 1).await.unwrap(), 0);
    assert_eq!(world.money(member).await, (1000, 5));
}

#[tokio::test]
async fn an_id_is_used_once() {
    let world = World::postgres().await;
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    let live = world.hold(&key, 5).await.unwrap();
    let ended = world.hold(&key, 5).await.unwrap();
    world.end(&ended, ChargeRule::Answered).await;
    for hold in [live, ended] {
        let mut again = opening(&key, 5);
        again.request.id = hold.id;
        let good = opening(&key, 5);
        let (refused, held) = tokio::join!(world.store.hold(again), world.store.hold(good));
        assert_eq!(refused.unwrap(), Err(Refusal::IdUsed));
        assert!(held.unwrap().is_ok());
    }
    assert_eq!(world.money(member).await, (995, 15));
    world.check().await;
}

/// PostgreSQL takes no text with a zero byte: whoever sends one fails alone, whether the rows are
/// read or written, however many wait with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_the_database_refuses_fails_alone() {
    let world = World::postgres().await;
    let (member, key) = world.member("ann", 10_000, Limits::default()).await;
    let mut racers = JoinSet::new();
    for number in 0..600 {
        let mut opening = opening(&key, 1);
        match number % 50 {
            17 => opening.request.model = Some("a\0b".into()),
            39 => opening.request = repeated(&key, 1, "a\0b", 1).request,
            _ => {}
        }
        let store = Arc::clone(&world.store);
        racers.spawn(async move { (number % 50, store.hold(opening).await) });
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
    assert_eq!(world.money(member).await, (10_000, 576));

    // Ends as well: what an upstream called its model is written with them.
    let mut enders = JoinSet::new();
    for (number, hold) in held.into_iter().enumerate() {
        let mut closing = closing(&hold, ChargeRule::Answered);
        closing.end.model = (number % 100 == 5).then(|| "a\0b".into());
        let store = Arc::clone(&world.store);
        enders.spawn(async move { store.end(closing).await.is_ok() });
    }
    let ended = enders.join_all().await.into_iter().filter(|is_good| *is_good).count();
    assert_eq!((ended, world.money(member).await), (570, (9430, 6)));
    world.check().await;
}

#[tokio::test]
async fn a_schema_that_is_not_ours_is_left_alone() {
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
    assert!(both.contains(&SchemaState::Empty) && both.contains(&SchemaState::Current(5)));
    database.query("INSERT INTO schema_version VALUES (9, 0)");
    assert_eq!(Store::schema(&place, &options).await.unwrap(), SchemaState::Unknown(9));
    assert!(matches!(Store::open(&place, &options).await, Err(Error::Schema(_))));
}

#[tokio::test]
async fn a_password_is_in_no_error() {
    let options = StoreOptions { wait: Duration::from_secs(2), ..StoreOptions::default() };
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
