//! Collects the operations that wait at the same time, and makes one transaction of them.
//!
//! While one transaction waits for its commit, the jobs of the next collect. There could be several
//! tasks, each with a connection of its own, that take turns: what concerns one member is in order
//! all the same, by the lock on its row.

use std::sync::Arc;
use std::time::Duration;

use ledger::Refusal;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::address::Address;
use super::audit::Change;
use super::fault::{again, fault, is_conflict, too_late};
use super::link::{Driver, Link};
use super::load::{Loaded, Wants, load, undo};
use super::save::{Writes, save};
use crate::backend::Result;
use crate::batch::{Applied, LedgerOperation, apply};
use crate::{AuditEntry, Error};

/// How many operations may wait.
const MAX_WAITING: usize = 16_384;

/// How many operations one transaction does at most.
const MAX_BATCH: usize = 512;

/// How many transactions are under way at the same time. With more of them each does less, and
/// every one costs the same.
const MAX_IN_FLIGHT: usize = 1;

/// How often a transaction is tried again that the server undid because of others.
const MAX_TRIES: u32 = 5;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The door to the batches.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Waiting>,
    stop: Arc<Notify>,
    tasks: Mutex<JoinSet<()>>,
}

/// A job, and since when it waits.
struct Waiting {
    job: LedgerOperation,
    since: Instant,
}

/// The jobs that nobody has taken yet. Who holds the lock collects the next batch.
struct Queue {
    jobs: mpsc::Receiver<Waiting>,
    stop: Arc<Notify>,
}

impl Writer {
    /// Starts the tasks, which connect when there is something to do.
    pub(super) fn start(address: &Arc<Address>) -> Self {
        let (sender, jobs) = mpsc::channel(MAX_WAITING);
        let stop = Arc::new(Notify::new());
        let queue = Arc::new(Mutex::new(Queue { jobs, stop: Arc::clone(&stop) }));
        let mut tasks = JoinSet::new();
        for _ in 0..MAX_IN_FLIGHT {
            let task = Task { address: Arc::clone(address), line: None };
            tasks.spawn(task.run(Arc::clone(&queue)));
        }
        Self { jobs: sender, stop, tasks: Mutex::new(tasks) }
    }

    /// Hands in a job; its reply comes in any case.
    pub(super) fn submit(&self, job: LedgerOperation) -> Result<()> {
        let waiting = Waiting { job, since: Instant::now() };
        self.jobs.try_send(waiting).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })
    }

    /// Takes no more jobs, and waits for those it has.
    pub(super) async fn close(&self) {
        self.stop.notify_one();
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
    }
}

impl Queue {
    /// The next jobs, as many as wait; `None` when there will be no more.
    async fn take(&mut self) -> Option<Vec<Waiting>> {
        let mut taken = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = self.stop.notified() => self.jobs.close(),
                count = self.jobs.recv_many(&mut taken, MAX_BATCH) => {
                    return (count > 0).then_some(taken);
                }
            }
        }
    }

    /// Without a connection: jobs that waited too long are told so, the others wait on.
    fn refuse_late(&mut self, kept: &mut Vec<Waiting>, wait: Duration, why: &Error) {
        while kept.len() < MAX_WAITING
            && let Ok(waiting) = self.jobs.try_recv()
        {
            kept.push(waiting);
        }
        for late in kept.extract_if(.., |waiting| waiting.since.elapsed() >= wait) {
            late.job.refuse(again(why));
        }
    }
}

/// One task: a connection, and what it does with it.
struct Task {
    address: Arc<Address>,
    line: Option<(Link, Driver)>,
}

impl Task {
    async fn run(mut self, queue: Arc<Mutex<Queue>>) {
        loop {
            let mut queue = queue.lock().await;
            let taken = match &mut self.line {
                Some((_, driver)) => driver.run(queue.take()).await,
                None => queue.take().await,
            };
            let Some(mut jobs) = taken else { return };
            // The queue stays locked until there is a connection: another task could do no better.
            let Some((link, mut driver)) = self.connection(&mut queue, &mut jobs).await else {
                continue;
            };
            drop(queue);
            let done = Box::pin(transact(&link, &self.address, jobs));
            if driver.run(done).await {
                self.line = Some((link, driver));
            }
        }
    }

