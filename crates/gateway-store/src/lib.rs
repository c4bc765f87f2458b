//! Durable state of the member service in SQLite or PostgreSQL: the only place with SQL of it.
//!
//! One method of [`Store`] is one transaction of the service's domain. Both back ends pass the same
//! tests. Whatever moves money goes through `batch`: the operations that wait at the same time
//! become one transaction, decided by the laws of the `ledger` crate on the rows that the back end
//! loaded, so that the money is the same arithmetic on every database and one commit serves many.

mod answer;
mod audit;
mod backend;
mod batch;
mod check;
mod clock;
mod error;
mod key;
mod media;
mod member;
mod place;
mod postgres;
mod research;
mod response;
mod sqlite;
mod statement;
mod store;

pub use answer::Answer;
pub use audit::{Actor, AuditEntry};
pub use batch::{Closing, Opening};
pub use check::{Finding, LedgerCheck, MAX_FINDINGS};
pub use clock::Clock;
pub use error::{Error, Kind};
pub use key::{Key, KeyChange, KeyRecord, LimitsChange, NewKey, Scope};
pub use media::{Artifact, MediaRun};
pub use member::{Member, MemberChange};
pub use place::{Options, Place, SchemaState};
pub use research::{
    Fence, FinishedStep, GiveBack, Hook, HookOutcome, JOB_OWNER, Job, JobEnd, JobEnded, JobEvent,
    JobStatus, JobStep, MAX_PAUSE_MICROS, NewEvent, NewJob, Progress,
};
pub use response::{ResponseEvent, StoredResponse};
pub use statement::StatementLine;
pub use store::Store;
