//! The state in a PostgreSQL database, which any number of service processes share.
//!
//! What moves money is done in batches (`writer`, `load`, `save`), under a lock on the row of each
//! member that is concerned; everything else is a transaction of its own on one of a few further
//! connections. The clock is the database's.

mod address;
mod audit;
mod books;
mod check;
mod expiry;
mod fault;
mod keys;
mod link;
mod load;
mod media;
mod members;
mod migration;
mod needs;
mod pool;
mod responses;
mod rows;
mod save;
mod statements;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use ledger::{Account, HoldId, Lineage, LineageId, MemberId, Receipt};
use tokio::time::timeout;

use address::Address;
use fault::{fault, too_late};
use link::Link;
use pool::Pool;
use writer::Writer;

use crate::backend::{Backend, Result};
use crate::batch::LedgerOperation;
use crate::{
    Actor, Artifact, AuditEntry, Error, Key, KeyChange, KeyRecord, LedgerCheck, MediaRun, Member,
    MemberChange, NewKey, ResponseEvent, SavedAnswer, SchemaState, StatementLine, StoreOptions,
    StoredResponse,
};

/// Does something on a connection of the pool, in the time there is for it.
macro_rules! linked {
    ($self:ident, $link:ident => $work:expr) => {{
        let mut taken = $self.pool.take().await?;
        let $link = &mut taken.link;
        let result = timeout($self.wait, $work).await.unwrap_or_else(|_| Err(too_late()));
        taken.done(result)
    }};
}

mod research;

/// The database.
#[derive(Debug)]
pub struct Postgres {
    writer: Writer,
    pool: Pool,
    wait: Duration,
    repeats_kept_micros: i64,
}

impl Postgres {
    pub(crate) async fn schema(place: &str, options: &StoreOptions) -> Result<SchemaState> {
        let mut link = Link::open(&Address::read(place, options)?).await?;
        migration::state(link.client_mut()).await
    }

    pub(crate) async fn migrate(place: &str, options: &StoreOptions) -> Result<SchemaState> {
        let mut link = Link::open(&Address::read(place, options)?).await?;
        migration::migrate(link.client_mut()).await
    }

    pub(crate) async fn open(place: &str, options: &StoreOptions) -> Result<Self> {
        let address = Arc::new(Address::read(place, options)?);
        let mut link = Link::open(&address).await?;
        match migration::state(link.client_mut()).await? {
            SchemaState::Current(_) => {}
            state @ (SchemaState::Empty | SchemaState::Old(_)) => {
                return Err(Error::NotMigrated(state));
            }
            state @ SchemaState::Unknown(_) => return Err(Error::Schema(state)),
        }
        let writer = Writer::start(&address);
        Ok(Self {
            writer,
            pool: Pool::new(address, options.connections),
            wait: options.wait,
            repeats_kept_micros: options.repeats_kept_micros(),
        })
    }
}

impl Backend for Postgres {
    async fn submit(&self, job: LedgerOperation) -> Result<()> {
        self.writer.submit(job)
    }

    async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64> {
        linked!(self, link => expiry::renew(link, owner, lease_micros))
    }

    async fn expire_holds(&self) -> Result<u64> {
        linked!(self, link => expiry::expire(link))
    }

    /// Holds of other processes are theirs: whoever is gone does not renew them, and they expire.
    async fn end_holds_except(&self, _but: i64) -> Result<u64> {
        Ok(0)
    }

    async fn delete_expired(&self) -> Result<u64> {
        linked!(self, link => expiry::sweep(link))
    }

    async fn account(&self, member: MemberId) -> Result<Option<Account>> {
        linked!(self, link => books::account(link, member))
    }

    async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>> {
        linked!(self, link => books::lineage(link, lineage))
    }

    async fn receipt(&self, member: Option<MemberId>, id: HoldId) -> Result<Option<Receipt>> {
        linked!(self, link => books::receipt(link, member, id))
    }

