//! What the service refuses, and how that is reported.

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::wait::eventually;
use serde_json::Value;

use super::{MemberFixture, told};

#[test]
fn every_rejection_has_a_hint() {
    let club = MemberFixture::new();
    let served = club.serve();
    let (rest, last) = club.key.split_at(club.key.len() - 1);
    let wrong = format!("{rest}{}", if last == "x" { "y" } else { "x" });
    let narrow = club.other_key(&["--scopes", "models,media", "--models", "test/echo"]);
    let poor = club.other_key(&["--spend-limit", "0.0035"]);
    let slow = club.other_key(&["--rpm", "1"]);
    assert_eq!(club.run_with(&served, &slow, &["me"]).code, 0);
    let run = |key: &str, arguments: &[&str]| club.run_with(&served, key, arguments).transcript();
    told(&club, "status_401", &run(&wrong, &["me"]));
    told(&club, "status_402", &run(&poor, &["search", "sky"]));
    told(&club, "status_403", &run(&narrow, &["search", "sky"]));
    told(&club, "status_403_model", &run(&narrow, &["media", "run", "made/paint", "x"]));
    told(&club, "status_404", &run(&club.key, &["research", "show", "job_0"]));
    let limited = club.run_with(&served, &slow, &["me"]);
    assert_eq!((limited.code, &*limited.stdout), (5, ""));
    assert!(
        limited
            .stderr
            .starts_with("error: this key is limited to 1 requests per minute; retry in ")
    );
    assert!(
        limited.stderr.contains("hint: retry automatically with `--wait=SECONDS`"),
        "{limited:?}"
    );
    assert_eq!(club.fixture.run(["member", "block", "alice"]).code, 0);
    // A running service notices within two seconds.
    eventually("the member is blocked", || club.run(&served, &["me"]).code != 0);
    told(&club, "status_403_member", &run(&club.key, &["me"]));
}

#[test]
fn a_temporary_upstream_failure_is_reported_and_free() {
    let club = MemberFixture::new();
    let served = club.fixture.serve();
    club.fixture.upstream.script("paint", vec![agent_test_support::upstream::Step::Status(500); 9]);
    let run = club.run(&served, &["media", "run", "made/paint", "x"]);
    told(&club, "status_503", &run.transcript());
    let json = club.run(&served, &["media", "run", "made/paint", "x", "--json"]);
    let error: Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!((json.code, &error["error"]["kind"]), (5, &"peer".into()));
    assert_eq!(club.balance(), 10_000_000);
}

#[test]
fn a_missing_key_or_service_is_reported_with_a_hint() {
    let agent = TestHome::new(env!("CARGO_BIN_EXE_agent"));
    let mut runs = String::new();
    for arguments in [&["me"][..], &["models"], &["search", "x"], &["media", "list"]] {
        let run = agent.run(arguments);
        assert_eq!(run.code, 4, "{run:?}");
        runs = run.transcript();
    }
    let mut command = agent.command(["search", "x"]);
    command.env("AGENT_API_KEY", "agk_x").env("AGENT_BASE_URL", "http://127.0.0.1:1/v1");
    let away = ProgramOutput::of(&mut command, b"");
    assert_eq!(away.code, 5, "{away:?}");
    let mut command = agent.command(["search", "x"]);
    command.env("AGENT_API_KEY", "agk_x").env("AGENT_BASE_URL", "gopher://x");
    let nowhere = ProgramOutput::of(&mut command, b"");
    let runs = [runs, away.transcript(), nowhere.transcript()].join("\n");
    let home = agent.home().display().to_string();
    insta::assert_snapshot!("no_service", runs.replace(&home, "[home]"));
}
