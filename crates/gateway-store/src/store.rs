//! The state of the service, whichever database keeps it.

use std::path::{Path, PathBuf};

use ledger::{
    Account, EndResult, Hold, HoldId, Lineage, LineageId, MemberId, RateLimitStatus, Receipt,
    Refusal, Transfer, TransferResult,
};
use tokio::sync::oneshot;

use crate::backend::{Backend, Result};
use crate::batch::{HoldClosing, LedgerOperation, NewHold};
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::{
    Actor, Artifact, AuditEntry, DatabaseLocation, Error, Key, KeyChange, KeyRecord, LedgerCheck,
    MediaRun, Member, MemberChange, NewKey, ResponseEvent, SavedAnswer, SchemaState, StatementLine,
    StoreOptions, StoredResponse,
};

/// The state of the service.
#[derive(Debug)]
pub enum Store {
    /// In a SQLite file.
    Sqlite(Sqlite),
    /// In a PostgreSQL database.
    Postgres(Postgres),
}

/// Does something on either. What waits for the server of PostgreSQL takes kilobytes, and is put in
/// a box: else every request would carry room for it.
macro_rules! on_both {
    ($self:ident, $store:ident => $work:expr) => {
        match $self {
            Store::Sqlite($store) => $work.await,
            Store::Postgres($store) => Box::pin($work).await,
        }
    };
}

mod research;

impl Store {
    /// What the database holds.
    pub async fn schema(place: &DatabaseLocation, options: &StoreOptions) -> Result<SchemaState> {
        match place {
            DatabaseLocation::Sqlite(path) => Sqlite::schema(path, options).await,
            DatabaseLocation::Postgres(url) => Postgres::schema(url, options).await,
        }
    }

    /// Brings the schema up to date; gives what was there before.
    pub async fn migrate(place: &DatabaseLocation, options: &StoreOptions) -> Result<SchemaState> {
        match place {
            DatabaseLocation::Sqlite(path) => Sqlite::migrate(path, options).await,
            DatabaseLocation::Postgres(url) => Postgres::migrate(url, options).await,
        }
    }

    /// Opens a database whose schema is the one this program knows.
    pub async fn open(place: &DatabaseLocation, options: &StoreOptions) -> Result<Self> {
        match place {
            DatabaseLocation::Sqlite(path) => Ok(Self::Sqlite(Sqlite::open(path, options).await?)),
            DatabaseLocation::Postgres(url) => {
                Ok(Self::Postgres(Postgres::open(url, options).await?))
            }
        }
    }

