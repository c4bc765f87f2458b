//! Limits of the cache and of batches.

use ledger::{Micros, PostingKind, Refusal, Transfer};

use super::*;
use crate::batch::{AuditedTransfer, FreeRequest, NewHold, Pending};
use crate::sqlite::{checkpoint, schema};
use crate::{Actor, StoredResponse};

/// Keys up to this one have a limit of one request per minute; others have none.
const LIMITED: i64 = 100;

/// A writer on a file with this many members, each with a key.
fn writer(folder: &std::path::Path, members: usize) -> Writer {
    let path = folder.join("gateway.db");
    let options = StoreOptions { power_loss_safe: false, ..StoreOptions::default() };
    schema::migrate(&path, &options).unwrap();
    let connection = connection::open(&path, ConnectionMode::ReadWrite, &options).unwrap();
    let count = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {members})"
    );
    let sql = format!(
        "{count} INSERT INTO members (id, name, created_at) SELECT i, 'member ' || i, 0 FROM n; \
         {count} INSERT INTO lineages (id, member, requests_per_minute) \
         SELECT i, i, iif(i <= {LIMITED}, 1, NULL) FROM n;"
    );
    connection.execute_batch(&sql).unwrap();
    let (wal, _) = checkpoint::pair();
    Writer::new(path, options, connection, wal).unwrap()
}

fn admit(writer: &mut Writer, id: i64) -> std::result::Result<(), Refusal> {
    let (reply, mut result) = oneshot::channel();
    let (_, mut nothing) = mpsc::channel(1);
    let request = FreeRequest { member: MemberId(id), lineage: LineageId(id) };
    let operation = LedgerOperation::Admit(Box::new(Pending::new(request, reply)));
    assert!(writer.collect(operation, &mut nothing).is_none());
    result.try_recv().unwrap().unwrap().map(drop)
}

#[test]
fn a_full_cache_is_cleared_without_losing_counts() {
    let folder = tempfile::tempdir().unwrap();
    // Each member has two rows: the account and the lineage.
    let members = MAX_CACHED_ROWS / 2 + 1;
    let mut writer = writer(folder.path(), members);
    let (mut before, mut clears) = (0, 0);
    for id in 1..=i64::try_from(members).unwrap() {
        admit(&mut writer, id).unwrap();
        let rows = writer.book.rows();
        assert!(rows <= MAX_CACHED_ROWS, "{rows} rows");
        clears += usize::from(rows < before);
        before = rows;
    }
    assert_eq!(clears, 1);
    // Counted requests are not lost although they are not written yet.
    assert!(!writer.arrivals.is_empty());
    for id in 1..=LIMITED {
        assert!(matches!(admit(&mut writer, id), Err(Refusal::RateLimited { .. })), "{id}");
    }
    admit(&mut writer, LIMITED + 1).unwrap();
}

/// An operation that stores this many bytes.
fn large(number: u128, bytes: usize) -> LedgerOperation {
    let id = ledger::HoldId::new(1, number);
    let time = Time::default();
    let response = StoredResponse {
        id: format!("resp_{number}"),
        member: MemberId(1),
        lineage: LineageId(1),
        hold: id,
        status: "queued".to_owned(),
        body: vec![0; bytes],
        input: Vec::new(),
        previous: None,
        background: true,
        created_at: time,
        expires_at: time,
    };
    let request = ledger::HoldRequest {
        id,
        member: MemberId(1),
        lineage: LineageId(1),
        amount: Micros::ZERO,
        operation: "".into(),
        model: None,
        owner: 1,
        lease_micros: 1,
        idempotency: None,
    };
    let hold = NewHold { request, response: Some(response), parent: None };
    LedgerOperation::Open(Box::new(Pending::new(hold, oneshot::channel().0)))
}

#[test]
fn batches_are_limited_by_operations_and_bytes() {
    let taken = |operation: &dyn Fn(u128) -> LedgerOperation| {
        let (sender, mut waiting) = mpsc::channel(MAX_WAITING);
        for number in 0..1000 {
            sender.try_send(WriterMessage::Operation(operation(number))).unwrap();
        }
        let mut operations = Vec::new();
        assert!(take_operations(&mut operations, &mut waiting).is_none());
        operations.len()
    };
    let small = |_| {
        let (member, kind, amount) = (MemberId(1), PostingKind::TopUp, Micros::new(1));
        let reason = String::new();
        let transfer = Transfer { member, kind, amount, reason, reference: None };
        let by = Actor { name: String::new(), request: None };
        let post = Pending::new(AuditedTransfer { transfer, by }, oneshot::channel().0);
        LedgerOperation::Post(Box::new(post))
    };
    assert_eq!(taken(&small), MAX_BATCH);
    assert_eq!(taken(&|number| large(number, 1024)), MAX_BATCH);
    assert_eq!(taken(&|number| large(number, MAX_BATCH_BYTES / 100)), 101);
    assert_eq!(taken(&|number| large(number, MAX_BATCH_BYTES / 8)), 8);
}
