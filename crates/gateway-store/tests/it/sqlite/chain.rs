//! Every posting names the one before it, and the member the last one.

use ledger::{ChargeRule, Limits};

use crate::world::World;

#[tokio::test]
async fn a_chain_of_postings_that_is_broken_is_found_and_ends_a_statement() {
    let world = World::sqlite().await;
    let (member, key) = world.member("ann", 1000, Limits::default()).await;
    for amount in 1..=3 {
        let hold = world.hold(&key, amount).await.unwrap();
        world.end(&hold, ChargeRule::Answered).await;
    }
    let lines = world.store.statement(member, i64::MAX, 10).await.unwrap();
    assert_eq!(lines.len(), 4);
    world.check().await;
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
        world.damage(sql);
        let check = world.store.check_ledger().await.unwrap();
        let figures: Vec<&str> = check.findings.iter().map(|found| &*found.figure).collect();
        assert_eq!(figures, [figure], "{sql}");
        assert_eq!(world.store.statement(member, i64::MAX, 10).await.unwrap().len(), left, "{sql}");
        world.damage(undo);
        world.check().await;
    }
    // One that names itself is not followed without end.
    world.damage("UPDATE postings SET previous = 4 WHERE id = 4");
    assert!(world.store.statement(member, 3, 10).await.unwrap().len() < 4);
    assert_eq!(world.store.statement(member, 0, 10).await.unwrap(), []);
}
