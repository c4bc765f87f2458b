//! The check of the ledger finds what was damaged behind the store's back.

use ledger::{ChargeRule, Limits, Micros};

use crate::world::World;

/// Two members, a charge each, a live hold.
async fn filled(world: &World) {
    for name in ["ann", "bob"] {
        let (_, key) = world.member(name, 1000, Limits::default()).await;
        let hold = world.hold(&key, 30).await.unwrap();
        world.end(&hold, ChargeRule::Answered).await;
        let hold = world.hold(&key, 40).await.unwrap();
        world.end(&hold, ChargeRule::Cancelled).await;
        world.hold(&key, 7).await.unwrap();
    }
}

/// What does not add up, as `figure`.
async fn found(world: &World) -> Vec<String> {
    let check = world.store.check_ledger().await.unwrap();
    assert_eq!(check.wrong, check.findings.len() as u64);
    let mut figures: Vec<_> = check.findings.into_iter().map(|finding| finding.figure).collect();
    figures.sort();
    figures.dedup();
    figures
}

pub(crate) async fn an_untouched_ledger_adds_up(world: World) {
    filled(&world).await;
    let check = world.store.check_ledger().await.unwrap();
    assert_eq!((check.members, check.postings, check.holds), (2, 4, 2));
    assert_eq!(check.members_total, Micros::new(1940));
    let mut house = check.house;
    house.sort();
    let sums = [("adjustments", 0), ("funding", -2000), ("revenue", 60)];
    let sums = sums.map(|(name, sum)| (format!("house:{name}"), Micros::new(sum)));
    // An account of the house without postings may be left out.
    house.retain(|(_, sum)| *sum != Micros::ZERO);
    assert_eq!(house, sums[1..]);
    assert_eq!((check.sum, check.wrong, check.findings.len()), (Micros::ZERO, 0, 0));
}

pub(crate) async fn each_damaged_figure_is_found(world: World) {
    filled(&world).await;
    let on_both = [
        ("balance", "UPDATE members SET balance = balance + {} WHERE name = 'ann'"),
        ("spent", "UPDATE lineages SET spent = spent + {} WHERE id = 1"),
        ("held", "UPDATE holds SET amount = amount + {} * 1000 WHERE member = 2"),
        ("balance", "UPDATE postings SET balance = balance + {} WHERE id = 1"),
    ];
    // In SQLite what is held is the sum of the live holds, and stands nowhere else.
    let on_one: &[_] = match world.place {
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
        world.damage(&sql.replace("{}", "5"));
        let figures = found(&world).await;
        assert!(figures.iter().any(|found| found == figure), "{sql}: {figures:?}");
        world.damage(&sql.replace("{}", "-5"));
        world.check().await;
    }
    // The first of them is told as it is.
    world.damage("UPDATE lineages SET spent = 31 WHERE id = 1");
    let check = world.store.check_ledger().await.unwrap();
    let finding = &check.findings[0];
    assert_eq!((finding.stored, finding.added_up, check.wrong), (31, 30, 1));
    world.damage("UPDATE lineages SET spent = 30 WHERE id = 1");
    // Money out of nothing: the sum over all accounts shows it.
    world.damage("UPDATE members SET balance = balance + 5 WHERE name = 'bob'");
    assert_ne!(found(&world).await, Vec::<String>::new());
}

pub(crate) async fn postings_and_receipts_must_agree(world: World) {
    filled(&world).await;
    let copy = "INSERT INTO postings (at, kind, member, amount, balance, hold, reason) SELECT at, \
        kind, member, amount, balance, hold, reason FROM postings WHERE kind = 'charge' AND member = 1";
    let copy = match world.place {
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
        world.damage(sql);
        assert_ne!(found(&world).await, Vec::<String>::new(), "{sql}");
        world.damage(undo);
        world.check().await;
    }
    for sql in [
        "DELETE FROM receipts WHERE charged > 0 AND member = 1",
        "DELETE FROM postings WHERE kind = 'charge' AND member = 2",
    ] {
        let before = world.store.check_ledger().await.unwrap().wrong;
        world.damage(sql);
        assert!(world.store.check_ledger().await.unwrap().wrong > before, "{sql}");
    }
}

pub(crate) async fn a_changed_audit_entry_is_found(world: World) {
    filled(&world).await;
    world.damage("UPDATE audit SET detail = '{}' WHERE id = 2");
    assert_eq!(found(&world).await, ["digest"]);
    world.damage("DELETE FROM audit WHERE id = 2");
    assert_ne!(found(&world).await, Vec::<String>::new());
}