    async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>> {
        linked!(self, link => books::answer(link, id))
    }

    async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>> {
        linked!(self, link => books::statement(link, member, before, limit))
    }

    async fn check_ledger(&self) -> Result<LedgerCheck> {
        let mut taken = self.pool.take().await?;
        let result = check::ledger(taken.link.client_mut()).await;
        taken.done(result)
    }

    async fn create_member(&self, name: &str, by: &Actor) -> Result<Member> {
        linked!(self, link => members::create(link, name, by))
    }

    async fn change_member(
        &self,
        id: MemberId,
        change: &MemberChange,
        by: &Actor,
    ) -> Result<Member> {
        linked!(self, link => members::change(link, id, change, by))
    }

    async fn member(&self, id: MemberId) -> Result<Option<Member>> {
        linked!(self, link => members::by_id(link, id))
    }

    async fn member_by_name(&self, name: &str) -> Result<Option<Member>> {
        linked!(self, link => members::by_name(link, name))
    }

    async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        linked!(self, link => members::page(link, after, limit))
    }

    async fn create_key(&self, key: &NewKey, by: &Actor) -> Result<Key> {
        linked!(self, link => keys::create(link, key, by))
    }

    async fn rotate_key(
        &self,
        old: &str,
        new: (&str, [u8; 32]),
        overlap_micros: i64,
        by: &Actor,
    ) -> Result<Key> {
        linked!(self, link => keys::rotate(link, old, new, overlap_micros, by))
    }

    async fn change_key(&self, id: &str, change: &KeyChange, by: &Actor) -> Result<KeyRecord> {
        linked!(self, link => keys::change(link, id, change, by))
    }

    async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord> {
        linked!(self, link => keys::revoke(link, id, by))
    }

    async fn key(&self, id: &str) -> Result<Option<KeyRecord>> {
        linked!(self, link => keys::by_id(link, id))
    }

    async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>> {
        linked!(self, link => keys::of_member(link, member))
    }

    async fn response(&self, member: MemberId, id: &str) -> Result<Option<StoredResponse>> {
        linked!(self, link => responses::response(link, member, id))
    }

    async fn response_status(&self, member: MemberId, id: &str) -> Result<Option<String>> {
        linked!(self, link => responses::status(link, member, id))
    }

    async fn update_response(&self, response: &StoredResponse) -> Result<bool> {
        linked!(self, link => responses::update(link, response))
    }

    async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool> {
        linked!(self, link => responses::cancel_queued(link, response))
    }

    async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool> {
        linked!(self, link => responses::delete(link, member, id))
    }

    async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()> {
        linked!(self, link => responses::append(link, id, events))
    }

    async fn events(&self, id: &str, after: i64, limit: u32) -> Result<Vec<ResponseEvent>> {
        linked!(self, link => responses::events(link, id, after, limit))
    }

    async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String> {
        linked!(self, link => media::claim(link, &sha256, name))
    }

    async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>> {
        linked!(self, link => media::run(link, member, id))
    }

    async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>> {
        linked!(self, link => media::artifact(link, member, id))
    }

    async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>> {
        linked!(self, link => media::doomed(link, limit))
    }

    async fn delete_objects(&self, names: &[String]) -> Result<()> {
        linked!(self, link => media::forget(link, names))
    }

    async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>> {
        linked!(self, link => responses::audit(link, before, limit))
    }

    async fn setting(&self, name: &str) -> Result<Option<String>> {
        linked!(self, link => responses::setting(link, name))
    }

    async fn set_setting_once(&self, name: &str, value: &str) -> Result<String> {
        linked!(self, link => responses::set_once(link, name, value))
    }

    async fn ping(&self) -> Result<()> {
        linked!(self, link => async { link.client().batch_execute("SELECT 1").await.map_err(fault) })
    }

    async fn close(&self) {
        self.writer.close().await;
        self.pool.close();
    }
}
