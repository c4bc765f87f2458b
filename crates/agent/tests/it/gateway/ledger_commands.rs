//! Statements, receipts, the audit log, and whether the books add up.

use super::{Ground, settings};

#[test]
fn a_charge_is_in_the_statement_and_has_a_receipt() {
    let ground = Ground::new();
    let key = ground.alice();
    let served = ground.serve();
    let (status, body) = served.chat(&key, "test/echo");
    assert_eq!(status, 200, "{body}");
    let statement = ground.json(["ledger", "statement", "alice"]);
    let line = &statement["lines"][0];
    assert_eq!((&line["kind"], &line["amount_micros"]), (&"charge".into(), &(-1000).into()));
    assert_eq!((&line["model"], &line["balance_micros"]), (&"test/echo".into(), &9_999_000.into()));
    let id = line["receipt"].as_str().unwrap().to_owned();
    let runs = [
        ground.transcript(["ledger", "statement", "alice"]),
        ground.transcript(["ledger", "statement", "alice", "--csv"]),
        ground.transcript(["ledger", "receipt", &id]),
        ground.transcript(["ledger", "check"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn statements_are_paged_and_exported_as_csv() {
    let ground = Ground::new();
    ground.alice();
    assert_eq!(ground.run(["member", "top-up", "alice", "1", "--reason", "a, \"b\""]).code, 0);
    let first = ground.run(["ledger", "statement", "alice", "--limit", "1"]);
    assert!(first.stderr.contains("`--before 2`"), "{first:?}");
    let rest = ground.json(["ledger", "statement", "alice", "--before", "2"]);
    assert_eq!(rest["lines"].as_array().unwrap().len(), 1);
    assert_eq!(rest["lines"][0]["reason"], "first credit");
    let csv = ground.run(["ledger", "statement", "alice", "--csv", "--limit", "1"]).stdout;
    assert!(csv.ends_with(",\"a, \"\"b\"\"\"\n"), "{csv}");
}

#[test]
fn a_missing_receipt_or_statement_is_reported() {
    let ground = Ground::new();
    assert_eq!(ground.run(["member", "create", "poor"]).code, 0);
    let runs = [
        ground.transcript(["ledger", "receipt", "17"]),
        ground.transcript(["ledger", "receipt", "req_00000000000000000000000000000001"]),
        ground.transcript(["ledger", "statement", "poor"]),
        ground.transcript(["ledger", "statement", "rich"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn an_inconsistent_ledger_fails_the_check() {
    let ground = Ground::new();
    ground.alice();
    let good = ground.json(["ledger", "check"]);
    assert_eq!((&good["wrong"], &good["sum_micros"]), (&0.into(), &0.into()));
    let path = ground.bench.home().join("gateway/gateway.sqlite3");
    let books = rusqlite::Connection::open(path).unwrap();
    books.execute("UPDATE members SET balance = balance + 1", []).unwrap();
    drop(books);
    let run = ground.run(["ledger", "check"]);
    assert_eq!((run.code, &*run.stderr), (1, ""));
    settings().bind(|| insta::assert_snapshot!(run.stdout));
}

#[test]
fn every_change_is_audited_with_its_author() {
    let ground = Ground::new();
    let key = ground.alice();
    let id = &key[4..16];
    for arguments in
        [["member", "block", "alice"], ["member", "unblock", "alice"], ["key", "revoke", id]]
    {
        assert_eq!(ground.run(arguments).code, 0);
    }
    let log = ground.json(["audit"]);
    let entries = log["entries"].as_array().unwrap();
    let actions: Vec<&str> =
        entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(
        actions,
        [
            "key.revoke", "member.unblock", "member.block", "key.create", "ledger.top_up",
            "member.create"
        ]
    );
    assert!(entries.iter().all(|entry| entry["actor"] == "cli:op"));
    let last = ground.run(["audit", "--limit", "1"]);
    assert_eq!(last.stdout.lines().count(), 2, "{last:?}");
}
