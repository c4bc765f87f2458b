//! The state of the service in either database.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ledger::{
    Account, AccountKind, EndResult, Hold, HoldId, Lineage, LineageId, MemberId, RateLimitStatus,
    Receipt, Refusal, Time, Transfer, TransferResult,
};
use tokio::sync::oneshot;

use crate::batch::{AuditedTransfer, FreeRequest, LedgerOperation};
use crate::error::Result;
use crate::postgres::Postgres;
use crate::research::{
    FinishedStep, JobClaim, JobEnd, JobEndResult, JobEvent, JobRelease, JobStatus, JobStep, NewJob,
    ResearchJob, Webhook,
};
use crate::sqlite::Sqlite;
use crate::{
    Actor, AlertDelivery, Artifact, AuditEntry, Credit, DatabaseLocation, DrainedProvider, Error,
    HoldClosing, Key, KeyChange, KeyRecord, KeyRotation, KeySearch, LedgerCheck, MediaRun, Member,
    MemberChange, NewAlert, NewHold, NewKey, NewSession, ProcessReport, ProviderAction,
    RelatedReceipts, ResponseEvent, SavedAnswer, SchemaState, SharedState, StatementLine,
    StoreOptions, StoredResponse, UsageLine, UsageQuery, WebSession, WebhookOutcome,
};

#[derive(Debug)]
pub enum Store {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Calls a method of the open database. Futures of PostgreSQL take kilobytes and are boxed, so that
/// requests on SQLite do not carry them.
macro_rules! dispatch {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match $self {
            Store::Sqlite(database) => database.$method($($argument),*).await,
            Store::Postgres(database) => Box::pin(database.$method($($argument),*)).await,
        }
    };
}

/// Operations that both databases have under the same name.
macro_rules! operations {
    ($(
        $(#[doc = $text:literal])*
        pub async fn $method:ident(&self $(, $argument:ident: $kind:ty)* $(,)?) -> $result:ty;
    )*) => {
        impl Store {
            $(
                $(#[doc = $text])*
                pub async fn $method(&self $(, $argument: $kind)*) -> $result {
                    dispatch!(self, $method($($argument),*))
                }
            )*
        }
    };
}

impl Store {
    pub async fn schema(
        location: &DatabaseLocation,
        options: &StoreOptions,
    ) -> Result<SchemaState> {
        tracing::debug!(?location, "reading the schema version");
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::schema(path, options).await,
            DatabaseLocation::Postgres(url) => Postgres::schema(url, options).await,
        }
    }

    /// Migrates the schema to the version of this program; returns the state before.
    pub async fn migrate(
        location: &DatabaseLocation,
        options: &StoreOptions,
    ) -> Result<SchemaState> {
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::migrate(path, options).await,
            DatabaseLocation::Postgres(url) => Postgres::migrate(url, options).await,
        }
    }

    /// Opens a database that has the schema of this program.
    pub async fn open(location: &DatabaseLocation, options: &StoreOptions) -> Result<Self> {
        tracing::debug!(?location, "opening the database");
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::open(path, options).await.map(Self::Sqlite),
            DatabaseLocation::Postgres(url) => {
                Postgres::open(url, options).await.map(Self::Postgres)
            }
        }
    }

    /// Locks a SQLite file, from which only one process may serve, until the store is closed or the
    /// process ends. PostgreSQL needs no lock.
    pub async fn acquire_serving_lock(&self) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.acquire_serving_lock().await,
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Writes a copy of the database to a new file while the service runs.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        match self {
            Self::Sqlite(database) => database.backup(to).await,
            Self::Postgres(_) => {
                Err(Error::Refused("use pg_dump to back up a PostgreSQL database".into()))
            }
        }
    }

    /// Replaces a database that no process serves from by a backup; returns the new path of the
    /// replaced file.
    pub async fn restore(
        from: &Path,
        location: &DatabaseLocation,
        options: &StoreOptions,
    ) -> Result<Option<PathBuf>> {
        match location {
            DatabaseLocation::Sqlite(path) => Sqlite::restore(from, path, options).await,
            DatabaseLocation::Postgres(_) => {
                Err(Error::Refused("use pg_restore to restore a PostgreSQL database".into()))
            }
        }
    }

    /// Opens a hold before any work is done.
    pub fn hold(
        &self,
        hold: NewHold,
    ) -> impl Future<Output = Result<std::result::Result<Hold, Refusal>>> + Send {
        let hold = Box::new(hold);
        self.submit(|reply| LedgerOperation::Open(hold, reply))
    }

    /// Ends a hold. A hold ends once, however often this is called.
    pub fn end(&self, closing: HoldClosing) -> impl Future<Output = Result<EndResult>> + Send {
        let closing = Box::new(closing);
        self.submit(|reply| LedgerOperation::Close(closing, reply))
    }

    /// Counts a free request against the key's rate limit.
    pub async fn admit(
        &self,
        member: MemberId,
        lineage: LineageId,
    ) -> Result<std::result::Result<Option<RateLimitStatus>, Refusal>> {
        let request = FreeRequest { member, lineage };
        self.submit(|reply| LedgerOperation::Admit(request, reply)).await
    }

    /// Posts and audits a top-up or an adjustment. A transfer with a reference is posted once.
    pub async fn post(
        &self,
        transfer: Transfer,
        by: &Actor,
    ) -> Result<std::result::Result<TransferResult, Refusal>> {
        let audited = Box::new(AuditedTransfer { transfer, by: by.clone() });
        self.submit(|reply| LedgerOperation::Post(audited, reply)).await
    }

    async fn submit<T>(
        &self,
        operation: impl FnOnce(oneshot::Sender<Result<T>>) -> LedgerOperation,
    ) -> Result<T> {
        let (reply, result) = oneshot::channel();
        match self {
            Self::Sqlite(database) => database.submit(operation(reply)).await?,
            Self::Postgres(database) => database.submit(operation(reply))?,
        }
        result.await.unwrap_or(Err(Error::Closed))
    }

    /// Ends all holds of other processes, after a crash of a service on SQLite; returns how many.
    /// Running research jobs keep their holds and can be claimed again.
    pub async fn end_holds_except(&self, owner: i64) -> Result<u64> {
        match self {
            Self::Sqlite(database) => database.end_holds_except(owner).await,
            // Other processes renew their leases, and those of a crashed process expire.
            Self::Postgres(_) => Ok(0),
        }
    }

    /// Creates a member without money. Names of members and teams are unique.
    pub async fn create_member(&self, name: &str, by: &Actor) -> Result<Member> {
        dispatch!(self, create_account(AccountKind::Member, name, by))
    }

    pub async fn create_team(&self, name: &str, by: &Actor) -> Result<Member> {
        dispatch!(self, create_account(AccountKind::Team, name, by))
    }

    /// Lists members with an id above `after`, in order.
    pub async fn members(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        dispatch!(self, accounts_of_kind(AccountKind::Member, after, limit))
    }

    /// Lists teams with an id above `after`, in order.
    pub async fn teams(&self, after: MemberId, limit: u32) -> Result<Vec<Member>> {
        dispatch!(self, accounts_of_kind(AccountKind::Team, after, limit))
    }

    /// Completes submitted operations and closes the database.
    pub async fn close(&self) {
        dispatch!(self, close());
    }
}

