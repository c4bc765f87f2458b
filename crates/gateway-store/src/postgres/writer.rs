//! Collects the operations that wait at the same time into one transaction.
//!
//! While one transaction commits, the operations of the next one wait. Concurrent transactions would
//! have fewer operations each, at the same cost.

use std::sync::Arc;
use std::time::Duration;

use ledger::Refusal;
use tokio::sync::{Mutex, Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::config::PgConfig;
use super::connection::{ConnectionDriver, PgConnection};
use super::error::{is_conflict, timed_out};
use super::load::{load, roll_back};
use super::save::save;
use crate::audit::AuditChange;
use crate::batch::{AppliedBatch, LedgerOperation, apply};
use crate::batch_rows::{BatchWrites, LoadedBatch, RowSet};
use crate::error::Result;
use crate::{AuditEntry, Error};

const MAX_WAITING: usize = 16_384;
const MAX_BATCH: usize = 512;
/// Maximum tries of a transaction that conflicts with others.
const MAX_TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Writer {
    operations: mpsc::Sender<QueuedOperation>,
    stop: Arc<Notify>,
    task: Mutex<JoinSet<()>>,
}

struct QueuedOperation {
    operation: LedgerOperation,
    queued_at: Instant,
}

struct Queue {
    operations: mpsc::Receiver<QueuedOperation>,
    stop: Arc<Notify>,
}

impl Writer {
    /// Starts the task, which connects on the first operation.
    pub(super) fn start(config: &Arc<PgConfig>) -> Self {
        let (sender, operations) = mpsc::channel(MAX_WAITING);
        let stop = Arc::new(Notify::new());
        let queue = Queue { operations, stop: Arc::clone(&stop) };
        let batches = BatchTask { config: Arc::clone(config), queue, connection: None };
        let mut task = JoinSet::new();
        task.spawn(batches.run());
        Self { operations: sender, stop, task: Mutex::new(task) }
    }

    /// Queues an operation, which always gets a reply.
    pub(super) fn submit(&self, operation: LedgerOperation) -> Result<()> {
        let queued = QueuedOperation { operation, queued_at: Instant::now() };
        self.operations.try_send(queued).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::Busy,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })
    }

    /// Rejects new operations and waits for the queued ones.
    pub(super) async fn close(&self) {
        self.stop.notify_one();
        self.task.lock().await.join_next().await;
    }
}

impl Queue {
    /// Returns the operations that wait; `None` after the queue was closed.
    async fn take(&mut self) -> Option<Vec<QueuedOperation>> {
        let mut taken = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = self.stop.notified() => self.operations.close(),
                count = self.operations.recv_many(&mut taken, MAX_BATCH) => {
                    return (count > 0).then_some(taken);
                }
            }
        }
    }

    /// Without a connection: refuses operations that have waited too long.
    fn refuse_late(&mut self, kept: &mut Vec<QueuedOperation>, limit: Duration, error: &Error) {
        while kept.len() < MAX_WAITING
            && let Ok(queued) = self.operations.try_recv()
        {
            kept.push(queued);
        }
        for late in kept.extract_if(.., |queued| queued.queued_at.elapsed() >= limit) {
            late.operation.refuse(error.copy());
        }
    }
}

struct BatchTask {
    config: Arc<PgConfig>,
    queue: Queue,
    connection: Option<(PgConnection, ConnectionDriver)>,
}

impl BatchTask {
    async fn run(mut self) {
        loop {
            let taken = match &mut self.connection {
                Some((_, driver)) => driver.run(self.queue.take()).await,
                None => self.queue.take().await,
            };
            let Some(mut queued) = taken else { return };
            let connected = self.connect(&mut queued).await;
            let Some((connection, mut driver)) = connected else { continue };
            let operations = queued.into_iter().map(|queued| queued.operation).collect();
            let done = Box::pin(transact(&connection, &self.config, operations));
            if driver.run(done).await {
                self.connection = Some((connection, driver));
            }
        }
    }

    /// Returns the connection, opened again if it was lost; `None` if no operation waits any more.
    async fn connect(
        &mut self,
        queued: &mut Vec<QueuedOperation>,
    ) -> Option<(PgConnection, ConnectionDriver)> {
        let open = self.connection.take().filter(|(connection, _)| !connection.client.is_closed());
        if open.is_some() {
            return open;
        }
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match PgConnection::open_driven(&self.config).await {
                Ok(opened) => return Some(opened),
                Err(error) => error,
            };
            tracing::warn!(%error, ?pause, "cannot connect to PostgreSQL");
            self.queue.refuse_late(queued, self.config.options.timeout, &error);
            if queued.is_empty() {
                return None;
            }
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }
}