    /// The connection, made again if it was lost; `None` when no job is left that waits for it.
    async fn connection(
        &mut self,
        queue: &mut Queue,
        jobs: &mut Vec<Waiting>,
    ) -> Option<(Link, Driver)> {
        if let Some(line) = self.line.take().filter(|(link, _)| !link.is_closed()) {
            return Some(line);
        }
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match Link::open_driven(&self.address).await {
                Ok(line) => return Some(line),
                Err(error) => error,
            };
            queue.refuse_late(jobs, self.address.wait(), &error);
            if jobs.is_empty() {
                return None;
            }
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Does the jobs, and tells each what came of it. Gives whether the connection can be used again.
///
/// They are one transaction, unless the database refuses it: then one of them is to blame, and the
/// halves are tried on their own, until the guilty one stands alone.
async fn transact(link: &Link, address: &Address, jobs: Vec<Waiting>) -> bool {
    let mut parts =
        vec![jobs.into_iter().map(|waiting| waiting.job).collect::<Vec<LedgerOperation>>()];
    while let Some(jobs) = parts.pop() {
        let Err(Failed { mut jobs, error }) = attempt(link, address, jobs).await else { continue };
        let is_good = is_good_after(&error, link, address.wait()).await;
        let is_theirs = matches!(error, Error::Refused(_) | Error::Damaged(_));
        if is_good && is_theirs && jobs.len() > 1 {
            let second = jobs.split_off(jobs.len() / 2);
            parts.extend([second, jobs]);
            continue;
        }
        refuse(jobs, &error);
        if !is_good {
            let lost = if is_theirs { too_late() } else { error };
            refuse(parts.into_iter().flatten().collect(), &lost);
            return false;
        }
    }
    true
}

/// Jobs of a transaction that failed, none of which was done.
struct Failed {
    jobs: Vec<LedgerOperation>,
    error: Error,
}

fn refuse(jobs: Vec<LedgerOperation>, error: &Error) {
    for job in jobs {
        job.refuse(again(error));
    }
}

/// Does the jobs in one transaction.
async fn attempt(
    link: &Link,
    address: &Address,
    mut jobs: Vec<LedgerOperation>,
) -> std::result::Result<(), Failed> {
    let wait = address.wait();
    let began = timeout(wait, begin(link, &Wants::of(&jobs), wait)).await;
    let mut loaded = match began.unwrap_or_else(|_| Err(too_late())) {
        Ok(loaded) => loaded,
        Err(error) => return Err(Failed { jobs, error }),
    };
    refuse_used(&mut jobs, &loaded);
    let mut applied = apply(&mut loaded.book, jobs, loaded.now);
    let (changes, audit) =
        (std::mem::take(&mut applied.changes), sealed(&mut applied, &mut loaded));
    let writes = Writes {
        changes,
        answers: applied.answers().collect(),
        responses: applied.responses().collect(),
        media: applied.media().collect(),
        audit,
        until: loaded.now.plus_micros(address.repeats_kept_micros()),
    };
    if writes.is_empty() {
        applied.committed();
        let undone = undo(link.client(), wait).await;
        return undone.map_err(|error| Failed { jobs: Vec::new(), error });
    }
    match timeout(wait, finish(link, writes)).await.unwrap_or_else(|_| Err(too_late())) {
        Ok(()) => {
            applied.committed();
            Ok(())
        }
        // When the connection breaks after the commit was sent, nobody here knows whether it was
        // done. To say that it failed is safe: a hold that stands all the same ends with its
        // lease and charges nothing; a hold that has ended all the same ends only once, and who
        // tries again is told so; its receipt is in the store. A transfer is safe to try again
        // where it has a reference.
        Err(error) => Err(Failed { jobs: applied.into_jobs(), error }),
    }
}

/// Begins, and tries again where the server chose this transaction to give way to others. Later
/// there is nothing to give way to: all locks are taken here.
async fn begin(link: &Link, wants: &Wants, wait: Duration) -> Result<Loaded> {
    let statements = link.statements().await?;
    let mut pause = FIRST_PAUSE;
    for _ in 1..MAX_TRIES {
        match load(link.client(), statements, wants).await {
            Err(failure) if is_conflict(&failure) => {
                undo(link.client(), wait).await?;
                sleep(jittered(pause)).await;
                pause *= 2;
            }
            result => return result.map_err(fault)?,
        }
    }
    load(link.client(), statements, wants).await.map_err(fault)?
}

async fn finish(link: &Link, writes: Writes<'_>) -> Result<()> {
    let statements = link.statements().await?;
    Box::pin(save(link.client(), statements, writes)).await.map_err(fault)
}

/// The entries of the audit log for what persons moved.
fn sealed(applied: &mut Applied, loaded: &mut Loaded) -> Vec<AuditEntry> {
    let now = loaded.now;
    let seal = |(posting, by)| loaded.last_audit.seal(Change::posted(&posting), now, &by);
    std::mem::take(&mut applied.audited).into_iter().map(seal).collect()
}

/// A hold whose id a receipt has would fail for everybody when it ends.
fn refuse_used(jobs: &mut Vec<LedgerOperation>, loaded: &Loaded) {
    if loaded.used.is_empty() {
        return;
    }
    let is_used = |job: &mut LedgerOperation| match job {
        LedgerOperation::Open(opening, _) => loaded.used.contains(&opening.request.id),
        _ => false,
    };
    for job in jobs.extract_if(.., is_used) {
        if let LedgerOperation::Open(_, reply) = job {
            let _ = reply.send(Ok(Err(Refusal::IdUsed)));
        }
    }
}

/// Whether a connection can be used again after this. One that did not answer is not asked.
async fn is_good_after(error: &Error, link: &Link, wait: Duration) -> bool {
    !matches!(error, Error::Unavailable(_)) && undo(link.client(), wait).await.is_ok()
}

/// Between half and all of a pause, so that processes which failed together do not meet again.
fn jittered(pause: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let chance = RandomState::new().hash_one(0_u8) % 512;
    pause.mul_f64(0.5 + f64::from(u32::try_from(chance).unwrap_or(0)) / 1024.0)
}
