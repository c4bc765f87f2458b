//! Usage by day, member, key, operation and model.

use std::sync::Arc;

use gateway_store::{Key, UsageCounts, UsageDimension as By, UsageLine, UsageQuery};
use ledger::{ChargeRule, Limits, MemberId, Micros, TokenCounts};

use crate::test_database::{DAY, TestDatabase, actor, closing, new_hold, new_key};

/// A request of this price, operation and model, with 3 and 5 tokens.
async fn request(db: &TestDatabase, key: &Key, price: i64, operation: &'static str, model: &str) {
    let mut hold = new_hold(key, price);
    hold.request.operation = operation.into();
    hold.request.model = (!model.is_empty()).then(|| model.into());
    let hold = db.store.hold(hold).await.unwrap().unwrap();
    let mut closing = closing(&hold, ChargeRule::Answered);
    closing.end.tokens = TokenCounts { input: Some(3), output: Some(5) };
    db.store.end(closing).await.unwrap();
}

fn all(member: Option<MemberId>, by: &[By]) -> UsageQuery {
    let (from_day, to_day) = (today() - 2, today() + 2);
    UsageQuery { member, team: None, from_day, to_day, by: by.to_vec(), limit: 100 }
}

fn today() -> i32 {
    gateway_store::Clock::system().now().day()
}

async fn lines(db: &TestDatabase, query: &UsageQuery) -> Vec<UsageLine> {
    db.store.usage(query).await.unwrap()
}

/// A dimension of each line as text, its requests and its charges.
async fn summed(db: &TestDatabase, member: Option<MemberId>, by: By) -> Vec<(String, i64, i64)> {
    let text = |line: &UsageLine| match by {
        By::Day => line.day.map(|day| day.to_string()),
        By::Member => line.member.map(|member| member.to_string()),
        By::Team => line.team.map(|team| team.to_string()),
        By::Key => line.lineage.map(|lineage| lineage.0.to_string()),
        By::Operation => line.operation.clone(),
        By::Model => line.model.clone(),
        By::Provider => line.provider.clone(),
    };
    let lines = lines(db, &all(member, &[by])).await;
    let summed =
        |line: &UsageLine| (text(line).unwrap(), line.counts.requests, line.counts.charged.get());
    lines.iter().map(summed).collect()
}

fn line(name: &str, requests: i64, charged: i64) -> (String, i64, i64) {
    (name.to_owned(), requests, charged)
}

pub(crate) async fn usage_is_summed_up_by_every_dimension(db: TestDatabase) {
    let (ann, key) = db.member("ann", 1000, Limits::default()).await;
    let (bob, other) = db.member("bob", 1000, Limits::default()).await;
    let new = new_key(ann, "kmore", Limits::default());
    let second = db.store.create_key(&new, &actor()).await.unwrap();
    request(&db, &key, 10, "chat", "one/big").await;
    request(&db, &key, 10, "chat", "one/big").await;
    request(&db, &second, 7, "chat", "one/small/er").await;
    request(&db, &second, 50, "search", "").await;
    request(&db, &other, 1, "chat", "two/big").await;

    let of = |by| summed(&db, Some(ann), by);
    assert_eq!(of(By::Day).await, [line(&today().to_string(), 4, 77)]);
    assert_eq!(of(By::Operation).await, [line("search", 1, 50), line("chat", 3, 27)]);
    let models = [line("", 1, 50), line("one/big", 2, 20), line("one/small/er", 1, 7)];
    assert_eq!(of(By::Model).await, models);
    assert_eq!(of(By::Provider).await, [line("", 1, 50), line("one", 3, 27)]);
    let (first, second) = (key.lineage.0.to_string(), second.lineage.0.to_string());
    assert_eq!(of(By::Key).await, [line(&second, 2, 57), line(&first, 2, 20)]);
    assert_eq!(of(By::Member).await, [line(&ann.to_string(), 4, 77)]);

    let of = |by| summed(&db, None, by);
    assert_eq!(of(By::Day).await, [line(&today().to_string(), 5, 78)]);
    assert_eq!(of(By::Provider).await, [line("", 1, 50), line("one", 3, 27), line("two", 1, 1)]);
    let members = [line(&ann.to_string(), 4, 77), line(&bob.to_string(), 1, 1)];
    assert_eq!(of(By::Member).await, members);

    let both = lines(&db, &all(None, &[By::Operation, By::Day])).await;
    let found: Vec<_> = both.iter().map(|line| (line.operation.as_deref(), line.day)).collect();
    assert_eq!(found, [(Some("search"), Some(today())), (Some("chat"), Some(today()))]);
    let (requests, charged) = (4, Micros::new(28));
    let counts = UsageCounts { requests, input_tokens: 12, output_tokens: 20, charged };
    assert_eq!(both[1].counts, counts);
    assert_eq!(lines(&db, &all(Some(MemberId(404)), &[])).await, []);
    db.check().await;
}

pub(crate) async fn days_are_separate(db: TestDatabase) {
    let (ann, key) = db.member("ann", 1000, Limits::default()).await;
    request(&db, &key, 1, "chat", "a/b").await;
    // PostgreSQL uses its own clock.
    let yesterday = if let gateway_store::DatabaseLocation::Sqlite(_) = db.location {
        db.advance_clock(DAY);
        request(&db, &key, 2, "chat", "a/b").await;
        today()
    } else {
        for table in ["usage", "usage_totals"] {
            db.execute(&format!("UPDATE {table} SET day = day - 1"));
        }
        db.execute(&format!("UPDATE receipts SET at = at - {DAY}"));
        request(&db, &key, 2, "chat", "a/b").await;
        today() - 1
    };
    let days = [line(&yesterday.to_string(), 1, 1), line(&(yesterday + 1).to_string(), 1, 2)];
    for member in [Some(ann), None] {
        assert_eq!(summed(&db, member, By::Day).await, days);
        let only = UsageQuery { from_day: yesterday, to_day: yesterday, ..all(member, &[By::Day]) };
        assert_eq!(lines(&db, &only).await.len(), 1);
        // A range that ends before it begins is empty.
        let none = UsageQuery { from_day: yesterday + 1, to_day: yesterday, ..only };
        assert_eq!(lines(&db, &none).await, []);
        let all = UsageQuery { from_day: i32::MIN, to_day: i32::MAX, ..none };
        assert_eq!(lines(&db, &all).await.len(), 2);
    }
    db.check().await;
}