/// Runs operations and replies to each. Returns whether the connection can be used again.
///
/// They are one transaction, unless the database rejects it: then its halves are tried separately, until
/// the operation that causes the error is alone.
async fn transact(
    connection: &PgConnection,
    config: &PgConfig,
    operations: Vec<LedgerOperation>,
) -> bool {
    let mut parts = vec![operations];
    while let Some(operations) = parts.pop() {
        let attempt = attempt(connection, config, operations).await;
        let Err(FailedBatch { mut operations, error }) = attempt else { continue };
        let is_usable = is_usable_after(&error, connection, config.options.timeout).await;
        let is_rejected = matches!(error, Error::Refused(_) | Error::Damaged(_));
        if is_usable && is_rejected && operations.len() > 1 {
            let second = operations.split_off(operations.len() / 2);
            parts.extend([second, operations]);
            continue;
        }
        refuse(operations, &error);
        if !is_usable {
            let lost = if is_rejected { timed_out() } else { error };
            refuse(parts.into_iter().flatten().collect(), &lost);
            return false;
        }
    }
    true
}

struct FailedBatch {
    operations: Vec<LedgerOperation>,
    error: Error,
}

fn refuse(operations: Vec<LedgerOperation>, error: &Error) {
    for operation in operations {
        operation.refuse(error.copy());
    }
}

async fn attempt(
    connection: &PgConnection,
    config: &PgConfig,
    mut operations: Vec<LedgerOperation>,
) -> std::result::Result<(), FailedBatch> {
    let limit = config.options.timeout;
    let begun = timeout(limit, begin(connection, &RowSet::of(&operations), limit)).await;
    let mut loaded = match begun.unwrap_or_else(|_| Err(timed_out())) {
        Ok(loaded) => loaded,
        Err(error) => return Err(FailedBatch { operations, error }),
    };
    refuse_used_ids(&mut operations, &loaded);
    let mut applied = apply(&mut loaded.book, operations, loaded.now, &config.options.calendar);
    let audit = audit_entries(&mut applied, &mut loaded);
    let writes = BatchWrites {
        changes: std::mem::take(&mut applied.changes),
        sub_requests: applied.sub_requests().collect(),
        answers: applied.answers().collect(),
        responses: applied.responses().collect(),
        media: applied.media().collect(),
        audit,
        expires_at: loaded.now.plus_micros(config.options.idempotency_retention_micros()),
    };
    if writes.is_empty() {
        applied.committed();
        let done = roll_back(&connection.client, limit).await;
        return done.map_err(|error| FailedBatch { operations: Vec::new(), error });
    }
    match timeout(limit, finish(connection, writes)).await.unwrap_or_else(|_| Err(timed_out())) {
        Ok(()) => {
            applied.committed();
            Ok(())
        }
        // If the connection breaks after the commit was sent, its result is unknown. To report a
        // failure is safe: an open hold expires without a charge, an ended hold cannot end again and
        // its receipt is stored, and a transfer with a reference can be retried.
        Err(error) => Err(FailedBatch { operations: applied.into_operations(), error }),
    }
}

/// Begins a transaction, and retries after a conflict. All locks are taken here, so that later
/// statements cannot conflict.
async fn begin(connection: &PgConnection, needed: &RowSet, limit: Duration) -> Result<LoadedBatch> {
    let statements = connection.statements().await?;
    let mut pause = FIRST_PAUSE;
    for _ in 1..MAX_TRIES {
        match load(&connection.client, statements, needed).await {
            Err(error) if is_conflict(&error) => {
                roll_back(&connection.client, limit).await?;
                sleep(jittered(pause)).await;
                pause *= 2;
            }
            result => return result?,
        }
    }
    load(&connection.client, statements, needed).await?
}

async fn finish(connection: &PgConnection, writes: BatchWrites<'_>) -> Result<()> {
    let statements = connection.statements().await?;
    Ok(Box::pin(save(&connection.client, statements, writes)).await?)
}

fn audit_entries(applied: &mut AppliedBatch, loaded: &mut LoadedBatch) -> Vec<AuditEntry> {
    let (now, tail) = (loaded.now, &mut loaded.audit_tail);
    let entry = |(posting, by)| tail.append(AuditChange::posted(&posting), now, &by);
    std::mem::take(&mut applied.audited).into_iter().map(entry).collect()
}

/// Refuses holds whose id has a receipt: their end would fail the whole batch.
fn refuse_used_ids(operations: &mut Vec<LedgerOperation>, loaded: &LoadedBatch) {
    if loaded.used_ids.is_empty() {
        return;
    }
    let is_used = |operation: &mut LedgerOperation| match operation {
        LedgerOperation::Open(open) => loaded.used_ids.contains(&open.operation.request.id),
        _ => false,
    };
    for operation in operations.extract_if(.., is_used) {
        if let LedgerOperation::Open(open) = operation {
            open.reply(Ok(Err(Refusal::IdUsed)));
        }
    }
}

/// Whether a connection can be used after this error. A connection that timed out is not tried.
async fn is_usable_after(error: &Error, connection: &PgConnection, limit: Duration) -> bool {
    !matches!(error, Error::Unavailable(_)) && roll_back(&connection.client, limit).await.is_ok()
}

/// Between half and all of a pause, so that processes which failed together do not collide again.
fn jittered(pause: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let chance = RandomState::new().hash_one(0_u8) % 512;
    pause.mul_f64(0.5 + f64::from(u32::try_from(chance).unwrap_or(0)) / 1024.0)
}
