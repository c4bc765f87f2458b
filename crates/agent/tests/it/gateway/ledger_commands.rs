//! Statements, receipts, the audit log, and whether the books add up.

use super::{Fixture, settings};

#[test]
fn a_charge_is_in_the_statement_and_has_a_receipt() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let served = fixture.serve();
    let (status, body) = served.chat(&key, "test/echo");
    assert_eq!(status, 200, "{body}");
    let statement = fixture.json(["ledger", "statement", "alice"]);
    let line = &statement["lines"][0];
    assert_eq!((&line["kind"], &line["amount_micros"]), (&"charge".into(), &(-1000).into()));
    assert_eq!((&line["model"], &line["balance_micros"]), (&"test/echo".into(), &9_999_000.into()));
    let id = line["receipt"].as_str().unwrap().to_owned();
    let runs = [
        fixture.transcript(["ledger", "statement", "alice"]),
        fixture.transcript(["ledger", "statement", "alice", "--csv"]),
        fixture.transcript(["ledger", "receipt", &id]),
        fixture.transcript(["ledger", "check"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn statements_are_paged_and_exported_as_csv() {
    let fixture = Fixture::new();
    fixture.alice();
    assert_eq!(fixture.run(["member", "top-up", "alice", "1", "--reason", "a, \"b\""]).code, 0);
    let first = fixture.run(["ledger", "statement", "alice", "--limit", "1"]);
    assert!(first.stderr.contains("`--before 2`"), "{first:?}");
    let rest = fixture.json(["ledger", "statement", "alice", "--before", "2"]);
    assert_eq!(rest["lines"].as_array().unwrap().len(), 1);
    assert_eq!(rest["lines"][0]["reason"], "first credit");
    let csv = fixture.run(["ledger", "statement", "alice", "--csv", "--limit", "1"]).stdout;
    assert!(csv.ends_with(",\"a, \"\"b\"\"\"\n"), "{csv}");
}

#[test]
fn a_missing_receipt_or_statement_is_reported() {
    let fixture = Fixture::new();
    assert_eq!(fixture.run(["member", "create", "poor"]).code, 0);
    let runs = [
        fixture.transcript(["ledger", "receipt", "17"]),
        fixture.transcript(["ledger", "receipt", "req_00000000000000000000000000000001"]),
        fixture.transcript(["ledger", "statement", "poor"]),
        fixture.transcript(["ledger", "statement", "rich"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn an_inconsistent_ledger_fails_the_check() {
    let fixture = Fixture::new();
    fixture.alice();
    let good = fixture.json(["ledger", "check"]);
    assert_eq!((&good["wrong"], &good["sum_micros"]), (&0.into(), &0.into()));
    let path = fixture.agent.home().join("gateway/gateway.sqlite3");
    let books = rusqlite::Connection::open(path).unwrap();
    books.execute("UPDATE members SET balance = balance + 1", []).unwrap();
    drop(books);
    let run = fixture.run(["ledger", "check"]);
    assert_eq!((run.code, &*run.stderr), (1, ""));
    settings().bind(|| insta::assert_snapshot!(run.stdout));
}

#[test]
fn every_change_is_audited_with_its_author() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let id = &key[4..16];
    for arguments in
        [["member", "block", "alice"], ["member", "unblock", "alice"], ["key", "revoke", id]]
    {
        assert_eq!(fixture.run(arguments).code, 0);
    }
    let log = fixture.json(["audit"]);
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
    let last = fixture.run(["audit", "--limit", "1"]);
    assert_eq!(last.stdout.lines().count(), 2, "{last:?}");
}
