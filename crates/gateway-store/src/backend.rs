//! What both databases do, one transaction a method. [`crate::Store`] documents each.

use ledger::{Account, HoldId, Lineage, LineageId, MemberId, Receipt};

use crate::batch::LedgerOperation;
use crate::{
    Actor, Artifact, AuditEntry, Error, Key, KeyChange, KeyRecord, LedgerCheck, MediaRun, Member,
    MemberChange, NewKey, ResponseEvent, SavedAnswer, StatementLine, StoredResponse,
};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The operations that are not batched, and the door to the batch.
pub(crate) trait Backend {
    async fn submit(&self, job: LedgerOperation) -> Result<()>;

    async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64>;
    async fn expire_holds(&self) -> Result<u64>;
    async fn end_holds_except(&self, but: i64) -> Result<u64>;
    async fn delete_expired(&self) -> Result<u64>;

    async fn account(&self, member: MemberId) -> Result<Option<Account>>;
    async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>>;
    async fn receipt(&self, member: Option<MemberId>, id: HoldId) -> Result<Option<Receipt>>;
    async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>>;
    async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>>;
    async fn check_ledger(&self) -> Result<LedgerCheck>;

    async fn create_member(&self, name: &str, by: &Actor) -> Result<Member>;
    async fn change_member(
        &self,
        id: MemberId,
        change: &MemberChange,
        by: &Actor,
    ) -> Result<Member>;
    async fn member(&self, id: MemberId) -> Result<Option<Member>>;
    async fn member_by_name(&self, name: &str) -> Result<Option<Member>>;
    async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>>;

    async fn create_key(&self, key: &NewKey, by: &Actor) -> Result<Key>;
    async fn rotate_key(
        &self,
        old: &str,
        new: (&str, [u8; 32]),
        overlap_micros: i64,
        by: &Actor,
    ) -> Result<Key>;
    async fn change_key(&self, id: &str, change: &KeyChange, by: &Actor) -> Result<KeyRecord>;
    async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord>;
    async fn key(&self, id: &str) -> Result<Option<KeyRecord>>;
    async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>>;

    async fn response(&self, member: MemberId, id: &str) -> Result<Option<StoredResponse>>;
    async fn response_status(&self, member: MemberId, id: &str) -> Result<Option<String>>;
    async fn update_response(&self, response: &StoredResponse) -> Result<bool>;
    async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool>;
    async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool>;
    async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()>;
    async fn events(&self, id: &str, after: i64, limit: u32) -> Result<Vec<ResponseEvent>>;

    async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String>;
    async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>>;
    async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>>;
    async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>>;
    async fn delete_objects(&self, names: &[String]) -> Result<()>;

    async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>>;
    async fn setting(&self, name: &str) -> Result<Option<String>>;
    async fn set_setting_once(&self, name: &str, value: &str) -> Result<String>;
    async fn ping(&self) -> Result<()>;
    async fn close(&self);
}
