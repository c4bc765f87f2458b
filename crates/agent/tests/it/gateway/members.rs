//! Members made, listed, changed, and what they have.

use std::time::{SystemTime, UNIX_EPOCH};

use agent_test_support::clock::MovableClock;

use super::{Fixture, Served, settings};

#[test]
fn a_member_is_created_with_credit_and_shown() {
    let fixture = Fixture::new();
    let runs = [
        fixture.transcript(["member", "list"]),
        fixture.transcript(["member", "create", "alice", "--credit", "12.5"]),
        fixture.transcript(["member", "create", "bob"]),
        fixture.transcript(["member", "list"]),
        fixture.transcript(["member", "show", "alice"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn members_are_found_by_name_and_id() {
    let fixture = Fixture::new();
    fixture.alice();
    for word in ["alice", "mem_1"] {
        let member = fixture.json(["member", "show", word]);
        assert_eq!((&member["id"], &member["name"]), (&"mem_1".into(), &"alice".into()));
        assert_eq!(member["balance_micros"], 10_000_000);
        assert_eq!(member["keys"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn transfers_have_a_reason_and_are_shown_in_both_units() {
    let fixture = Fixture::new();
    fixture.alice();
    let runs = [
        fixture.transcript(["member", "top-up", "alice", "0.000001", "--reason", "a gift"]),
        fixture.transcript(["member", "top-up", "alice", "5", "--micros", "--reason", "another"]),
        fixture.transcript(["member", "adjust", "alice", "-2.5", "--reason", "paid twice"]),
        fixture.transcript(["member", "adjust", "alice", "+1", "--reason", "outage"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    assert_eq!(fixture.json(["member", "show", "alice"])["balance_micros"], 8_500_006);
}

#[test]
fn a_transfer_with_a_reference_is_executed_once() {
    let fixture = Fixture::new();
    fixture.alice();
    let top_up = |amount: &str, reason: &str| {
        let [of, word] = ["--reference", "invoice 17"];
        fixture.json(["member", "top-up", "alice", amount, "--reason", reason, of, word])
    };
    let first = top_up("5", "paid");
    assert_eq!((&first["replayed"], &first["balance_micros"]), (&false.into(), &15_000_000.into()));
    assert_eq!(first["reference"], "invoice 17");
    let mut again = top_up("5", "paid");
    assert_eq!(again["replayed"], true);
    again["replayed"] = false.into();
    assert_eq!(again, first);
    let long = "x".repeat(201);
    for (amount, reference, code, said) in [
        ("6", "invoice 17", 1, "used before, with another kind and another amount"),
        ("5", "", 2, "1 to 200 characters on one line"),
        ("5", "a\tb", 2, "1 to 200 characters on one line"),
        ("5", long.as_str(), 2, "1 to 200 characters on one line"),
    ] {
        let of = "--reference";
        let words = ["member", "adjust", "alice", amount, "--reason", "paid", of, reference];
        let run = fixture.run(words);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert_eq!(fixture.json(["member", "show", "alice"])["balance_micros"], 15_000_000);
}

#[test]
fn invalid_member_changes_are_rejected_without_effect() {
    let fixture = Fixture::new();
    fixture.alice();
    let runs = [
        fixture.transcript(["member", "create", "alice"]),
        fixture.transcript(["member", "create", "mem_7"]),
        fixture.transcript(["member", "create", " "]),
        fixture.transcript(["member", "create", "bob", "--credit", "-1"]),
        fixture.transcript(["member", "show", "alcie"]),
        fixture.transcript(["member", "show", "mem_9"]),
        fixture.transcript(["member", "top-up", "alice", "1.0000001", "--reason", "x"]),
        fixture.transcript(["member", "top-up", "alice", "0", "--reason", "x"]),
        fixture.transcript(["member", "top-up", "alice", "1", "--reason", " "]),
        fixture.transcript(["member", "top-up", "alice", "9223372036854", "--reason", "x"]),
        fixture.transcript(["member", "adjust", "alice", "-10.000001", "--reason", "x"]),
        fixture.transcript(["member", "adjust", "alice", "0", "--reason", "x"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let members = fixture.json(["member", "list"]);
    assert_eq!(members["members"].as_array().unwrap().len(), 1);
    assert_eq!(members["members"][0]["balance_micros"], 10_000_000);
}

#[test]
fn a_member_is_renamed_blocked_and_unblocked() {
    let fixture = Fixture::new();
    fixture.alice();
    assert_eq!(fixture.run(["member", "create", "bob"]).code, 0);
    let runs = [
        fixture.transcript(["member", "rename", "alice", "Alice Ltd"]),
        fixture.transcript(["member", "rename", "bob", "Alice Ltd"]),
        fixture.transcript(["member", "block", "Alice Ltd"]),
        fixture.transcript(["member", "list"]),
        fixture.transcript(["member", "unblock", "mem_1"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    assert_eq!(fixture.json(["member", "show", "mem_1"])["blocked"], false);
}

#[test]
fn member_lists_are_paged() {
    let fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        assert_eq!(fixture.run(["member", "create", name]).code, 0);
    }
    let first = fixture.run(["member", "list", "--limit", "2"]);
    assert!(first.stderr.contains("`--after mem_2`"), "{first:?}");
    let rest = fixture.json(["member", "list", "--after", "mem_2"]);
    assert_eq!(rest["members"][0]["name"], "c");
    assert_eq!(rest["members"].as_array().unwrap().len(), 1);
}

#[test]
fn budgets_are_set_shown_and_removed() {
    let fixture = Fixture::new();
    fixture.alice();
    let set = fixture.json(["member", "budget", "alice", "20/month"]);
    let budget = serde_json::json!({"amount_micros": 20_000_000, "period": "month"});
    assert_eq!(set["budget"], budget);
    let shown = fixture.json(["member", "show", "alice"]);
    assert_eq!(shown["budget"]["left_micros"], 20_000_000);
    assert!(shown["budget"]["resets_at"].as_str().unwrap().ends_with("-01T00:00:00Z"));
    let key = shown["keys"][0]["id"].as_str().unwrap().to_owned();
    fixture.json(["key", "change", &key, "--budget", "500000/day", "--micros"]);
    let text = fixture.run(["key", "show", &key]).stdout;
    assert!(text.contains("0.5 of 0.5 credits left this day, resets "), "{text}");
    assert!(fixture.run(["key", "list", "alice"]).stdout.contains("0.5/day"));
    for wrong in ["20", "20/year", "x/day", "-1/day", "/day"] {
        let refused = fixture.run(["member", "budget", "alice", wrong]);
        assert_eq!(refused.code, 2, "{wrong}: {}", refused.stderr);
    }
    fixture.json(["key", "change", &key, "--budget", "none"]);
    let removed = fixture.json(["member", "budget", "alice", "none"]);
    assert_eq!(removed["budget"], serde_json::Value::Null);
    assert_eq!(fixture.json(["key", "show", &key])["budget"], serde_json::Value::Null);
}

#[test]
fn an_exhausted_budget_resets_on_the_next_day() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let clock = MovableClock::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    // Noon, so that no day ends while the test runs.
    let noon = 43_200 - i64::try_from(now % 86_400).unwrap();
    clock.set(noon);
    let served = Served::start(fixture.command(["serve"]).envs(clock.variables()));
    let chat = || served.chat(&key, "test/echo");
    let micros = |value: &serde_json::Value| value.as_i64().unwrap();
    let available = || micros(&fixture.json(["member", "show", "alice"])["available_micros"]);
    let before = available();
    assert_eq!(chat().0, 200);
    let price = before - available();
    let budget = format!("{}/day", 3 * price);
    fixture.json(["member", "budget", "alice", &budget, "--micros"]);
    let left = micros(&fixture.json(["member", "show", "alice"])["budget"]["left_micros"]);
    for _ in 0..left / price {
        assert_eq!(chat().0, 200);
    }
    let spent = available();
    let (status, body) = chat();
    assert_eq!(status, 402, "{body}");
    assert!(body.contains("budget_reached"), "{body}");
    clock.set(noon + 86_400);
    assert_eq!(chat().0, 200);
    assert_eq!(available(), spent - price);
}

#[test]
fn a_team_is_created_funded_joined_and_removed() {
    let fixture = Fixture::new();
    fixture.alice();
    let runs = [
        fixture.transcript(["team", "list"]),
        fixture.transcript(["team", "create", "crew", "--credit", "5"]),
        fixture.transcript(["team", "create", "alice"]),
        fixture.transcript(["team", "show", "crew"]),
        fixture.transcript(["member", "role", "alice", "manager"]),
        fixture.transcript(["team", "join", "crew", "alice"]),
        fixture.transcript(["member", "role", "alice", "manager"]),
        fixture.transcript(["team", "budget", "crew", "50/month"]),
        fixture.transcript(["team", "top-up", "crew", "1", "--reason", "invoice 17"]),
        fixture.transcript(["team", "list"]),
        fixture.transcript(["team", "remove", "crew"]),
        fixture.transcript(["team", "leave", "alice"]),
        fixture.transcript(["team", "remove", "crew"]),
        fixture.transcript(["team", "adjust", "crew", "-6", "--reason", "closed"]),
        fixture.transcript(["team", "remove", "crew"]),
        fixture.transcript(["team", "list"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn team_and_member_commands_reject_each_others_names() {
    let fixture = Fixture::new();
    fixture.alice();
    assert_eq!(fixture.run(["team", "create", "crew"]).code, 0);
    for (arguments, hint) in [
        (["member", "show", "crew"], "this is a team"),
        (["member", "block", "mem_2"], "this is a team"),
        (["team", "show", "alice"], "this is a member"),
        (["team", "remove", "mem_1"], "this is a member"),
        (["team", "show", "crwe"], "did you mean `crew`?"),
        (["team", "leave", "crew"], "this is a team"),
    ] {
        let refused = fixture.run(arguments);
        assert_eq!(refused.code, 1, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(hint), "{arguments:?}: {}", refused.stderr);
    }
    assert_eq!(fixture.run(["member", "role", "alice", "king"]).code, 2);
    assert_eq!(fixture.run(["key", "create", "crew", "--name", "x"]).code, 1);
    assert_eq!(fixture.json(["team", "list"])["teams"][0]["name"], "crew");
    assert_eq!(fixture.json(["member", "list"])["members"].as_array().unwrap().len(), 1);
}

#[test]
fn a_team_pays_for_the_requests_of_a_served_member() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    assert_eq!(fixture.run(["team", "create", "crew", "--credit", "5"]).code, 0);
    let joined = fixture.json(["team", "join", "crew", "alice"]);
    assert_eq!((&joined["team"], &joined["role"]), (&"mem_2".into(), &"member".into()));
    let served = fixture.serve();
    let (status, body) = served.chat(&key, "test/echo");
    assert_eq!(status, 200, "{body}");
    let shown = fixture.json(["team", "show", "crew"]);
    assert_eq!(
        (&shown["balance_micros"], &shown["members"][0]["name"]),
        (&4_999_000.into(), &"alice".into())
    );
    let member = fixture.run(["member", "show", "alice"]).stdout;
    assert!(member.contains("crew (mem_2), which pays"), "{member}");
    let statement = fixture.json(["ledger", "statement", "crew"]);
    assert_eq!(statement["lines"][0]["asked_by"], "mem_1");
    let receipt = statement["lines"][0]["receipt"].as_str().unwrap().to_owned();
    let receipt = fixture.run(["ledger", "receipt", &receipt]).stdout;
    assert!(receipt.contains("paid by  team mem_2"), "{receipt}");
    let usage = fixture.json(["usage", "--by", "team"]);
    assert_eq!(usage["data"][0]["team"]["name"], "crew");
    let usage = fixture.json(["usage", "--team", "crew", "--by", "member"]);
    assert_eq!(usage["data"][0]["member"]["name"], "alice");
    assert_eq!(fixture.json(["ledger", "check"])["wrong"], 0);
}