operations! {
    /// Renews the leases of all live holds of a process; returns how many.
    pub async fn renew_leases(&self, owner: i64, lease_micros: i64) -> Result<u64>;
    /// Ends holds whose lease is over, at most a thousand; returns how many. Their background
    /// responses become `failed`.
    pub async fn expire_holds(&self) -> Result<u64>;
    /// Deletes expired idempotency keys, responses and media runs, at most a thousand of each, and
    /// research jobs, at most a hundred; returns how many. Unreferenced objects become deletable.
    /// Background responses that still run although their hold has ended become `failed`.
    pub async fn delete_expired(&self) -> Result<u64>;

    pub async fn account(&self, member: MemberId) -> Result<Option<Account>>;
    /// Returns the shared state of a key and its successors.
    pub async fn lineage(&self, lineage: LineageId) -> Result<Option<Lineage>>;
    /// Returns the receipt of a hold, of one member or of any.
    pub async fn receipt(&self, member: Option<MemberId>, id: HoldId) -> Result<Option<Receipt>>;
    /// Lists receipts of a member that a team paid, with an id below `before`, newest first.
    pub async fn team_receipts(
        &self,
        member: MemberId,
        before: Option<HoldId>,
        limit: u32,
    ) -> Result<Vec<Receipt>>;
    /// Returns the request that another one belongs to, and the receipts of those that belong to it.
    pub async fn related_receipts(&self, id: HoldId) -> Result<RelatedReceipts>;
    /// Returns the answer that is saved for an idempotency key.
    pub async fn answer(&self, id: HoldId) -> Result<Option<SavedAnswer>>;
    /// Lists postings of a member with an id below `before`, newest first.
    pub async fn statement(
        &self,
        member: MemberId,
        before: i64,
        limit: u32,
    ) -> Result<Vec<StatementLine>>;
    /// Sums up usage. Lines are in the order of days, else of charges, the highest first.
    pub async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageLine>>;
    /// Rebuilds usage from the receipts. No hold can end meanwhile.
    pub async fn rebuild_usage(&self) -> Result<()>;
    /// Recomputes all figures from postings and holds, and compares.
    pub async fn check_ledger(&self) -> Result<LedgerCheck>;

    pub async fn change_member(
        &self,
        id: MemberId,
        change: &MemberChange,
        by: &Actor,
    ) -> Result<Member>;
    /// Returns a member or a team by id.
    pub async fn member(&self, id: MemberId) -> Result<Option<Member>>;
    pub async fn member_by_name(&self, name: &str) -> Result<Option<Member>>;
    /// Returns the names of members and teams; those that do not exist are missing.
    pub async fn member_names(&self, ids: &[MemberId]) -> Result<HashMap<MemberId, String>>;
    /// Lists the members of a team with an id above `after`, in order.
    pub async fn team_members(
        &self,
        team: MemberId,
        after: MemberId,
        limit: u32,
    ) -> Result<Vec<Member>>;

    /// Creates a key and its lineage.
    pub async fn create_key(&self, key: &NewKey, by: &Actor) -> Result<Key>;
    /// Creates a key with the lineage, name, scopes, models and expiry of an old one, which expires
    /// after the overlap.
    pub async fn rotate_key(&self, rotation: &KeyRotation, by: &Actor) -> Result<Key>;
    pub async fn change_key(&self, id: &str, change: &KeyChange, by: &Actor) -> Result<KeyRecord>;
    pub async fn revoke_key(&self, id: &str, by: &Actor) -> Result<KeyRecord>;
    pub async fn key(&self, id: &str) -> Result<Option<KeyRecord>>;
    pub async fn keys(&self, member: MemberId) -> Result<Vec<KeyRecord>>;
    /// Finds keys of all members.
    pub async fn find_keys(&self, search: &KeySearch, limit: u32) -> Result<Vec<KeyRecord>>;
    /// Returns public part and name of the newest key of each lineage.
    pub async fn key_names(
        &self,
        lineages: &[LineageId],
    ) -> Result<HashMap<LineageId, (String, String)>>;

    pub async fn response(&self, member: MemberId, id: &str) -> Result<Option<StoredResponse>>;
    pub async fn response_status(&self, member: MemberId, id: &str) -> Result<Option<String>>;
    /// Updates status and body of a response that has not ended; returns whether it did.
    pub async fn update_response(&self, response: &StoredResponse) -> Result<bool>;
    /// Cancels a response that is still queued; returns whether it did. A response in progress is
    /// ended with its hold instead.
    pub async fn cancel_queued_response(&self, response: &StoredResponse) -> Result<bool>;
    /// Deletes a response and its events; returns whether it existed.
    pub async fn delete_response(&self, member: MemberId, id: &str) -> Result<bool>;
    pub async fn append_events(&self, id: &str, events: &[ResponseEvent]) -> Result<()>;
    /// Lists events of a background response after a sequence number, in order.
    pub async fn events(&self, id: &str, after: i64, limit: u32) -> Result<Vec<ResponseEvent>>;

    /// Returns the object for bytes with this digest, which is created under this name if missing. An
    /// object without a run is kept for an hour.
    pub async fn claim_object(&self, sha256: [u8; 32], name: &str) -> Result<String>;
    pub async fn media_run(&self, member: MemberId, id: &str) -> Result<Option<MediaRun>>;
    /// Lists runs of a member that were made before a time, newest first.
    pub async fn media_runs(
        &self,
        member: MemberId,
        before: Time,
        limit: u32,
    ) -> Result<Vec<MediaRun>>;
    pub async fn artifact(&self, member: MemberId, id: &str) -> Result<Option<Artifact>>;
    /// Lists objects whose bytes can be deleted.
    pub async fn deletable_objects(&self, limit: u32) -> Result<Vec<String>>;
    /// Deletes the rows of objects whose bytes were deleted.
    pub async fn delete_objects(&self, names: &[String]) -> Result<()>;

    /// Creates a session; it replaces the oldest of too many.
    pub async fn create_session(&self, new: &NewSession) -> Result<()>;
    /// Returns a session that is not over.
    pub async fn session(&self, hash: [u8; 32]) -> Result<Option<WebSession>>;
    /// Prolongs a session that is in use, up to its end.
    pub async fn renew_session(&self, hash: [u8; 32], idle_micros: i64) -> Result<()>;
    /// Lists sessions of a member, or those of operators, newest first.
    pub async fn sessions(&self, member: Option<MemberId>) -> Result<Vec<WebSession>>;
    /// Ends a session of a member or of an operator; returns whether it existed.
    pub async fn end_session(&self, member: Option<MemberId>, hash: [u8; 32]) -> Result<bool>;

    /// Asks all processes to read their configuration again; returns the number of the reload.
    pub async fn request_reload(&self, by: &Actor) -> Result<i64>;
    pub async fn shared_state(&self) -> Result<SharedState>;
    /// Reports the state of a process, and forgets processes that are gone.
    pub async fn report_process(&self, report: &ProcessReport) -> Result<()>;
    pub async fn forget_process(&self, owner: i64) -> Result<()>;
    pub async fn processes(&self) -> Result<Vec<ProcessReport>>;
    /// Drains or enables a provider on all processes; returns whether this changed it.
    pub async fn change_provider(
        &self,
        name: &str,
        action: ProviderAction,
        by: &Actor,
    ) -> Result<bool>;
    pub async fn drained_providers(&self) -> Result<Vec<DrainedProvider>>;

    /// Writes an alert and its deliveries, unless its condition is reported already; returns its number
    /// if it is new.
    pub async fn open_alert(&self, alert: &NewAlert) -> Result<Option<i64>>;
    /// Ends the condition of an alert, which is then reported again when it is met again.
    pub async fn end_alert(&self, key: &str) -> Result<()>;
    /// Claims a delivery that is due, until the lease is over.
    pub async fn claim_alert(&self, lease_micros: i64) -> Result<Option<AlertDelivery>>;
    /// Records the result of a delivery; returns whether the claim is still valid.
    pub async fn finish_alert(
        &self,
        delivery: &AlertDelivery,
        outcome: WebhookOutcome,
        error: &str,
    ) -> Result<bool>;
    /// Lists alerts with an id below `before` and their deliveries, newest first.
    pub async fn alerts(&self, before: i64, limit: u32) -> Result<Vec<AlertDelivery>>;
    /// Returns the newest top-up or positive adjustment of a member.
    pub async fn last_credit(&self, member: MemberId) -> Result<Option<Credit>>;

    /// Lists audit entries with an id below `before`, newest first.
    pub async fn audit(&self, before: i64, limit: u32) -> Result<Vec<AuditEntry>>;
    pub async fn setting(&self, name: &str) -> Result<Option<String>>;
    /// Writes a setting unless it exists; returns the stored value.
    pub async fn set_setting_once(&self, name: &str, value: &str) -> Result<String>;
    pub async fn ping(&self) -> Result<()>;

    /// Queues a job and opens its hold. A repeated idempotency key is
    /// [`ledger::IdempotencyConflict::Answered`] with the id of the first job.
    pub async fn create_job(&self, job: NewJob) -> Result<std::result::Result<Hold, Refusal>>;
    pub async fn job(&self, member: MemberId, id: HoldId) -> Result<Option<ResearchJob>>;
    /// Returns status and attempt of a job of any member.
    pub async fn job_status(&self, id: HoldId) -> Result<Option<(JobStatus, i64)>>;
    /// Lists jobs of a member with an id below `before`, newest first.
    pub async fn jobs(
        &self,
        member: MemberId,
        before: HoldId,
        limit: u32,
    ) -> Result<Vec<ResearchJob>>;
    pub async fn job_steps(&self, id: HoldId) -> Result<Vec<JobStep>>;
    /// Lists events of a job after a sequence number, in order.
    pub async fn job_events(&self, id: HoldId, after: i64, limit: u32) -> Result<Vec<JobEvent>>;
    /// Claims the job that has waited longest, or whose lease is over.
    pub async fn claim_job(&self, worker: i64, lease_micros: i64) -> Result<Option<ResearchJob>>;
    /// Renews a claim; returns whether it is still valid.
    pub async fn renew_job(&self, claim: JobClaim, lease_micros: i64) -> Result<bool>;
    /// Records a finished step; returns whether the claim is still valid.
    pub async fn finish_step(&self, claim: JobClaim, step: FinishedStep) -> Result<bool>;
    /// Releases a claimed job; returns whether the claim is still valid.
    pub async fn release_job(&self, claim: JobClaim, release: JobRelease) -> Result<bool>;
    pub async fn end_job(&self, end: JobEnd) -> Result<JobEndResult>;
    /// Ends jobs that missed their deadline or used up their tries, at most a hundred; returns how
    /// many.
    pub async fn end_overdue_jobs(&self) -> Result<u64>;
    /// Claims a webhook call that is due, until the lease is over.
    pub async fn claim_webhook(&self, lease_micros: i64) -> Result<Option<(Webhook, ResearchJob)>>;
    /// Records the result of a webhook call; returns whether the claim is still valid.
    pub async fn finish_webhook(&self, webhook: &Webhook, outcome: WebhookOutcome) -> Result<bool>;
}