pub(crate) async fn released_holds_are_not_usage_and_free_requests_are(db: TestDatabase) {
    let (ann, key) = db.member("ann", 1000, Limits::default()).await;
    for (price, rule) in [
        (5, ChargeRule::Cancelled),
        (5, ChargeRule::UpstreamFailed),
        (0, ChargeRule::Answered),
        (5, ChargeRule::ClientLeftLate),
    ] {
        let hold = db.hold(&key, price).await.unwrap();
        db.end(&hold, rule).await;
    }
    // One lease runs out.
    db.hold(&key, 5).await.unwrap();
    db.advance_clock(2 * crate::test_database::LEASE);
    assert_eq!(db.store.expire_holds().await.unwrap(), 1);
    let query = UsageQuery { to_day: today() + 3, ..all(Some(ann), &[]) };
    let found = lines(&db, &query).await;
    let (input_tokens, charged) = (6, Micros::new(5));
    let counts = UsageCounts { requests: 2, input_tokens, output_tokens: 0, charged };
    assert_eq!(found, [UsageLine { counts, ..UsageLine::default() }]);
    db.check().await;
}

pub(crate) async fn excessive_token_counts_are_bounded(db: TestDatabase) {
    let (ann, key) = db.member("ann", 1000, Limits::default()).await;
    for _ in 0..3 {
        let hold = db.hold(&key, 1).await.unwrap();
        let mut closing = closing(&hold, ChargeRule::Answered);
        closing.end.tokens = TokenCounts { input: Some(i64::MAX), output: Some(i64::MIN) };
        db.store.end(closing).await.unwrap();
    }
    let counts = lines(&db, &all(Some(ann), &[])).await[0].counts;
    assert_eq!((counts.input_tokens, counts.output_tokens), (3_000_000_000, 0));
    db.check().await;
    db.store.rebuild_usage().await.unwrap();
    assert_eq!(lines(&db, &all(Some(ann), &[])).await[0].counts, counts);
}

pub(crate) async fn usage_is_limited_to_the_highest_charges(db: TestDatabase) {
    let (_, key) = db.member("ann", 1000, Limits::default()).await;
    for (price, model) in [(1, "a/1"), (3, "a/3"), (2, "a/2")] {
        request(&db, &key, price, "chat", model).await;
    }
    let found = lines(&db, &UsageQuery { limit: 2, ..all(None, &[By::Model]) }).await;
    let models: Vec<_> = found.iter().map(|line| line.model.as_deref()).collect();
    assert_eq!(models, [Some("a/3"), Some("a/2")]);
}

pub(crate) async fn wrong_usage_is_found_and_rebuilt(db: TestDatabase) {
    let (ann, key) = db.member("ann", 1000, Limits::default()).await;
    request(&db, &key, 10, "chat", "a/b").await;
    request(&db, &key, 0, "chat", "").await;
    let before = lines(&db, &all(Some(ann), &[By::Model])).await;
    for sql in [
        "UPDATE usage SET charged = charged + 1 WHERE model = 'a/b'",
        "UPDATE usage SET requests = requests + 1",
        "UPDATE usage_totals SET output_tokens = output_tokens - 1",
        "DELETE FROM usage",
        "DELETE FROM usage_totals",
        "UPDATE usage SET member = 404",
    ] {
        db.execute(sql);
        let check = db.store.check_ledger().await.unwrap();
        assert!(check.wrong > 0, "{sql}");
        assert!(check.findings.iter().all(|finding| finding.figure == "usage"), "{sql}");
        db.store.rebuild_usage().await.unwrap();
        db.check().await;
        assert_eq!(lines(&db, &all(Some(ann), &[By::Model])).await, before);
    }
    db.execute("UPDATE usage SET charged = charged + 1 WHERE model = 'a/b'");
    let check = db.store.check_ledger().await.unwrap();
    let finding = &check.findings[0];
    let what = format!("charged of day {}, member 1, key lineage 1", today());
    assert_eq!((&*finding.what, finding.stored, finding.added_up), (&*what, 11, 10));
}

pub(crate) async fn concurrent_handles_count_every_request(db: TestDatabase) {
    let (ann, key) = db.member("ann", 1000, Limits::default()).await;
    let (bob, other) = db.member("bob", 1000, Limits::default()).await;
    let second = Arc::new(db.another().await);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..60 {
        let store = if number % 2 == 0 { Arc::clone(&db.store) } else { Arc::clone(&second) };
        let hold = new_hold(if number % 3 == 0 { &key } else { &other }, 2);
        tasks.spawn(async move {
            let hold = store.hold(hold).await.unwrap().unwrap();
            store.end(closing(&hold, ChargeRule::Answered)).await.unwrap();
        });
    }
    tasks.join_all().await;
    for store in [&db.store, &second] {
        for (member, requests) in [(Some(ann), 20), (Some(bob), 40), (None, 60)] {
            let counts = store.usage(&all(member, &[])).await.unwrap()[0].counts;
            assert_eq!((counts.requests, counts.charged.get()), (requests, 2 * requests));
        }
    }
    db.check().await;
    second.close().await;
}
