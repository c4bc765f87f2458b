//! Members made, listed, changed, and what they have.

use std::time::{SystemTime, UNIX_EPOCH};

use agent_test_support::clock::MovableClock;

use super::{Ground, Served, settings};

#[test]
fn a_member_is_created_with_credit_and_shown() {
    let ground = Ground::new();
    let runs = [
        ground.transcript(["member", "list"]),
        ground.transcript(["member", "create", "alice", "--credit", "12.5"]),
        ground.transcript(["member", "create", "bob"]),
        ground.transcript(["member", "list"]),
        ground.transcript(["member", "show", "alice"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn members_are_found_by_name_and_id() {
    let ground = Ground::new();
    ground.alice();
    for word in ["alice", "mem_1"] {
        let member = ground.json(["member", "show", word]);
        assert_eq!((&member["id"], &member["name"]), (&"mem_1".into(), &"alice".into()));
        assert_eq!(member["balance_micros"], 10_000_000);
        assert_eq!(member["keys"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn transfers_have_a_reason_and_are_shown_in_both_units() {
    let ground = Ground::new();
    ground.alice();
    let runs = [
        ground.transcript(["member", "top-up", "alice", "0.000001", "--reason", "a gift"]),
        ground.transcript(["member", "top-up", "alice", "5", "--micros", "--reason", "another"]),
        ground.transcript(["member", "adjust", "alice", "-2.5", "--reason", "paid twice"]),
        ground.transcript(["member", "adjust", "alice", "+1", "--reason", "outage"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    assert_eq!(ground.json(["member", "show", "alice"])["balance_micros"], 8_500_006);
}

#[test]
fn a_transfer_with_a_reference_is_executed_once() {
    let ground = Ground::new();
    ground.alice();
    let top_up = |amount: &str, reason: &str| {
        let [of, word] = ["--reference", "invoice 17"];
        ground.json(["member", "top-up", "alice", amount, "--reason", reason, of, word])
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
        let run = ground.run(words);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert_eq!(ground.json(["member", "show", "alice"])["balance_micros"], 15_000_000);
}

#[test]
fn invalid_member_changes_are_rejected_without_effect() {
    let ground = Ground::new();
    ground.alice();
    let runs = [
        ground.transcript(["member", "create", "alice"]),
        ground.transcript(["member", "create", "mem_7"]),
        ground.transcript(["member", "create", " "]),
        ground.transcript(["member", "create", "bob", "--credit", "-1"]),
        ground.transcript(["member", "show", "alcie"]),
        ground.transcript(["member", "show", "mem_9"]),
        ground.transcript(["member", "top-up", "alice", "1.0000001", "--reason", "x"]),
        ground.transcript(["member", "top-up", "alice", "0", "--reason", "x"]),
        ground.transcript(["member", "top-up", "alice", "1", "--reason", " "]),
        ground.transcript(["member", "top-up", "alice", "9223372036854", "--reason", "x"]),
        ground.transcript(["member", "adjust", "alice", "-10.000001", "--reason", "x"]),
        ground.transcript(["member", "adjust", "alice", "0", "--reason", "x"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    let members = ground.json(["member", "list"]);
    assert_eq!(members["members"].as_array().unwrap().len(), 1);
    assert_eq!(members["members"][0]["balance_micros"], 10_000_000);
}

#[test]
fn a_member_is_renamed_blocked_and_unblocked() {
    let ground = Ground::new();
    ground.alice();
    assert_eq!(ground.run(["member", "create", "bob"]).code, 0);
    let runs = [
        ground.transcript(["member", "rename", "alice", "Alice Ltd"]),
        ground.transcript(["member", "rename", "bob", "Alice Ltd"]),
        ground.transcript(["member", "block", "Alice Ltd"]),
        ground.transcript(["member", "list"]),
        ground.transcript(["member", "unblock", "mem_1"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    assert_eq!(ground.json(["member", "show", "mem_1"])["blocked"], false);
}

#[test]
fn member_lists_are_paged() {
    let ground = Ground::new();
    for name in ["a", "b", "c"] {
        assert_eq!(ground.run(["member", "create", name]).code, 0);
    }
    let first = ground.run(["member", "list", "--limit", "2"]);
    assert!(first.stderr.contains("`--after mem_2`"), "{first:?}");
    let rest = ground.json(["member", "list", "--after", "mem_2"]);
    assert_eq!(rest["members"][0]["name"], "c");
    assert_eq!(rest["members"].as_array().unwrap().len(), 1);
}

#[test]
fn budgets_are_set_shown_and_removed() {
    let ground = Ground::new();
    ground.alice();
    let set = ground.json(["member", "budget", "alice", "20/month"]);
    let budget = serde_json::json!({"amount_micros": 20_000_000, "period": "month"});
    assert_eq!(set["budget"], budget);
    let shown = ground.json(["member", "show", "alice"]);
    assert_eq!(shown["budget"]["left_micros"], 20_000_000);
    assert!(shown["budget"]["resets_at"].as_str().unwrap().ends_with("-01T00:00:00Z"));
    let key = shown["keys"][0]["id"].as_str().unwrap().to_owned();
    ground.json(["key", "change", &key, "--budget", "500000/day", "--micros"]);
    let text = ground.run(["key", "show", &key]).stdout;
    assert!(text.contains("0.5 of 0.5 credits left this day, resets "), "{text}");
    assert!(ground.run(["key", "list", "alice"]).stdout.contains("0.5/day"));
    for wrong in ["20", "20/year", "x/day", "-1/day", "/day"] {
        let refused = ground.run(["member", "budget", "alice", wrong]);
        assert_eq!(refused.code, 2, "{wrong}: {}", refused.stderr);
    }
    ground.json(["key", "change", &key, "--budget", "none"]);
    let removed = ground.json(["member", "budget", "alice", "none"]);
    assert_eq!(removed["budget"], serde_json::Value::Null);
    assert_eq!(ground.json(["key", "show", &key])["budget"], serde_json::Value::Null);
}

#[test]
fn an_exhausted_budget_resets_on_the_next_day() {
    let ground = Ground::new();
    let key = ground.alice();
    let clock = MovableClock::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    // Noon, so that no day ends while the test runs.
    let noon = 43_200 - i64::try_from(now % 86_400).unwrap();
    clock.set(noon);
    let served = Served::start(ground.command(["serve"]).envs(clock.variables()));
    let chat = || served.chat(&key, "test/echo");
    let micros = |value: &serde_json::Value| value.as_i64().unwrap();
    let available = || micros(&ground.json(["member", "show", "alice"])["available_micros"]);
    let before = available();
    assert_eq!(chat().0, 200);
    let price = before - available();
    let budget = format!("{}/day", 3 * price);
    ground.json(["member", "budget", "alice", &budget, "--micros"]);
    let left = micros(&ground.json(["member", "show", "alice"])["budget"]["left_micros"]);
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
    let ground = Ground::new();
    ground.alice();
    let runs = [
        ground.transcript(["team", "list"]),
        ground.transcript(["team", "create", "crew", "--credit", "5"]),
        ground.transcript(["team", "create", "alice"]),
        ground.transcript(["team", "show", "crew"]),
        ground.transcript(["member", "role", "alice", "manager"]),
        ground.transcript(["team", "join", "crew", "alice"]),
        ground.transcript(["member", "role", "alice", "manager"]),
        ground.transcript(["team", "budget", "crew", "50/month"]),
        ground.transcript(["team", "top-up", "crew", "1", "--reason", "invoice 17"]),
        ground.transcript(["team", "list"]),
        ground.transcript(["team", "remove", "crew"]),
        ground.transcript(["team", "leave", "alice"]),
        ground.transcript(["team", "remove", "crew"]),
        ground.transcript(["team", "adjust", "crew", "-6", "--reason", "closed"]),
        ground.transcript(["team", "remove", "crew"]),
        ground.transcript(["team", "list"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
}

#[test]
fn team_and_member_commands_reject_each_others_names() {
    let ground = Ground::new();
    ground.alice();
    assert_eq!(ground.run(["team", "create", "crew"]).code, 0);
    for (arguments, hint) in [
        (["member", "show", "crew"], "this is a team"),
        (["member", "block", "mem_2"], "this is a team"),
        (["team", "show", "alice"], "this is a member"),
        (["team", "remove", "mem_1"], "this is a member"),
        (["team", "show", "crwe"], "did you mean `crew`?"),
        (["team", "leave", "crew"], "this is a team"),
    ] {
        let refused = ground.run(arguments);
        assert_eq!(refused.code, 1, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(hint), "{arguments:?}: {}", refused.stderr);
    }
    assert_eq!(ground.run(["member", "role", "alice", "king"]).code, 2);
    assert_eq!(ground.run(["key", "create", "crew", "--name", "x"]).code, 1);
    assert_eq!(ground.json(["team", "list"])["teams"][0]["name"], "crew");
    assert_eq!(ground.json(["member", "list"])["members"].as_array().unwrap().len(), 1);
}

#[test]
fn a_team_pays_for_the_requests_of_a_served_member() {
    let ground = Ground::new();
    let key = ground.alice();
    assert_eq!(ground.run(["team", "create", "crew", "--credit", "5"]).code, 0);
    let joined = ground.json(["team", "join", "crew", "alice"]);
    assert_eq!((&joined["team"], &joined["role"]), (&"mem_2".into(), &"member".into()));
    let served = ground.serve();
    let (status, body) = served.chat(&key, "test/echo");
    assert_eq!(status, 200, "{body}");
    let shown = ground.json(["team", "show", "crew"]);
    assert_eq!(
        (&shown["balance_micros"], &shown["members"][0]["name"]),
        (&4_999_000.into(), &"alice".into())
    );
    let member = ground.run(["member", "show", "alice"]).stdout;
    assert!(member.contains("crew (mem_2), which pays"), "{member}");
    let statement = ground.json(["ledger", "statement", "crew"]);
    assert_eq!(statement["lines"][0]["asked_by"], "mem_1");
    let receipt = statement["lines"][0]["receipt"].as_str().unwrap().to_owned();
    let receipt = ground.run(["ledger", "receipt", &receipt]).stdout;
    assert!(receipt.contains("paid by  team mem_2"), "{receipt}");
    let usage = ground.json(["usage", "--by", "team"]);
    assert_eq!(usage["data"][0]["team"]["name"], "crew");
    let usage = ground.json(["usage", "--team", "crew", "--by", "member"]);
    assert_eq!(usage["data"][0]["member"]["name"], "alice");
    assert_eq!(ground.json(["ledger", "check"])["wrong"], 0);
}
