//! A separate database for every test, and helpers for the operations of the store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use agent_test_support::postgres::{Cluster, Database};
use gateway_store::{
    Actor, Calendar, Clock, DatabaseLocation, HoldClosing, Key, KeyRotation, NewHold, NewKey,
    SavedAnswer, Scope, Store, StoreOptions,
};
use ledger::{
    ChargeRule, EndResult, Hold, HoldEnd, HoldId, HoldRequest, IdempotencyKey, Limits, MemberId,
    Micros, Posting, PostingKind, Refusal, TokenCounts, Transfer, TransferResult,
};
use tempfile::TempDir;

/// The owner of the holds of the tests.
pub(crate) const OWNER: i64 = 7;

/// A lease of one minute.
pub(crate) const LEASE: i64 = 60_000_000;

/// A timeout that even a slow machine does not reach.
pub(crate) const LONG: Duration = Duration::from_mins(1);

pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// Options with a timeout that a slow machine does not reach.
pub(crate) fn patient() -> StoreOptions {
    StoreOptions { timeout: LONG, ..StoreOptions::default() }
}

/// A migrated database, and a store on it.
pub(crate) struct TestDatabase {
    pub(crate) store: Arc<Store>,
    pub(crate) location: DatabaseLocation,
    pub(crate) options: StoreOptions,
    base: Base,
}

enum Base {
    Sqlite { folder: TempDir, ahead: Arc<AtomicI64> },
    Postgres(Database),
}

impl TestDatabase {
    pub(crate) async fn sqlite() -> TestDatabase {
        Self::sqlite_in(tempfile::tempdir().unwrap()).await
    }

    /// Uses a folder that may contain a database.
    pub(crate) async fn sqlite_in(folder: TempDir) -> TestDatabase {
        let location = DatabaseLocation::Sqlite(folder.path().join("gateway.db"));
        let ahead = Arc::new(AtomicI64::new(0));
        let (moved, system) = (Arc::clone(&ahead), Clock::system());
        let clock = Clock::new(move || system.now().plus_micros(moved.load(Ordering::SeqCst)));
        // Tests need not wait for the disk.
        let options = StoreOptions { power_loss_safe: false, clock, ..patient() };
        Self::on(location, options, Base::Sqlite { folder, ahead }).await
    }

    pub(crate) async fn postgres() -> TestDatabase {
        Self::on_database(Cluster::shared().database(), patient()).await
    }

    pub(crate) async fn on_database(database: Database, options: StoreOptions) -> TestDatabase {
        let location = DatabaseLocation::Postgres(database.url());
        Self::on(location, options, Base::Postgres(database)).await
    }

    async fn on(location: DatabaseLocation, options: StoreOptions, base: Base) -> TestDatabase {
        Store::migrate(&location, &options).await.unwrap();
        let store = Arc::new(Store::open(&location, &options).await.unwrap());
        TestDatabase { store, location, options, base }
    }

    /// Opens another handle on the same database, like another process.
    pub(crate) async fn another(&self) -> Store {
        Store::open(&self.location, &self.options).await.unwrap()
    }

    /// Opens another handle with a short timeout.
    pub(crate) async fn impatient(&self, wait: Duration) -> Store {
        Store::open(&self.location, &StoreOptions { timeout: wait, ..self.options.clone() })
            .await
            .unwrap()
    }

