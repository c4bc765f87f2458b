//! Durable state of the member service in SQLite or PostgreSQL. All SQL of the service is here.
//!
//! Operations are written once, for both databases, in the files of `store`: as statements that an
//! `executor` runs. Both back ends pass the same tests. Operations that move money go through `batch`:
//! those that wait at the same time become one transaction on rows that the back end loads and the
//! `ledger` crate changes, so that both databases follow the same rules and one commit serves many
//! operations.
#![expect(missing_docs, reason = "the names of most items explain them")]

mod alert;
mod audit;
mod audit_log;
mod batch;
mod batch_rows;
mod calendar;
mod check;
mod clock;
mod error;
mod executor;
mod key;
mod limits;
mod location;
mod media;
mod member;
mod postgres;
mod process;
mod records;
mod research;
mod response;
mod role;
mod row;
mod session;
mod sqlite;
mod statement;
mod store;
mod tables;
mod usage;
mod value;

pub use alert::{Alert, AlertDelivery, Credit, NewAlert};
pub use audit::{Actor, AuditEntry};
pub use batch::{HoldClosing, NewHold};
pub use calendar::Calendar;
pub use check::{LedgerCheck, LedgerFinding, MAX_FINDINGS};
pub use clock::Clock;
pub use error::{Error, ErrorKind};
pub use key::{Key, KeyChange, KeyRecord, KeyRotation, KeySearch, LimitsChange, NewKey, Scope};
pub use location::{DatabaseLocation, SchemaState, StoreOptions};
pub use media::{Artifact, MediaRun};
pub use member::{Member, MemberChange};
pub use process::{DrainedProvider, ProcessReport, ProviderAction, SharedState};
pub use research::{
    FinishedStep, JOB_OWNER, JobClaim, JobEnd, JobEndResult, JobEvent, JobRelease, JobStatus,
    JobStep, MAX_PAUSE_MICROS, NewJob, NewJobEvent, Progress, ResearchJob, Webhook, WebhookOutcome,
};
pub use response::{ResponseEvent, SavedAnswer, StoredResponse};
pub use role::Role;
pub use session::{MAX_SESSIONS, NewSession, WebSession};
pub use statement::{RelatedReceipts, StatementLine};
pub use store::Store;
pub use usage::{MAX_USAGE_LINES, UsageCounts, UsageDimension, UsageLine, UsageQuery};
