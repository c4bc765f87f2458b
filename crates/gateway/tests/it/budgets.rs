//! Budgets of members and keys: refusals, headers, `/v1/me`, the admin API, and several processes.

use std::time::{SystemTime, UNIX_EPOCH};

use agent_test_support::postgres::Cluster;
use agent_test_support::upstream::Upstream;
use http::Method;
use ledger::{Budget, Limits, Micros, Period};
use serde_json::{Value, json};

use crate::fixture::{chat, paid, two_in_postgres};
use crate::support::{ADMIN_TOKEN, Answer, PRICE, Running, plain};

const CHAT: &str = "/v1/chat/completions";

/// A time zone in which it is noon, so that no day ends during a test.
pub(crate) fn noon() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let hour = i64::try_from(seconds / 3600 % 24).unwrap();
    // These names have the sign of the distance to UTC reversed.
    format!("time_zone: Etc/GMT{:+}\n", hour - 12)
}

/// Lets a day pass: all times of budgets move back.
pub(crate) fn pass_a_day(service: &Running) {
    let day = 86_400_000_000_i64;
    let path = service.folder.path().join("gateway.sqlite3");
    let database = rusqlite::Connection::open(path).unwrap();
    database.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
    for (table, column) in [
        ("members", "budget_start"),
        ("lineages", "budget_start"),
        ("holds", "since"),
        ("receipts", "since"),
    ] {
        database.execute(&format!("UPDATE {table} SET {column} = {column} - {day}"), []).unwrap();
    }
}

fn budget(amount: i64, period: Period) -> Limits {
    let budget = Some(Budget { amount: Micros::new(amount), period });
    Limits { budget, ..Limits::default() }
}

fn set(service: &Running, path: &str, body: &Value) -> Answer {
    service.send(Method::PATCH, path, Some(ADMIN_TOKEN), Some(body))
}

#[test]
fn a_key_cannot_exceed_its_budget_until_it_resets() {
    let upstream = Upstream::start();
    let service = Running::start(&plain(&upstream, &["echo"], &noon()));
    let ada = service.holder("ada", 1000 * PRICE);
    let key = service.key(ada.member, budget(2 * PRICE + 1, Period::Day));
    let answer = service.post(CHAT, key.as_str(), &chat("x"));
    assert_eq!(answer.header("x-budget-limit-micros"), (2 * PRICE + 1).to_string());
    assert_eq!(answer.header("x-budget-remaining-micros"), (PRICE + 1).to_string());
    assert_eq!(answer.header("x-budget-scope"), "key");
    let resets_at = answer.header("x-budget-resets-at").to_owned();
    assert!(resets_at.ends_with(":00:00Z"), "{resets_at}");
    // A request that fails gives its price back.
    let failed = service.post(CHAT, key.as_str(), &chat("[[status-500]]"));
    assert_eq!((failed.status, failed.header("x-budget-remaining-micros")), (503, ""));
    assert_eq!(service.post(CHAT, key.as_str(), &chat("x")).status, 200);
    let refused = service.post(CHAT, key.as_str(), &chat("x"));
    assert_eq!(refused.failure(), (402, "budget_reached".to_owned()));
    let error = &refused.json()["error"];
    assert_eq!((&error["needed_micros"], &error["available_micros"]), (&json!(PRICE), &json!(1)));
    assert_eq!(error["resets_at"], resets_at);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("this key may spend per day"), "{message}");
    let me = service.get("/v1/me", key.as_str()).good();
    let expected = json!([{
        "scope": "key", "amount_micros": 2 * PRICE + 1, "period": "day",
        "used_micros": 2 * PRICE, "left_micros": 1, "resets_at": resets_at,
    }]);
    assert_eq!(me["budgets"], expected);
    assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 200, "another key");
    service.check_ledger();
    pass_a_day(&service);
    assert_eq!(service.post(CHAT, key.as_str(), &chat("x")).status, 200);
    assert_eq!(paid(&service, &ada), 4 * PRICE);
    service.check_ledger();
}

