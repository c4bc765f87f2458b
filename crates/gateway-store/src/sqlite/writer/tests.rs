//! What only shows inside: how much is kept.

use ledger::{MemberId, Micros, PostingKind, Refusal, Transfer};

use super::*;
use crate::batch::NewHold;
use crate::sqlite::{checkpoint, schema};
use crate::{Actor, StoredResponse};

/// Keys that may ask once a minute; all others as often as they like.
const LIMITED: i64 = 100;

/// A writer on a file with so many members, who have a key each.
fn writer(folder: &std::path::Path, members: usize) -> Writer {
    let path = folder.join("gateway.db");
    let options = StoreOptions { power_loss_safe: false, ..StoreOptions::default() };
    schema::migrate(&path, &options).unwrap();
    let connection = connection::open(&path, Role::Writes, &options).unwrap();
    let count = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {members})"
    );
    let sql = format!(
        "{count} INSERT INTO members (id, name, created_at) SELECT i, 'member ' || i, 0 FROM n; \
         {count} INSERT INTO lineages (id, member, requests_per_minute) \
         SELECT i, i, iif(i <= {LIMITED}, 1, NULL) FROM n;"
    );
    connection.execute_batch(&sql).unwrap();
    let (log, _) = checkpoint::pair();
    Writer::new(path, options, connection, log).unwrap()
}

fn admit(writer: &mut Writer, id: i64) -> std::result::Result<(), Refusal> {
    let (reply, mut result) = oneshot::channel();
    let (_, mut nothing) = mpsc::channel(1);
    let job = LedgerOperation::Admit(MemberId(id), LineageId(id), reply);
    assert!(writer.collect(job, &mut nothing).is_none());
    result.try_recv().unwrap().unwrap().map(drop)
}

#[test]
fn rows_beyond_the_limit_are_forgotten_and_read_again_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    // Each is a row of its own and one of its key.
    let members = MAX_KEPT_ROWS / 2 + 1;
    let mut writer = writer(folder.path(), members);
    let (mut before, mut forgotten) = (0, 0);
    for id in 1..=i64::try_from(members).unwrap() {
        admit(&mut writer, id).unwrap();
        let rows = writer.book.rows();
        assert!(rows <= MAX_KEPT_ROWS, "{rows} rows");
        forgotten += usize::from(rows < before);
        before = rows;
    }
    assert_eq!(forgotten, 1);
    // Whoever was counted is counted still, though it was not written yet.
    assert!(!writer.arrivals.is_empty());
    for id in 1..=LIMITED {
        assert!(matches!(admit(&mut writer, id), Err(Refusal::RateLimited { .. })), "{id}");
    }
    admit(&mut writer, LIMITED + 1).unwrap();
}

/// A job that stores so many bytes.
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
    LedgerOperation::Open(
        Box::new(NewHold { request, response: Some(response) }),
        oneshot::channel().0,
    )
}

#[test]
fn a_transaction_takes_so_many_operations_and_so_many_bytes() {
    let taken = |job: &dyn Fn(u128) -> LedgerOperation| {
        let (sender, mut waiting) = mpsc::channel(MAX_WAITING);
        for number in 0..1000 {
            sender.try_send(Message::Operation(job(number))).unwrap();
        }
        let mut jobs = Vec::new();
        assert!(take_jobs(&mut jobs, &mut waiting).is_none());
        jobs.len()
    };
    let small = |_| {
        let (member, kind, amount) = (MemberId(1), PostingKind::TopUp, Micros::new(1));
        let reason = String::new();
        let transfer = Transfer { member, kind, amount, reason, reference: None };
        let by = Actor { name: String::new(), request: None };
        LedgerOperation::Post(Box::new(transfer), by, oneshot::channel().0)
    };
    assert_eq!(taken(&small), MAX_BATCH);
    assert_eq!(taken(&|number| large(number, 1024)), MAX_BATCH);
    assert_eq!(taken(&|number| large(number, MAX_BATCH_BYTES / 100)), 101);
    assert_eq!(taken(&|number| large(number, MAX_BATCH_BYTES / 8)), 8);
}