    /// A path in the database's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match &self.base {
            Base::Sqlite { folder, .. } => folder.path().join(name),
            Base::Postgres(_) => panic!("PostgreSQL has no file"),
        }
    }

    /// Runs SQL outside the store.
    pub(crate) fn execute(&self, sql: &str) {
        match (&self.base, &self.location) {
            (Base::Postgres(database), _) => drop(database.query(sql)),
            (Base::Sqlite { .. }, DatabaseLocation::Sqlite(path)) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
                connection.execute_batch(sql).unwrap();
            }
            _ => panic!("a database is at its location"),
        }
    }

    /// Runs a query outside the store, on PostgreSQL.
    pub(crate) fn query(&self, sql: &str) -> String {
        match &self.base {
            Base::Postgres(database) => database.query(sql),
            Base::Sqlite { .. } => panic!("only PostgreSQL is asked"),
        }
    }

    /// Advances the clock, or moves all stored times back.
    pub(crate) fn advance_clock(&self, micros: i64) {
        match &self.base {
            Base::Sqlite { ahead, .. } => drop(ahead.fetch_add(micros, Ordering::SeqCst)),
            Base::Postgres(database) => {
                for (table, column) in [
                    ("holds", "lease_until"),
                    ("repeats", "expires_at"),
                    ("answers", "expires_at"),
                    ("responses", "expires_at"),
                    ("media_runs", "expires_at"),
                    ("artifacts", "expires_at"),
                    ("media_objects", "touched_at"),
                    ("keys", "expires_at"),
                    ("research_jobs", "free_at"),
                    ("research_jobs", "deadline"),
                    ("research_jobs", "expires_at"),
                    ("research_hooks", "due_at"),
                    ("lineages", "next_arrival"),
                    ("lineages", "budget_start"),
                    ("members", "budget_start"),
                    ("holds", "since"),
                    ("receipts", "since"),
                ] {
                    database.query(&format!("UPDATE {table} SET {column} = {column} - {micros}"));
                }
            }
        }
    }

    /// Opens the store with a time zone in which it is noon, so that no day ends during a test.
    pub(crate) async fn at_noon(mut self) -> TestDatabase {
        let hour = self.options.clock.now().micros().rem_euclid(DAY) / (3600 * SECOND);
        // These names have the sign of the distance to UTC reversed.
        let name = format!("Etc/GMT{:+}", hour - 12);
        self.options.calendar = Calendar::parse(&name).unwrap();
        self.store.close().await;
        self.store = Arc::new(self.another().await);
        self
    }

    /// Creates a key of a member.
    pub(crate) async fn key(&self, member: MemberId, id: &str, limits: Limits) -> Key {
        self.store.create_key(&new_key(member, id, limits), &actor()).await.unwrap()
    }

    /// Creates a member with a balance, and a key.
    pub(crate) async fn member(&self, name: &str, credit: i64, limits: Limits) -> (MemberId, Key) {
        let member = self.store.create_member(name, &actor()).await.unwrap().id;
        if credit > 0 {
            self.top_up(member, credit).await.unwrap();
        }
        (member, self.key(member, &format!("k{name}"), limits).await)
    }

    /// Makes a transfer with a reference.
    pub(crate) async fn transfer(
        &self,
        member: MemberId,
        kind: PostingKind,
        amount: i64,
        reference: &str,
    ) -> Result<TransferResult, Refusal> {
        let (amount, reason) = (Micros::new(amount), "because".to_owned());
        let reference = Some(reference.to_owned());
        let transfer = Transfer { member, kind, amount, reason, reference };
        self.store.post(transfer, &actor()).await.unwrap()
    }

    pub(crate) async fn top_up(&self, member: MemberId, credit: i64) -> Result<Posting, Refusal> {
        self.move_money(member, PostingKind::TopUp, credit).await
    }

    pub(crate) async fn move_money(
        &self,
        member: MemberId,
        kind: PostingKind,
        amount: i64,
    ) -> Result<Posting, Refusal> {
        let (amount, reason) = (Micros::new(amount), "because".to_owned());
        let transfer = Transfer { member, kind, amount, reason, reference: None };
        let posted = self.store.post(transfer, &actor()).await.unwrap()?;
        let TransferResult::Posted(posting) = posted else { panic!("it was posted before") };
        Ok(posting)
    }

    pub(crate) async fn hold(&self, key: &Key, amount: i64) -> Result<Hold, Refusal> {
        self.store.hold(new_hold(key, amount)).await.unwrap()
    }

    pub(crate) async fn end(&self, hold: &Hold, rule: ChargeRule) -> EndResult {
        self.store.end(closing(hold, rule)).await.unwrap()
    }

    /// Balance and held amount.
    pub(crate) async fn money(&self, member: MemberId) -> (i64, i64) {
        let account = self.store.account(member).await.unwrap().unwrap();
        (account.balance.get(), account.held.get())
    }

    /// Asserts that the ledger check has no findings.
    pub(crate) async fn check(&self) {
        let check = self.store.check_ledger().await.unwrap();
        assert_eq!((check.wrong, &check.findings[..]), (0, &[][..]));
        assert_eq!(check.sum, Micros::ZERO);
    }
}

pub(crate) fn actor() -> Actor {
    Actor { name: "cli:tester".to_owned(), request: Some("req_1".to_owned()) }
}

pub(crate) fn rotation(
    old: &str,
    new: &str,
    new_hash: [u8; 32],
    overlap_micros: i64,
) -> KeyRotation {
    KeyRotation { old_id: old.to_owned(), new_id: new.to_owned(), new_hash, overlap_micros }
}

pub(crate) fn new_key(member: MemberId, id: &str, limits: Limits) -> NewKey {
    NewKey {
        id: id.to_owned(),
        hash: [3; 32],
        member,
        name: "laptop".to_owned(),
        scopes: vec![Scope::Chat, Scope::Models],
        models: Some(vec!["a/b".to_owned(), "a/c".to_owned()]),
        expires_at: None,
        limits,
    }
}

/// A unique id.
pub(crate) fn new_id() -> HoldId {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let process = u128::from(std::process::id()) << 64;
    HoldId::new(1_790_000_000_000, process | u128::from(NUMBER.fetch_add(1, Ordering::SeqCst)))
}

pub(crate) fn new_hold(key: &Key, amount: i64) -> NewHold {
    let request = HoldRequest {
        id: new_id(),
        member: key.member,
        lineage: key.lineage,
        amount: Micros::new(amount),
        operation: "chat".into(),
        model: Some("a/b".into()),
        owner: OWNER,
        lease_micros: LEASE,
        idempotency: None,
    };
    NewHold { request, response: None, parent: None }
}

/// A [`new_hold`] with an idempotency key.
pub(crate) fn with_key(key: &Key, amount: i64, idempotency_key: &str, body: u8) -> NewHold {
    let mut hold = new_hold(key, amount);
    let key_text = idempotency_key.to_owned();
    hold.request.idempotency = Some(IdempotencyKey { key: key_text, body_sha256: [body; 32] });
    hold
}

pub(crate) fn closing(hold: &Hold, rule: ChargeRule) -> HoldClosing {
    let end = HoldEnd {
        id: hold.id,
        member: hold.member,
        rule,
        model: None,
        tokens: TokenCounts { input: Some(3), output: None },
        attempts: Some("[7]".into()),
        answered: false,
    };
    HoldClosing { end, answer: None, response: None, media: None }
}

/// A successful [`closing`] with an answer to save.
pub(crate) fn answering(hold: &Hold, body: &str) -> HoldClosing {
    let mut closing = closing(hold, ChargeRule::Answered);
    closing.end.answered = true;
    closing.answer = Some(SavedAnswer {
        status: 200,
        content_type: "application/json".to_owned(),
        body: body.as_bytes().to_vec(),
    });
    closing
}
