//! The ledger check finds changes that were made outside the store.

use ledger::{ChargeRule, Limits, Micros};

use crate::test_database::TestDatabase;

/// Two members with a charge each, and a live hold.
async fn filled(db: &TestDatabase) {
    for name in ["ann", "bob"] {
        let (_, key) = db.member(name, 1000, Limits::default()).await;
        let hold = db.hold(&key, 30).await.unwrap();
        db.end(&hold, ChargeRule::Answered).await;
        let hold = db.hold(&key, 40).await.unwrap();
        db.end(&hold, ChargeRule::Cancelled).await;
        db.hold(&key, 7).await.unwrap();
    }
}

/// The figures of all findings.
async fn found(db: &TestDatabase) -> Vec<String> {
    let check = db.store.check_ledger().await.unwrap();
    assert_eq!(check.wrong, check.findings.len() as u64);
    let mut figures: Vec<_> = check.findings.into_iter().map(|finding| finding.figure).collect();
    figures.sort();
    figures.dedup();
    figures
}

pub(crate) async fn an_intact_ledger_has_no_findings(db: TestDatabase) {
    filled(&db).await;
    let check = db.store.check_ledger().await.unwrap();
    assert_eq!((check.members, check.postings, check.holds), (2, 4, 2));
    assert_eq!(check.members_total, Micros::new(1940));
    let mut house = check.house;
    house.sort();
    let sums = [("adjustments", 0), ("funding", -2000), ("revenue", 60)];
    let sums = sums.map(|(name, sum)| (format!("house:{name}"), Micros::new(sum)));
    // A house account without postings may be missing.
    house.retain(|(_, sum)| *sum != Micros::ZERO);
    assert_eq!(house, sums[1..]);
    assert_eq!((check.sum, check.wrong, check.findings.len()), (Micros::ZERO, 0, 0));
}

pub(crate) async fn every_damaged_figure_is_found(db: TestDatabase) {
    filled(&db).await;
    let on_both = [
        ("balance", "UPDATE members SET balance = balance + {} WHERE name = 'ann'"),
        ("spent", "UPDATE lineages SET spent = spent + {} WHERE id = 1"),
        ("held", "UPDATE holds SET amount = amount + {} * 1000 WHERE member = 2"),
        ("balance", "UPDATE postings SET balance = balance + {} WHERE id = 1"),
    ];
    // SQLite does not store held amounts: they are the sum of the live holds.
    let on_one: &[_] = match db.location {
        gateway_store::DatabaseLocation::Sqlite(_) => {
            &[("lineage", "UPDATE holds SET lineage = lineage + {} WHERE member = 2")]
        }
        gateway_store::DatabaseLocation::Postgres(_) => &[
            ("held", "UPDATE members SET held = held + {} WHERE name = 'ann'"),
            ("held", "UPDATE lineages SET held = held + {} WHERE id = 1"),
            ("running", "UPDATE lineages SET running = running + {} WHERE id = 1"),
            ("held", "UPDATE holds SET amount = amount + {} WHERE member = 2"),
        ],
    };
    for (figure, sql) in on_both.iter().chain(on_one) {
        db.execute(&sql.replace("{}", "5"));
        let figures = found(&db).await;
        assert!(figures.iter().any(|found| found == figure), "{sql}: {figures:?}");
        db.execute(&sql.replace("{}", "-5"));
        db.check().await;
    }
    // The first finding has both values.
    db.execute("UPDATE lineages SET spent = 31 WHERE id = 1");
    let check = db.store.check_ledger().await.unwrap();
    let finding = &check.findings[0];
    assert_eq!((finding.stored, finding.added_up, check.wrong), (31, 30, 1));
    db.execute("UPDATE lineages SET spent = 30 WHERE id = 1");
    // A balance without a posting changes the sum over all accounts.
    db.execute("UPDATE members SET balance = balance + 5 WHERE name = 'bob'");
    assert_ne!(found(&db).await, Vec::<String>::new());
}

pub(crate) async fn postings_and_receipts_must_agree(db: TestDatabase) {
    filled(&db).await;
    let copy = "INSERT INTO postings (at, kind, member, amount, balance, hold, reason) SELECT at, \
        kind, member, amount, balance, hold, reason FROM postings WHERE kind = 'charge' AND member = 1";
    let copy = match db.location {
        gateway_store::DatabaseLocation::Sqlite(_) => copy.to_owned(),
        gateway_store::DatabaseLocation::Postgres(_) => {
            copy.replace("kind, member", "kind, house, member").replace("at, house", "at")
        }
    };
    for (sql, undo) in [
        (
            "UPDATE receipts SET charged = charged + 5 WHERE charged > 0 AND member = 1",
            "UPDATE receipts SET charged = charged - 5 WHERE charged > 0 AND member = 1",
        ),
        (
            "UPDATE receipts SET member = 2 WHERE lineage = 1",
            "UPDATE receipts SET member = 1 WHERE lineage = 1",
        ),
        (copy.as_str(), "DELETE FROM postings WHERE id = (SELECT max(id) FROM postings)"),
        (
            "UPDATE postings SET amount = amount - 5 WHERE kind = 'charge' AND member = 1",
            "UPDATE postings SET amount = amount + 5 WHERE kind = 'charge' AND member = 1",
        ),
        (
            "UPDATE postings SET member = 404 WHERE kind = 'charge' AND member = 1",
            "UPDATE postings SET member = 1 WHERE member = 404",
        ),
    ] {
        db.execute(sql);
        assert_ne!(found(&db).await, Vec::<String>::new(), "{sql}");
        db.execute(undo);
        db.check().await;
    }
    for sql in [
        "DELETE FROM receipts WHERE charged > 0 AND member = 1",
        "DELETE FROM postings WHERE kind = 'charge' AND member = 2",
    ] {
        let before = db.store.check_ledger().await.unwrap().wrong;
        db.execute(sql);
        assert!(db.store.check_ledger().await.unwrap().wrong > before, "{sql}");
    }
}

pub(crate) async fn changed_audit_entries_are_found(db: TestDatabase) {
    filled(&db).await;
    db.execute("UPDATE audit SET detail = '{}' WHERE id = 2");
    assert_eq!(found(&db).await, ["digest"]);
    db.execute("DELETE FROM audit WHERE id = 2");
    assert_ne!(found(&db).await, Vec::<String>::new());
}
