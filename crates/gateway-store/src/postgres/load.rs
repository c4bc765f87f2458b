//! The first half of a batch: locks the members, and reads the rows that the laws decide on.

use std::time::Duration;

use ledger::{Book, HoldId, LineageId, MemberId, Time};
use tokio::time::timeout;
use tokio_postgres::{Client, Error as Failure, Row};

use super::audit::Last;
use super::fault::{fault, too_late};
use super::needs::Needs;
use super::rows::{self, Columns, Uid};
use super::statements::Statements;
use crate::backend::Result;
use crate::batch::LedgerOperation;

/// Which rows a transaction works on.
#[derive(Debug, Default)]
pub(super) struct Wants {
    members: Vec<i64>,
    lineages: Vec<i64>,
    holds: Vec<Uid>,
    repeats: (Vec<i64>, Vec<String>),
    references: (Vec<i64>, Vec<String>),
    /// New holds: their ids must not have been used.
    begins: Vec<Uid>,
    is_audited: bool,
}

impl Wants {
    /// The rows that these jobs name.
    pub(super) fn of(jobs: &[LedgerOperation]) -> Self {
        let mut wants = Self::from(Needs::of(jobs));
        for job in jobs {
            match job {
                LedgerOperation::Open(opening, _) => wants.begins.push(Uid(opening.request.id)),
                LedgerOperation::Post(..) => wants.is_audited = true,
                LedgerOperation::Close(..) | LedgerOperation::Admit(..) => {}
            }
        }
        wants.holds.extend_from_slice(&wants.begins);
        wants
    }
}

impl Wants {
    /// The same with a new hold.
    pub(super) fn beginning(mut self, id: HoldId) -> Self {
        self.begins.push(Uid(id));
        self.holds.push(Uid(id));
        self
    }
}

impl From<Needs> for Wants {
    fn from(needs: Needs) -> Self {
        Self {
            members: needs.members.into_iter().map(|id| id.0).collect(),
            lineages: needs.lineages.into_iter().map(|id| id.0).collect(),
            holds: needs.holds.into_iter().map(Uid).collect(),
            repeats: needs.repeats.into_iter().map(|(LineageId(id), word)| (id, word)).unzip(),
            references: needs.references.into_iter().map(|(MemberId(id), word)| (id, word)).unzip(),
            ..Self::default()
        }
    }
}

/// The rows, and the time at which they were locked.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) book: Book,
    pub(super) now: Time,
    /// Ids of new holds that were used before.
    pub(super) used: Vec<HoldId>,
    /// The end of the audit log, locked if it is to be written.
    pub(super) last_audit: Last,
}

/// The answers of the server, not yet read.
struct Answers {
    members: Vec<Row>,
    lineages: Vec<Row>,
    holds: Vec<Row>,
    repeats: Vec<Row>,
    referred: Vec<Row>,
    now: Row,
    audit: Vec<Row>,
}

/// Begins a transaction, locks, and reads: one round trip, unless somebody has a lock.
pub(super) async fn load(
    client: &Client,
    statements: &Statements,
    wants: &Wants,
) -> std::result::Result<Result<Loaded>, Failure> {
    Ok(read(&ask(client, statements, wants).await?))
}

/// The statements go out together, in this order. Each sees what was committed when it began, and
/// the server begins it when the one before has ended: all that follow the lock see the last
/// state of what the lock protects, and so does the clock.
async fn ask(
    client: &Client,
    statements: &Statements,
    wants: &Wants,
) -> std::result::Result<Answers, Failure> {
    let begin = client.execute(&statements.begin, &[]);
    let members = async { client.query(&statements.lock_members, &[&wants.members]).await };
    let lineages = async {
        if wants.lineages.is_empty() && wants.holds.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.lineages, &[&wants.lineages, &wants.holds]).await
    };
    let holds = async {
        if wants.holds.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.holds, &[&wants.holds]).await
    };
    let repeats = async {
        if wants.repeats.0.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.repeats, &[&wants.repeats.0, &wants.repeats.1]).await
    };
    let referred = async {
        let (members, words) = &wants.references;
        if members.is_empty() {
            return Ok(Vec::new());
        }
        client.query(&statements.referred, &[members, words]).await
    };
    let lock_audit = async {
        if wants.is_audited { client.execute(&statements.lock_audit, &[]).await } else { Ok(0) }
    };
    let audit = async {
        if wants.is_audited {
            return client.query(&statements.last_audit, &[]).await;
        }
        Ok(Vec::new())
    };
    let now = async { client.query_one(&statements.now, &[&wants.begins]).await };
    let (_, members, lineages, holds, repeats, referred, _, audit, now) = tokio::try_join!(
        biased;
        begin, members, lineages, holds, repeats, referred, lock_audit, audit, now
    )?;
    Ok(Answers { members, lineages, holds, repeats, referred, now, audit })
}

fn read(answers: &Answers) -> Result<Loaded> {
    let mut book = Book::default();
    for row in &answers.members {
        book.add_account(rows::account(row)?);
    }
    for row in &answers.lineages {
        book.add_lineage(rows::lineage(row)?);
    }
    for row in &answers.holds {
        let (hold, repeat) = rows::hold(row)?;
        book.add_hold(hold);
        if let Some(repeat) = repeat {
            book.add_idempotency_record(repeat);
        }
    }
    for row in &answers.repeats {
        book.add_idempotency_record(rows::repeat(row)?);
    }
    for row in &answers.referred {
        book.add_referenced_posting(rows::posting(&mut Columns::of(row))?);
    }
    let mut columns = Columns::of(&answers.now);
    let now = Time::from_micros(columns.take()?);
    let used: Vec<Uid> = columns.take()?;
    let used = used.into_iter().map(|uid| uid.0).collect();
    let last_audit = Last::read(&answers.audit)?;
    Ok(Loaded { book, now, used, last_audit })
}

/// Undoes what [`load`] began, in the time there is for it.
pub(super) async fn undo(client: &Client, wait: Duration) -> Result<()> {
    let undone = timeout(wait, client.batch_execute("ROLLBACK")).await;
    undone.map_err(|_| too_late())?.map_err(fault)
}
