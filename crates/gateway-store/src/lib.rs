//! Durable state of the member service in SQLite or PostgreSQL. All SQL of the service is here.
//!
//! Operations are written once, for both databases, in the files of `store`: as statements that an
//! `executor` runs. Both back ends pass the same tests. Operations that move money go through `batch`:
//! those that wait at the same time become one transaction on rows that the back end loads and the
//! `ledger` crate changes, so that both databases follow the same rules and one commit serves many
//! operations.
#![expect(missing_docs, reason = "the names of most items explain them")]

mod audit;
mod audit_log;
mod batch;
mod batch_rows;
mod calendar;
mod check;
mod error;
mod executor;
mod key;
mod location;
mod media;
mod member;
mod postgres;
mod records;
mod research;
mod response;
mod row;
mod sqlite;
mod statement;
mod store;
mod tables;
mod usage;
mod value;

pub use audit::{Actor, AuditEntry};
pub use batch::{HoldClosing, NewHold};
pub use calendar::Calendar;
pub use check::{LedgerCheck, LedgerFinding, MAX_FINDINGS};
pub use error::{Error, ErrorKind, SchemaState};
pub use key::{Key, KeyChange, KeyRecord, KeyRotation, KeySearch, LimitsChange, NewKey, Scope};
pub use location::{Clock, DatabaseLocation, StoreOptions};
pub use media::{Artifact, MediaRun};
pub use member::{Member, MemberChange, Role};
pub use research::{
    FinishedStep, JOB_OWNER, JobClaim, JobEnd, JobEndResult, JobEvent, JobRelease, JobStatus,
    JobStep, MAX_PAUSE_MICROS, NewJob, NewJobEvent, Progress, ResearchJob, Webhook, WebhookOutcome,
};
pub use response::{ResponseEvent, SavedAnswer, StoredResponse};
pub use statement::{RelatedReceipts, StatementLine};
pub use store::{
    Alert, AlertDelivery, Credit, MAX_SESSIONS, NewAlert, NewSession, ProcessReport,
    ProviderAction, SharedState, Store, WebSession,
};
pub use usage::{MAX_USAGE_LINES, UsageCounts, UsageDimension, UsageLine, UsageQuery};
