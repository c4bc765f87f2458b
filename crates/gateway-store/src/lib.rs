//! Durable state of the member service in SQLite or PostgreSQL: the only place with SQL of it.
//!
//! One method of [`Store`] is one transaction of the service's domain. Both back ends pass the same
//! tests. Whatever moves money goes through `batch`: the operations that wait at the same time
//! become one transaction, decided by the laws of the `ledger` crate on the rows that the back end
//! loaded, so that the money is the same arithmetic on every database and one commit serves many.

mod audit;
mod backend;
mod batch;
mod check;
mod clock;
mod error;
mod key;
mod location;
mod media;
mod member;

mod postgres;
mod research;
mod response;
mod saved_answer;
mod sqlite;
mod statement;
mod store;

pub use audit::{Actor, AuditEntry};
pub use batch::{HoldClosing, NewHold};
pub use check::{LedgerCheck, LedgerFinding, MAX_FINDINGS};
pub use clock::Clock;
pub use error::{Error, ErrorKind};
pub use key::{Key, KeyChange, KeyRecord, LimitsChange, NewKey, Scope};
pub use location::{DatabaseLocation, SchemaState, StoreOptions};
pub use media::{Artifact, MediaRun};
pub use member::{Member, MemberChange};
pub use research::{
    FinishedStep, JOB_OWNER, JobClaim, JobEnd, JobEndResult, JobEvent, JobRelease, JobStatus,
    JobStep, MAX_PAUSE_MICROS, NewJob, NewJobEvent, Progress, ResearchJob, Webhook, WebhookOutcome,
};
pub use response::{ResponseEvent, StoredResponse};
pub use saved_answer::SavedAnswer;
pub use statement::StatementLine;
pub use store::Store;
