//! CPU time of a hold and its end on SQLite and PostgreSQL.
//!
//! The figures include all threads of this process. Disk time shows only in the rate and the
//! slowest pair; the CPU time of the PostgreSQL server is not included.
#![expect(clippy::print_stdout, reason = "its table is its purpose")]
#![expect(clippy::expect_used, reason = "a measurement that cannot begin ends")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::postgres::Cluster;
use gateway_store::{
    Actor, DatabaseLocation, HoldClosing, Key, NewHold, NewKey, Scope, Store, StoreOptions,
};
use ledger::{
    ChargeRule, HoldEnd, HoldId, HoldRequest, Limits, Micros, PostingKind, TokenCounts, Transfer,
};

const MEMBERS: usize = 1000;
const ROUND: Duration = Duration::from_secs(3);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    println!(
        "| database | commits | tasks | pairs/s | CPU per pair | p50 of a pair | p99 of a pair |"
    );
    println!("|---|---|---|---|---|---|---|");
    // Next to the build, because a temporary folder may be in memory.
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for power_loss_safe in [true, false] {
        let folder = tempfile::tempdir_in(beside).expect("a folder");
        let place = DatabaseLocation::Sqlite(folder.path().join("gateway.db"));
        runtime.block_on(measure("SQLite", &place, power_loss_safe));
    }
    let cluster = Arc::new(Cluster::start_in(beside));
    for power_loss_safe in [true, false] {
        let place = DatabaseLocation::Postgres(cluster.database().url());
        runtime.block_on(measure("PostgreSQL", &place, power_loss_safe));
    }
}

async fn measure(database: &str, place: &DatabaseLocation, power_loss_safe: bool) {
    let options = StoreOptions { power_loss_safe, ..StoreOptions::default() };
    Store::migrate(place, &options).await.expect("a schema");
    let store = Arc::new(Store::open(place, &options).await.expect("a store"));
    let keys = Arc::new(fill(&store).await);
    for tasks in [1, 32, 256] {
        let (cpu, started) = (cpu_time(), Instant::now());
        let mut running = tokio::task::JoinSet::new();
        for task in 0..tasks {
            running.spawn(work(Arc::clone(&store), Arc::clone(&keys), task, started + ROUND));
        }
        let mut pairs: Vec<Duration> = running.join_all().await.into_iter().flatten().collect();
        let (cpu, elapsed) = (cpu_time().saturating_sub(cpu), started.elapsed());
        pairs.sort_unstable();
        let part = |part: usize| pairs[(pairs.len() * part / 100).min(pairs.len() - 1)];
        let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        let commits = if power_loss_safe { "outlive power loss" } else { "outlive the process" };
        println!(
            "| {database} | {commits} | {tasks} | {:.0} | {:.1} µs | {:.2} ms | {:.2} ms |",
            f64::from(count) / elapsed.as_secs_f64(),
            (cpu / count).as_secs_f64() * 1e6,
            part(50).as_secs_f64() * 1e3,
            part(99).as_secs_f64() * 1e3,
        );
    }
    let check = store.check_ledger().await.expect("a check");
    assert_eq!(check.wrong, 0, "the ledger adds up");
    store.close().await;
}

/// Members with a balance and a key.
async fn fill(store: &Store) -> Vec<Key> {
    let by = Actor { name: "bench".to_owned(), request: None };
    let mut keys = Vec::new();
    for number in 0..MEMBERS {
        let name = format!("member {number}");
        let member = store.create_member(&name, &by).await.expect("a member").id;
        let (kind, amount) = (PostingKind::TopUp, Micros::new(1_000_000_000_000));
        let reason = "bench".to_owned();
        let transfer = Transfer { member, kind, amount, reason, reference: None };
        store.post(transfer, &by).await.expect("a posting").expect("a posting");
        let key = NewKey {
            id: name,
            hash: [0; 32],
            member,
            name: String::new(),
            scopes: vec![Scope::Chat],
            models: None,
            expires_at: None,
            limits: Limits {
                spend: Some(Micros::MAX),
                requests_per_minute: Some(10_000_000),
                concurrency: Some(1000),
                budget: None,
            },
        };
        keys.push(store.create_key(&key, &by).await.expect("a key"));
    }
    keys
}

/// Opens and settles holds until the deadline; returns the duration of each pair.
async fn work(store: Arc<Store>, keys: Arc<Vec<Key>>, task: usize, end: Instant) -> Vec<Duration> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(task as u64 + 1);
    let mut took = Vec::new();
    let begun = std::time::SystemTime::now();
    while Instant::now() < end {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let key = &keys[usize::try_from(random >> 32).unwrap_or(0) % keys.len()];
        let since = begun.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let time_ms = since.as_secs() * 1000 + took.len() as u64;
        let id = HoldId::new(time_ms, u128::from(random) << 10 | task as u128);
        let started = Instant::now();
        pair(&store, key, id).await;
        took.push(started.elapsed());
    }
    took
}

async fn pair(store: &Store, key: &Key, id: HoldId) {
    let request = HoldRequest {
        id,
        member: key.member,
        lineage: key.lineage,
        amount: Micros::new(7),
        operation: "chat".into(),
        model: Some("provider/model".into()),
        owner: 1,
        lease_micros: 60_000_000,
        idempotency: None,
    };
    store
        .hold(NewHold { request, response: None, parent: None })
        .await
        .expect("a store")
        .expect("a hold");
    let tokens = TokenCounts { input: Some(100), output: Some(200) };
    let (member, rule) = (key.member, ChargeRule::Answered);
    let end = HoldEnd { id, member, rule, model: None, tokens, attempts: None, answered: false };
    store
        .end(HoldClosing { end, answer: None, response: None, media: None })
        .await
        .expect("a store");
}

/// CPU time of this process, in steps of ten milliseconds.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(10 * (ticks() + ticks()))
}
