//! The chain of postings of a member.

use ledger::{ChargeRule, Limits};

use crate::test_database::TestDatabase;

#[tokio::test]
async fn a_broken_posting_chain_is_found_and_ends_statements() {
    let db = TestDatabase::sqlite().await;
    let (member, key) = db.member("ann", 1000, Limits::default()).await;
    for amount in 1..=3 {
        let hold = db.hold(&key, amount).await.unwrap();
        db.end(&hold, ChargeRule::Answered).await;
    }
    let lines = db.store.statement(member, i64::MAX, 10).await.unwrap();
    assert_eq!(lines.len(), 4);
    db.check().await;
    for (figure, sql, undo, left) in [
        (
            "previous",
            "UPDATE postings SET previous = 404 WHERE id = 3",
            "UPDATE postings SET previous = 2 WHERE id = 3",
            2,
        ),
        (
            "last posting",
            "UPDATE members SET last_posting = 2",
            "UPDATE members SET last_posting = 4",
            2,
        ),
        (
            "last posting",
            "UPDATE members SET last_posting = NULL",
            "UPDATE members SET last_posting = 4",
            0,
        ),
    ] {
        db.execute(sql);
        let check = db.store.check_ledger().await.unwrap();
        let figures: Vec<&str> = check.findings.iter().map(|found| &*found.figure).collect();
        assert_eq!(figures, [figure], "{sql}");
        assert_eq!(db.store.statement(member, i64::MAX, 10).await.unwrap().len(), left, "{sql}");
        db.execute(undo);
        db.check().await;
    }
    // A posting that refers to itself does not cause an endless loop.
    db.execute("UPDATE postings SET previous = 4 WHERE id = 4");
    assert!(db.store.statement(member, 3, 10).await.unwrap().len() < 4);
    assert_eq!(db.store.statement(member, 0, 10).await.unwrap(), []);
}
