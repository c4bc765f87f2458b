//! The check constraint on kinds of postings.

use ledger::Limits;
use rusqlite::Connection;

use crate::test_database::TestDatabase;

fn insert(kind: &str) -> String {
    format!(
        "INSERT INTO postings (at, kind, member, amount, balance, hold) \
         VALUES (1, '{kind}', 1, -1, 1, iif('{kind}' = 'charge', zeroblob(16), NULL))"
    )
}

#[tokio::test]
async fn posting_kinds_are_checked_without_a_temporary_table() {
    let db = TestDatabase::sqlite().await;
    db.member("ann", 1000, Limits::default()).await;
    let connection = Connection::open(db.path("gateway.db")).unwrap();
    for kind in ["charge", "top_up", "adjustment"] {
        connection.execute(&insert(kind), []).unwrap();
    }
    let refused = connection.execute(&insert("gift"), []).unwrap_err().to_string();
    assert!(refused.contains("CHECK constraint failed: kind"), "{refused}");

    let mut explained = connection.prepare(&format!("EXPLAIN {}", insert("charge"))).unwrap();
    let steps = explained.query_map([], |row| row.get(1)).unwrap();
    let steps: Vec<String> = steps.collect::<rusqlite::Result<_>>().unwrap();
    assert!(steps.iter().any(|step| step == "Insert"), "{steps:?}");
    assert!(!steps.iter().any(|step| step == "OpenEphemeral"), "{steps:?}");
}
