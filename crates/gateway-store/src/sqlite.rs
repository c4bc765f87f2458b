//! The state in a SQLite file.
//!
//! One thread writes (`writer`), a few connections read (`readers`), and a thread moves the log into
//! the file (`checkpoint`). Only one process may serve from a file (`files::claim`); others, such as
//! the command line, may read and write at the same time.

mod arrears;
mod audit;
mod changes;
mod check;
mod checkpoint;
mod connection;
mod expiry;
mod failure;
mod files;
mod keys;
mod media;
mod members;
mod readers;
mod research;
mod responses;
mod rows;
mod schema;
mod writer;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ledger::{Account, HoldId, Lineage, LineageId, MemberId, Receipt, Time};
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::backend::{Backend, Result};
use crate::batch::LedgerOperation;
use crate::{
    Actor, Artifact, AuditEntry, Clock, Error, Key, KeyChange, KeyRecord, LedgerCheck, MediaRun,
    Member, MemberChange, NewKey, ResponseEvent, SavedAnswer, SchemaState, StatementLine,
    StoreOptions, StoredResponse,
};

use connection::Role;
use expiry::{MAX_EXPIRED, Which};
use readers::Readers;
use writer::{MAX_WAITING, Message, Touches, Writer};

/// The database.
pub struct Sqlite {
    path: PathBuf,
    options: StoreOptions,
    writer: mpsc::Sender<Message>,
    readers: Arc<Readers>,
    claim: Mutex<Option<File>>,
}

impl Sqlite {
    pub(crate) async fn schema(place: &Path, options: &StoreOptions) -> Result<SchemaState> {
        let (place, options) = (place.to_owned(), options.clone());
        readers::spawn(move || schema::state(&place, &options)).await
    }

    pub(crate) async fn migrate(place: &Path, options: &StoreOptions) -> Result<SchemaState> {
        let (place, options) = (place.to_owned(), options.clone());
        readers::spawn(move || schema::migrate(&place, &options)).await
    }

    pub(crate) async fn restore(
        from: &Path,
        place: &Path,
        options: &StoreOptions,
    ) -> Result<Option<PathBuf>> {
        let (from, place, options) = (from.to_owned(), place.to_owned(), options.clone());
        readers::spawn(move || files::restore(&from, &place, &options)).await
    }

    pub(crate) async fn open(place: &Path, options: &StoreOptions) -> Result<Self> {
        let (place, options) = (place.to_owned(), options.clone());
        readers::spawn(move || Self::open_now(place, options)).await
    }

    fn open_now(path: PathBuf, options: StoreOptions) -> Result<Self> {
        if schema::state(&path, &options)? == SchemaState::Empty {
            return Err(Error::NotMigrated(SchemaState::Empty));
        }
        let connection = connection::open(&path, Role::Writes, &options)?;
        schema::verify(&connection)?;
        connection::use_log(&connection)?;
        let moving = connection::open(&path, Role::Writes, &options)?;
        let (writer, waiting) = mpsc::channel(MAX_WAITING);
        let (log, mover) = checkpoint::pair();
        let thread = Writer::new(path.clone(), options.clone(), connection, log)?;
        let mover = start("store-log", move || mover.run(&moving))?;
        start("store-writer", move || thread.run(waiting, mover))?;
        let readers = Arc::new(Readers::new(path.clone(), options.clone()));
        Ok(Self { path, options, writer, readers, claim: Mutex::default() })
    }

    pub(crate) async fn acquire_serving_lock(&self) -> Result<()> {
        let path = self.path.clone();
        if self.claimed().is_some() {
            return Ok(());
        }
        let file = readers::spawn(move || files::claim(&path)).await?;
        *self.claimed() = Some(file);
        Ok(())
    }

    pub(crate) async fn backup(&self, to: &Path) -> Result<()> {
        let to = to.to_owned();
        self.readers.read_long(move |connection| files::backup(connection, &to)).await
    }

