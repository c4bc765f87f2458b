//! The state in a SQLite file.

use std::path::{Path, PathBuf};

use ledger::{Account, HoldId, Lineage, LineageId, MemberId, Receipt};

use crate::backend::{Backend, Result};
use crate::batch::Job;
use crate::{
    Actor, Answer, AuditEntry, Error, Key, KeyChange, KeyRecord, LedgerCheck, Member, MemberChange,
    NewKey, Options, ResponseEvent, SchemaState, StatementLine, StoredResponse,
};

/// The database.
#[derive(Debug)]
pub struct Sqlite {}

impl Sqlite {
    pub(crate) async fn schema(_place: &Path, _options: &Options) -> Result<SchemaState> {
        Err(Error::Closed)
    }

    pub(crate) async fn migrate(_place: &Path, _options: &Options) -> Result<SchemaState> {
        Err(Error::Closed)
    }

    pub(crate) async fn claim(&self) -> Result<()> {
        Err(Error::Closed)
    }

    pub(crate) async fn backup(&self, _to: &Path) -> Result<()> {
        Err(Error::Closed)
    }

    pub(crate) async fn restore(
        _from: &Path,
        _place: &Path,
        _options: &Options,
    ) -> Result<Option<PathBuf>> {
        Err(Error::Closed)
    }

    pub(crate) async fn open(_place: &Path, _options: &Options) -> Result<Self> {
        Err(Error::Closed)
    }
}

impl Backend for Sqlite {
    async fn submit(&self, _job: Job) -> Result<()> {
        Err(Error::Closed)
    }
    async fn renew(&self, _owner: i64, _lease_micros: i64) -> Result<u64> {
        Err(Error::Closed)
    }
    async fn expire(&self) -> Result<u64> {
        Err(Error::Closed)
    }
    async fn abandon(&self, _but: i64) -> Result<u64> {
        Err(Error::Closed)
    }
    async fn sweep(&self) -> Result<u64> {
        Err(Error::Closed)
    }
    async fn account(&self, _member: MemberId) -> Result<Option<Account>> {
        Err(Error::Closed)
    }
    async fn lineage(&self, _lineage: LineageId) -> Result<Option<Lineage>> {
        Err(Error::Closed)
    }
    async fn receipt(&self, _member: Option<MemberId>, _id: HoldId) -> Result<Option<Receipt>> {
        Err(Error::Closed)
    }
    async fn answer(&self, _id: HoldId) -> Result<Option<Answer>> {
        Err(Error::Closed)
    }
    async fn statement(
        &self,
        _member: MemberId,
        _before: i64,
        _limit: u32,
    ) -> Result<Vec<StatementLine>> {
        Err(Error::Closed)
    }
    async fn check_ledger(&self) -> Result<LedgerCheck> {
        Err(Error::Closed)
    }
    async fn create_member(&self, _name: &str, _by: &Actor) -> Result<Member> {
        Err(Error::Closed)
    }
    async fn change_member(
        &self,
        _id: MemberId,
        _change: &MemberChange,
        _by: &Actor,
    ) -> Result<Member> {
        Err(Error::Closed)
    }
    async fn member(&self, _id: MemberId) -> Result<Option<Member>> {
        Err(Error::Closed)
    }
    async fn member_named(&self, _name: &str) -> Result<Option<Member>> {
        Err(Error::Closed)
    }
    async fn members(&self, _after: MemberId, _limit: u32) -> Result<Vec<Member>> {
        Err(Error::Closed)
    }
    async fn create_key(&self, _key: &NewKey, _by: &Actor) -> Result<Key> {
        Err(Error::Closed)
    }
    async fn rotate_key(
        &self,
        _old: &str,
        _new: (&str, [u8; 32]),
        _overlap_micros: i64,
        _by: &Actor,
    ) -> Result<Key> {
        Err(Error::Closed)
    }
    async fn change_key(&self, _id: &str, _change: &KeyChange, _by: &Actor) -> Result<KeyRecord> {
        Err(Error::Closed)
    }
    async fn revoke_key(&self, _id: &str, _by: &Actor) -> Result<KeyRecord> {
        Err(Error::Closed)
    }
    async fn key(&self, _id: &str) -> Result<Option<KeyRecord>> {
        Err(Error::Closed)
    }
    async fn keys(&self, _member: MemberId) -> Result<Vec<KeyRecord>> {
        Err(Error::Closed)
    }
    async fn response(&self, _member: MemberId, _id: &str) -> Result<Option<StoredResponse>> {
        Err(Error::Closed)
    }
    async fn update_response(&self, _response: &StoredResponse) -> Result<bool> {
        Err(Error::Closed)
    }
    async fn delete_response(&self, _member: MemberId, _id: &str) -> Result<bool> {
        Err(Error::Closed)
    }
    async fn append_events(&self, _id: &str, _events: &[ResponseEvent]) -> Result<()> {
        Err(Error::Closed)
    }
    async fn events(&self, _id: &str, _after: i64, _limit: u32) -> Result<Vec<ResponseEvent>> {
        Err(Error::Closed)
    }
    async fn audit(&self, _before: i64, _limit: u32) -> Result<Vec<AuditEntry>> {
        Err(Error::Closed)
    }
    async fn setting(&self, _name: &str) -> Result<Option<String>> {
        Err(Error::Closed)
    }
    async fn set_setting_once(&self, _name: &str, _value: &str) -> Result<String> {
        Err(Error::Closed)
    }
    async fn ping(&self) -> Result<()> {
        Err(Error::Closed)
    }
    async fn close(&self) {}
}