#[test]
fn operators_set_and_remove_budgets() {
    let upstream = Upstream::start();
    let service = Running::start(&plain(&upstream, &["echo"], &noon()));
    let ada = service.holder("ada", 1000 * PRICE);
    let member = format!("/admin/v1/members/{}", ada.member);
    let key = format!("/admin/v1/keys/{}", ada.key.public_id());
    let week = json!({"budget": {"amount_micros": PRICE, "period": "week"}});
    for path in [&member, &key] {
        let view = set(&service, path, &week).good();
        assert_eq!(
            (&view["budget"]["left_micros"], &view["budget"]["period"]),
            (&json!(PRICE), &json!("week"))
        );
        let none = json!({"budget": null});
        assert_eq!(set(&service, path, &none).good()["budget"], Value::Null);
        for wrong in [
            json!({"budget": {"amount_micros": -1, "period": "day"}}),
            json!({"budget": {"amount_micros": 1_000_000_000_000_001_i64, "period": "day"}}),
            json!({"budget": {"amount_micros": 1, "period": "year"}}),
            json!({"budget": {"amount_micros": 1.5, "period": "day"}}),
            json!({"budget": {"amount_micros": 1}}),
            json!({"budget": 5}),
        ] {
            let refused = set(&service, path, &wrong);
            assert_eq!(refused.failure(), (400, "invalid_request".to_owned()), "{wrong}");
        }
    }
    set(&service, &member, &week).good();
    assert_eq!(service.post(CHAT, ada.key.as_str(), &chat("x")).status, 200);
    let refused = service.post(CHAT, ada.key.as_str(), &chat("x"));
    assert_eq!(refused.failure(), (402, "budget_reached".to_owned()));
    assert!(refused.text().contains("this member may spend per week"), "{}", refused.text());
    let made = json!({"budget": {"amount_micros": 5, "period": "month"}});
    let made = service.post(&format!("{member}/keys"), ADMIN_TOKEN, &made).good();
    assert_eq!(made["budget"]["amount_micros"], 5);
    let audit = service.get("/admin/v1/audit", ADMIN_TOKEN);
    assert!(audit.text().contains("member.budget"), "{}", audit.text());
}

#[test]
fn two_processes_on_postgresql_never_exceed_one_budget() {
    let (upstream, database) = (Upstream::start(), Cluster::shared().database());
    let rest = format!("admin_token: ${{ADMIN_TOKEN}}\n{}", noon());
    let services = two_in_postgres(&upstream, &database, &rest);
    let first = &services[0];
    let ada = first.holder("ada", 1000 * PRICE);
    let key = first.key(ada.member, budget(10 * PRICE + 1, Period::Month));
    let member = format!("/admin/v1/members/{}", ada.member);
    let day = json!({"budget": {"amount_micros": 17 * PRICE, "period": "day"}});
    set(first, &member, &day).good();
    let answered: i64 = std::thread::scope(|scope| {
        let send = |number: usize| {
            let (service, key) = (&services[number % 2], key.as_str());
            scope.spawn(move || {
                let word = if number.is_multiple_of(3) { "[[status-500]]" } else { "x" };
                let answer = service.post(CHAT, key, &chat(word));
                match answer.status {
                    200 => 1,
                    402 => {
                        assert_eq!(answer.failure().1, "budget_reached");
                        0
                    }
                    status => {
                        assert_eq!(status, 503, "{}", answer.text());
                        0
                    }
                }
            })
        };
        let threads: Vec<_> = (0..60).map(send).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(answered <= 10, "{answered}");
    // Nothing is lost: the rest can be spent, through either process.
    for number in answered..10 {
        let service = &services[usize::from(number % 2 == 0)];
        assert_eq!(service.post(CHAT, key.as_str(), &chat("x")).status, 200, "{number}");
    }
    for service in &services {
        let refused = service.post(CHAT, key.as_str(), &chat("x"));
        assert_eq!(refused.failure(), (402, "budget_reached".to_owned()));
        assert_eq!(refused.json()["error"]["available_micros"], 1);
    }
    assert_eq!(paid(first, &ada), 10 * PRICE);
    first.check_ledger();
}