    fn claimed(&self) -> std::sync::MutexGuard<'_, Option<File>> {
        self.claim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, message: Message) -> Result<()> {
        match self.writer.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(Error::Closed),
            Err(TrySendError::Full(message)) => {
                let sending = Box::pin(self.writer.send(message));
                match tokio::time::timeout(self.options.wait, sending).await {
                    Ok(sent) => sent.map_err(|_| Error::Closed),
                    Err(_) => Err(Error::Busy),
                }
            }
        }
    }

    /// Has the thread that writes do something in a transaction of its own.
    async fn write<T: Send + 'static>(
        &self,
        touches: Touches,
        work: impl FnOnce(&Connection, Time) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.ask(move |writer| writer.transact(touches, work)).await
    }

    /// Has the thread that writes do something, or look at what it keeps.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, result) = oneshot::channel();
        let task = move |writer: &mut Writer| {
            // Whoever asked may have left; a transaction stands all the same.
            let _ = reply.send(work(writer));
        };
        self.send(Message::Task(Box::new(task))).await?;
        result.await.unwrap_or(Err(Error::Closed))
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.readers.read(work).await
    }

    fn clock(&self) -> Clock {
        self.options.clock.clone()
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(|error| Error::Unavailable(error.into()))
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Backend for Sqlite {
    async fn submit(&self, job: LedgerOperation) -> Result<()> {
        self.send(Message::Operation(job)).await
    }

    async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64> {
        self.write(Touches::Money, move |tables, now| {
            expiry::renew(tables, owner, lease_micros, now)
        })
        .await
    }

    async fn expire_holds(&self) -> Result<u64> {
        self.write(Touches::Money, |tables, now| expiry::end(tables, Which::Expired, now)).await
    }

    async fn end_holds_except(&self, but: i64) -> Result<u64> {
        let mut all = 0;
        loop {
            let which = Which::NotOf(but);
            let ended = self
                .write(Touches::Money, move |tables, now| expiry::end(tables, which, now))
                .await?;
            all += ended;
            if ended < u64::from(MAX_EXPIRED) {
                self.write(Touches::Else, research::free_all).await?;
                return Ok(all);
            }
        }
    }

    async fn delete_expired(&self) -> Result<u64> {
        self.write(Touches::Else, expiry::sweep).await
    }

    async fn account(&self, member: MemberId) -> Result<Option<Account>> {
        self.ask(move |writer| writer.account(member)).await
    }

    async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>> {
        self.ask(move |writer| writer.lineage(lineage)).await
    }

    async fn receipt(&self, member: Option<MemberId>, id: HoldId) -> Result<Option<Receipt>> {
        self.read(move |tables| rows::receipt(tables, member, id)).await
    }

    async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>> {
        let clock = self.clock();
        self.read(move |tables| responses::answer(tables, id, clock.now())).await
    }

    async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>> {
        self.ask(Writer::write_arrears).await?;
        self.read(move |tables| rows::statement(tables, member, before, limit)).await
    }

    async fn check_ledger(&self) -> Result<LedgerCheck> {
        self.readers.read_long(check::run).await
    }

    async fn create_member(&self, name: &str, by: &Actor) -> Result<Member> {
        let (name, by) = (name.to_owned(), by.clone());
        self.write(Touches::Else, move |tables, now| members::create(tables, &name, &by, now)).await
    }

    async fn change_member(
        &self,
        id: MemberId,
        change: &MemberChange,
        by: &Actor,
    ) -> Result<Member> {
        let (change, by) = (change.clone(), by.clone());
        self.write(Touches::Money, move |tables, now| {
            members::change(tables, id, &change, (&by, now))
        })
        .await
    }

    async fn member(&self, id: MemberId) -> Result<Option<Member>> {
        self.read(move |tables| members::by_id(tables, id)).await
    }

    async fn member_by_name(&self, name: &str) -> Result<Option<Member>> {
        let name = name.to_owned();
        self.read(move |tables| members::by_name(tables, &name)).await
    }

    async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        self.read(move |tables| members::list(tables, after, limit)).await
    }

    async fn create_key(&self, key: &NewKey, by: &Actor) -> Result<Key> {
        let (key, by) = (key.clone(), by.clone());
        self.write(Touches::Else, move |tables, now| keys::create(tables, &key, &by, now)).await
    }

    async fn rotate_key(
        &self,
        old: &str,
        (id, hash): (&str, [u8; 32]),
        overlap_micros: i64,
        by: &Actor,
    ) -> Result<Key> {
        let (old, id, by) = (old.to_owned(), id.to_owned(), by.clone());
        self.write(Touches::Else, move |tables, now| {
            keys::rotate(tables, (&old, &id, hash), overlap_micros, (&by, now))
        })
        .await
    }

    async fn change_key(&self, id: &str, change: &KeyChange, by: &Actor) -> Result<KeyRecord> {
        let (id, change, by) = (id.to_owned(), change.clone(), by.clone());
        self.write(Touches::Money, move |tables, now| {
            keys::change(tables, &id, &change, (&by, now))
        })
        .await
    }

    async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord> {
        let (id, by) = (id.to_owned(), by.clone());
        self.write(Touches::Else, move |tables, now| keys::revoke(tables, &id, &by, now)).await
    }

    async fn key(&self, id: &str) -> Result<Option<KeyRecord>> {
        let id = id.to_owned();
        self.read(move |tables| keys::by_id(tables, &id)).await
    }

    async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>> {
        self.read(move |tables| keys::of_member(tables, member)).await
    }

    async fn response(&self, member: MemberId, id: &str) -> Result<Option<StoredResponse>> {
        let (id, clock) = (id.to_owned(), self.clock());
        self.read(move |tables| responses::response(tables, member, &id, clock.now())).await
    }

    async fn response_status(&self, member: MemberId, id: &str) -> Result<Option<String>> {
        let (id, clock) = (id.to_owned(), self.clock());
        self.read(move |tables| responses::status(tables, member, &id, clock.now())).await
    }

    async fn update_response(&self, response: &StoredResponse) -> Result<bool> {
        let response = response.clone();
        self.write(Touches::Else, move |tables, _| responses::update(tables, &response)).await
    }

    async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool> {
        let response = response.clone();
        self.write(Touches::Else, move |tables, _| responses::cancel_queued(tables, &response))
            .await
    }

    async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.write(Touches::Else, move |tables, _| responses::delete(tables, member, &id)).await
    }

    async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()> {
        let (id, events) = (id.to_owned(), events.to_vec());
        self.write(Touches::Else, move |tables, _| responses::append_events(tables, &id, &events))
            .await
    }

    async fn events(&self, id: &str, after: i64, limit: u32) -> Result<Vec<ResponseEvent>> {
        let id = id.to_owned();
        self.read(move |tables| responses::events(tables, &id, after, limit)).await
    }

    async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String> {
        let name = name.to_owned();
        self.write(Touches::Else, move |tables, now| media::claim(tables, &sha256, &name, now))
            .await
    }

    async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
        let (id, clock) = (id.to_owned(), self.clock());
        self.read(move |tables| media::run(tables, member, &id, clock.now())).await
    }

    async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>> {
        let (id, clock) = (id.to_owned(), self.clock());
        self.read(move |tables| media::artifact(tables, member, &id, clock.now())).await
    }

    async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>> {
        self.read(move |tables| media::doomed(tables, limit)).await
    }

    async fn delete_objects(&self, names: &[String]) -> Result<()> {
        let names = names.to_vec();
        self.write(Touches::Else, move |tables, _| media::forget(tables, &names)).await
    }

    async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
        self.read(move |tables| audit::list(tables, before, limit)).await
    }

    async fn setting(&self, name: &str) -> Result<Option<String>> {
        let name = name.to_owned();
        self.read(move |tables| setting(tables, &name)).await
    }

    async fn set_setting_once(&self, name: &str, value: &str) -> Result<String> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.write(Touches::Else, move |tables, _| {
            tables
                .prepare_cached("INSERT INTO settings VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute([&name, &value])?;
            Ok(setting(tables, &name)?.unwrap_or(value))
        })
        .await
    }

    /// The thread that writes answers, and the file can be read.
    async fn ping(&self) -> Result<()> {
        self.ask(|_| Ok(())).await?;
        self.read(|tables| setting(tables, "")).await.map(drop)
    }

    async fn close(&self) {
        let (reply, done) = oneshot::channel();
        if self.writer.send(Message::Stop(reply)).await.is_ok() {
            let _ = done.await;
        }
        self.readers.close().await;
        self.claimed().take();
    }
}

fn setting(connection: &Connection, name: &str) -> Result<Option<String>> {
    let mut query = connection.prepare_cached("SELECT value FROM settings WHERE name = ?1")?;
    Ok(query.query_row([name], |row| row.get(0)).optional()?)
}