    /// Takes the right to serve from a database that only one process may serve from; it ends with
    /// the handle or the process. PostgreSQL serves any number.
    pub async fn acquire_serving_lock(&self) -> Result<()> {
        match self {
            Self::Sqlite(store) => store.acquire_serving_lock().await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Writes a copy of the database to a file that does not exist yet, while the service runs.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        match self {
            Self::Sqlite(store) => store.backup(to).await,
            Self::Postgres(_) => Err(Error::Refused("pg_dump makes backups of PostgreSQL".into())),
        }
    }

    /// Puts a backup in the place of a database that nobody serves from; gives where the database
    /// that was there is now.
    pub async fn restore(
        from: &Path,
        place: &DatabaseLocation,
        options: &StoreOptions,
    ) -> Result<Option<PathBuf>> {
        match place {
            DatabaseLocation::Sqlite(path) => Sqlite::restore(from, path, options).await,
            DatabaseLocation::Postgres(_) => {
                Err(Error::Refused("pg_restore restores backups of PostgreSQL".into()))
            }
        }
    }

    /// Sets a price aside, before any work is done.
    pub fn hold(
        &self,
        opening: NewHold,
    ) -> impl Future<Output = Result<std::result::Result<Hold, Refusal>>> + Send {
        let opening = Box::new(opening);
        self.wait(|reply| LedgerOperation::Open(opening, reply))
    }

    /// Ends a hold; it ends once, whoever tries.
    pub fn end(&self, closing: HoldClosing) -> impl Future<Output = Result<EndResult>> + Send {
        let closing = Box::new(closing);
        self.wait(|reply| LedgerOperation::Close(closing, reply))
    }

    /// Counts a request that costs nothing against the key's rate.
    pub async fn admit(
        &self,
        member: MemberId,
        lineage: LineageId,
    ) -> Result<std::result::Result<Option<RateLimitStatus>, Refusal>> {
        self.wait(|reply| LedgerOperation::Admit(member, lineage, reply)).await
    }

    /// Pays in, or corrects a balance; both are audited. What has a reference is done once.
    pub async fn post(
        &self,
        transfer: Transfer,
        by: &Actor,
    ) -> Result<std::result::Result<TransferResult, Refusal>> {
        let by = by.clone();
        self.wait(|reply| LedgerOperation::Post(Box::new(transfer), by, reply)).await
    }

    async fn wait<T>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T>>) -> LedgerOperation,
    ) -> Result<T> {
        let (reply, result) = oneshot::channel();
        match self {
            Self::Sqlite(store) => store.submit(job(reply)).await?,
            Self::Postgres(store) => store.submit(job(reply)).await?,
        }
        result.await.unwrap_or(Err(Error::Closed))
    }

    /// Renews the lease of every live hold of a process; gives how many.
    pub async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64> {
        on_both!(self, store => store.renew_leases(owner, lease_micros))
    }

    /// Ends the holds whose lease is over, at most a thousand at a time; gives how many. Background responses of those holds become `failed`.
    pub async fn expire_holds(&self) -> Result<u64> {
        on_both!(self, store => store.expire_holds())
    }

    /// Ends every live hold of other processes at once: for a database that only one process serves from, after a crash. Gives how many. Research jobs that ran are free to be claimed, and keep their holds.
    pub async fn end_holds_except(&self, but: i64) -> Result<u64> {
        on_both!(self, store => store.end_holds_except(but))
    }

    /// Removes idempotency keys, stored responses and runs that are over, at most a thousand of each;
    /// gives how many. Objects that nobody refers to any more are doomed. Background responses that
    /// say that they run, and whose hold has ended, become `failed`. Research jobs whose time is over
    /// go as well, at most a hundred.
    pub async fn delete_expired(&self) -> Result<u64> {
        on_both!(self, store => store.delete_expired())
    }

    /// A member's account.
    pub async fn account(&self, member: MemberId) -> Result<Option<Account>> {
        on_both!(self, store => store.account(member))
    }

    /// The state of a key and its successors.
    pub async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>> {
        on_both!(self, store => store.lineage(lineage))
    }

    /// What became of a request; of one member, or of anybody.
    pub async fn receipt(&self, member: Option<MemberId>, id: HoldId) -> Result<Option<Receipt>> {
        on_both!(self, store => store.receipt(member, id))
    }

    /// The answer that is kept for whoever asks again.
    pub async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>> {
        on_both!(self, store => store.answer(id))
    }

    /// The postings of a member, newest first, those with an id below `before`.
    pub async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>> {
        on_both!(self, store => store.statement(member, before, limit))
    }

    /// Adds everything up again from postings and holds, and compares.
    pub async fn check_ledger(&self) -> Result<LedgerCheck> {
        on_both!(self, store => store.check_ledger())
    }

    /// Makes a member without money; names are unique.
    pub async fn create_member(&self, name: &str, by: &Actor) -> Result<Member> {
        on_both!(self, store => store.create_member(name, by))
    }

    /// Changes a member.
    pub async fn change_member(
        &self,
        id: MemberId,
        change: &MemberChange,
        by: &Actor,
    ) -> Result<Member> {
        on_both!(self, store => store.change_member(id, change, by))
    }

    /// A member by number.
    pub async fn member(&self, id: MemberId) -> Result<Option<Member>> {
        on_both!(self, store => store.member(id))
    }

    /// A member by name.
    pub async fn member_by_name(&self, name: &str) -> Result<Option<Member>> {
        on_both!(self, store => store.member_by_name(name))
    }

    /// Members in the order of their numbers, those after `after`.
    pub async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        on_both!(self, store => store.members(after, limit))
    }

    /// Makes a key and its lineage.
    pub async fn create_key(&self, key: &NewKey, by: &Actor) -> Result<Key> {
        on_both!(self, store => store.create_key(key, by))
    }

    /// Makes a key in the lineage of an old one, with its name, scopes, models and end; the old one expires after the overlap.
    pub async fn rotate_key(
        &self,
        old: &str,
        new: (&str, [u8; 32]),
        overlap_micros: i64,
        by: &Actor,
    ) -> Result<Key> {
        on_both!(self, store => store.rotate_key(old, new, overlap_micros, by))
    }

    /// Changes a key.
    pub async fn change_key(&self, id: &str, change: &KeyChange, by: &Actor) -> Result<KeyRecord> {
        on_both!(self, store => store.change_key(id, change, by))
    }

    /// Makes a key worth nothing from now on.
    pub async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord> {
        on_both!(self, store => store.revoke_key(id, by))
    }

    /// A key by its public part.
    pub async fn key(&self, id: &str) -> Result<Option<KeyRecord>> {
        on_both!(self, store => store.key(id))
    }

    /// All keys of a member.
    pub async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>> {
        on_both!(self, store => store.keys(member))
    }

    /// A stored response of a member.
    pub async fn response(&self, member: MemberId, id: &str) -> Result<Option<StoredResponse>> {
        on_both!(self, store => store.response(member, id))
    }

    /// The status of a stored response of a member, without all the rest of it.
    pub async fn response_status(&self, member: MemberId, id: &str) -> Result<Option<String>> {
        on_both!(self, store => store.response_status(member, id))
    }

    /// Overwrites status and body of a stored response that has not ended; gives whether there was one.
    pub async fn update_response(&self, response: &StoredResponse) -> Result<bool> {
        on_both!(self, store => store.update_response(response))
    }

    /// Makes a stored response `cancelled`, with this body, if it is still queued; returns whether
    /// it was. One that is in progress is ended with its hold instead.
    pub async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool> {
        on_both!(self, store => store.cancel_queued_response(response))
    }

    /// Removes a stored response and its events; gives whether there was one.
    pub async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool> {
        on_both!(self, store => store.delete_response(member, id))
    }

    /// Adds events of a background response.
    pub async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()> {
        on_both!(self, store => store.append_events(id, events))
    }

    /// Events of a background response after a sequence number, in order.
    pub async fn events(&self, id: &str, after: i64, limit: u32) -> Result<Vec<ResponseEvent>> {
        on_both!(self, store => store.events(id, after, limit))
    }

    /// The object for bytes of this digest, to be written before their run is: one that is there
    /// already, or else a new one of this name. It stays for an hour without anybody referring to it.
    pub async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String> {
        on_both!(self, store => store.claim_object(sha256, name))
    }

    /// A run of a member, with its artifacts.
    pub async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
        on_both!(self, store => store.media_run(member, id))
    }

    /// An artifact of a member.
    pub async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>> {
        on_both!(self, store => store.artifact(member, id))
    }

    /// Objects that nobody refers to and nobody will: their bytes can be removed.
    pub async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>> {
        on_both!(self, store => store.deletable_objects(limit))
    }

    /// Forgets doomed objects, after their bytes were removed.
    pub async fn delete_objects(&self, names: &[String]) -> Result<()> {
        on_both!(self, store => store.delete_objects(names))
    }

    /// The audit log, newest first, those with an id below `before`.
    pub async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
        on_both!(self, store => store.audit(before, limit))
    }

    /// A setting of the database itself.
    pub async fn setting(&self, name: &str) -> Result<Option<String>> {
        on_both!(self, store => store.setting(name))
    }

    /// Writes a setting unless it stands; gives what stands after.
    pub async fn set_setting_once(&self, name: &str, value: &str) -> Result<String> {
        on_both!(self, store => store.set_setting_once(name, value))
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        on_both!(self, store => store.ping())
    }

    /// Waits for what was submitted, and lets go of the database.
    pub async fn close(&self) {
        on_both!(self, store => store.close());
    }
}
