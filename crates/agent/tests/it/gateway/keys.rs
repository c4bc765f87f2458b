//! Keys made, shown once, limited, rotated and revoked.

use super::{Fixture, settings};

/// A text with the names of keys instead of their ids.
fn named(text: &str, ids: &[(&str, &str)]) -> String {
    ids.iter().fold(text.to_owned(), |text, (id, name)| text.replace(id, name))
}

fn id_of(key: &str) -> &str {
    key.strip_prefix("agk_").unwrap().split('_').next().unwrap()
}

#[test]
fn a_new_key_is_printed_alone_to_stdout_and_only_once() {
    let fixture = Fixture::new();
    fixture.alice();
    let run = fixture.run(["key", "create", "mem_1", "--name", "ci"]);
    assert_eq!(run.code, 0, "{run:?}");
    let key = run.stdout.strip_suffix('\n').unwrap();
    assert!(key.starts_with("agk_") && !key.contains('\n') && key.len() == 56, "{key}");
    assert!(!run.stderr.contains(key), "{}", run.stderr);
    let secret = &key[17..];
    for listing in [
        fixture.run(["key", "list"]),
        fixture.run(["key", "show", id_of(key)]),
        fixture.run(["audit"]),
    ] {
        assert!(listing.stdout.contains(id_of(key)), "{listing:?}");
        assert!(!listing.stdout.contains(secret), "{listing:?}");
    }
    let bytes = std::fs::read(fixture.agent.home().join("gateway/gateway.sqlite3")).unwrap();
    let wal =
        std::fs::read(fixture.agent.home().join("gateway/gateway.sqlite3-wal")).unwrap_or_default();
    for bytes in [bytes, wal] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[test]
fn a_new_key_has_the_given_options_and_configured_defaults() {
    let fixture = Fixture::new();
    fixture.configure("limits: {new_keys: {requests_per_minute: 60, concurrency: 8}}\n");
    fixture.alice();
    let made = fixture.json([
        "key", "create", "alice", "--name", "ci", "--scopes", "chat,models", "--models",
        "test/echo", "--expires", "30d", "--spend-limit", "0.5", "--rpm", "5",
    ]);
    assert_eq!(made["scopes"], serde_json::json!(["models", "chat"]));
    assert_eq!(made["models"], serde_json::json!(["test/echo"]));
    assert_eq!(made["spend_limit_micros"], 500_000);
    assert_eq!(made["requests_per_minute"], 5);
    assert_eq!(made["concurrency"], 8);
    assert!(made["key"].as_str().unwrap().starts_with("agk_"));
    let shown = fixture.json(["key", "show", made["id"].as_str().unwrap()]);
    assert_eq!(shown["key"], serde_json::Value::Null);
    assert_eq!(shown["state"], "active");
}

#[test]
fn keys_are_listed_and_shown() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let ids = [(id_of(&key), "[id]________")];
    let runs = [
        fixture.transcript(["key", "list"]),
        fixture.transcript(["key", "list", "alice"]),
        fixture.transcript(["key", "show", &key]),
    ];
    settings().bind(|| insta::assert_snapshot!(named(&runs.join("\n"), &ids)));
}

#[test]
fn invalid_key_options_are_rejected_before_creation() {
    let fixture = Fixture::new();
    fixture.alice();
    let runs = [
        fixture.transcript(["key", "create", "nobody", "--name", "x"]),
        fixture.transcript(["key", "create", "alice", "--name", " "]),
        fixture.transcript(["key", "create", "alice", "--name", "x", "--scopes", "chat,modles"]),
        fixture.transcript(["key", "create", "alice", "--name", "x", "--expires", "soon"]),
        fixture.transcript([
            "key", "create", "alice", "--name", "x", "--expires", "2020-01-01T00:00:00Z",
        ]),
        fixture.transcript(["key", "create", "alice", "--name", "x", "--rpm", "0"]),
        fixture.transcript(["key", "create", "alice", "--name", "x", "--spend-limit", "-1"]),
        fixture.transcript(["key", "show", "agk_nosuchkey000_with-a-secret-in-it"]),
        fixture.transcript(["key", "change", "nosuchkey000"]),
        fixture.transcript(["key", "rotate", "nosuchkey000", "--overlap", "1y"]),
    ];
    settings().bind(|| insta::assert_snapshot!(runs.join("\n")));
    assert_eq!(fixture.json(["key", "list"])["keys"].as_array().unwrap().len(), 1);
}

#[test]
fn unknown_models_of_a_key_get_a_warning() {
    let fixture = Fixture::new();
    fixture.alice();
    let run =
        fixture.run(["key", "create", "alice", "--name", "x", "--models", "test/later,tset/echo"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("warning: `tset/echo` is not a known model or alias"), "{run:?}");
    assert!(!run.stderr.contains("later"), "{run:?}");
}

#[test]
fn changing_a_key_keeps_its_other_settings() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let id = id_of(&key);
    let before =
        fixture.json(["key", "change", id, "--rpm", "7", "--spend-limit", "2", "--expires", "1d"]);
    assert_eq!(before["requests_per_minute"], 7);
    assert_eq!(before["name"], "laptop");
    let after = fixture
        .json(["key", "change", id, "--name", "desk", "--expires", "never", "--rpm", "none"]);
    assert_eq!(after["name"], "desk");
    assert_eq!(after["expires_at"], serde_json::Value::Null);
    assert_eq!(after["requests_per_minute"], serde_json::Value::Null);
    assert_eq!(after["spend_limit_micros"], 2_000_000);
}

#[test]
fn a_rotated_key_is_accepted_and_a_revoked_one_rejected() {
    let fixture = Fixture::new();
    let old = fixture.alice();
    let served = fixture.serve();
    assert_eq!(served.chat(&old, "test/echo").0, 200);
    let run = fixture.run(["key", "rotate", id_of(&old), "--overlap", "1h", "--quiet"]);
    let new = run.stdout.trim().to_owned();
    assert_eq!((served.chat(&old, "test/echo").0, served.chat(&new, "test/echo").0), (200, 200));
    let spent = fixture.json(["key", "show", id_of(&new)])["spent_micros"].clone();
    assert_eq!(spent, 3000, "rotating keeps the spend");
    assert_eq!(fixture.run(["key", "revoke", id_of(&new)]).code, 0);
    agent_test_support::wait::eventually("the key is worth nothing", || {
        served.chat(&new, "test/echo").0 == 401
    });
    let again = fixture.run(["key", "rotate", id_of(&new)]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("this key is revoked or expired"), "{again:?}");
    assert_eq!(fixture.json(["key", "show", id_of(&new)])["state"], "revoked");
}

#[test]
fn an_expired_key_is_not_rotated_and_an_overlap_is_capped() {
    let fixture = Fixture::new();
    let key = fixture.alice();
    let long = fixture.run(["key", "rotate", id_of(&key), "--overlap", "31d"]);
    assert_eq!(long.code, 2, "{long:?}");
    assert!(long.stderr.contains("`overlap_seconds` must be"), "{long:?}");
    let brief = fixture.run(["key", "create", "alice", "--name", "brief", "--expires", "1s"]);
    let brief = brief.stdout.trim().to_owned();
    agent_test_support::wait::eventually("it is over", || {
        fixture.json(["key", "show", id_of(&brief)])["state"] == "expired"
    });
    let run = fixture.run(["key", "rotate", id_of(&brief)]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
    assert!(run.stderr.contains("this key is revoked or expired"), "{run:?}");
    assert_eq!(fixture.json(["key", "list"])["keys"].as_array().unwrap().len(), 2);
}
