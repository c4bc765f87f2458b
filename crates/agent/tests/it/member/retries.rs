//! `--wait`, and connections that break.

use std::time::Instant;

use agent_test_support::command::ProgramOutput;
use agent_test_support::upstream::Step;
use rustix::process::Signal;
use serde_json::Value;

use super::MemberFixture;
use super::cable::CuttableProxy;

#[test]
fn a_busy_service_is_retried_after_its_retry_after() {
    let club = MemberFixture::new();
    let served = club.serve();
    // Sixty a minute are one a second.
    let key = club.other_key(&["--rpm", "60"]);
    for _ in 0..60 {
        served.ask("GET", "/v1/me", &key, "");
    }
    let begun = Instant::now();
    let run = club.run_with(&served, &key, &["me", "--wait"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("warning: this key is limited to 60 requests per minute; retrying in")
    );
    assert!(run.stdout.contains("alice") && begun.elapsed().as_secs() < 60);
}

#[test]
fn a_retry_after_beyond_the_wait_limit_fails_immediately() {
    let club = MemberFixture::new();
    let served = club.serve();
    let key = club.other_key(&["--rpm", "1"]);
    assert_eq!(club.run_with(&served, &key, &["me"]).code, 0);
    let run = club.run_with(&served, &key, &["me", "--wait=1"]);
    assert_eq!((run.code, run.stdout.as_str()), (5, ""), "{run:?}");
    assert!(!run.stderr.contains("retrying"), "{run:?}");
    for wrong in ["--wait=0", "--wait=x", "--wait=86401", "--wait=-1"] {
        assert_eq!(club.run_with(&served, &key, &["me", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn a_retry_after_an_upstream_failure_is_charged_once() {
    let club = MemberFixture::new();
    let served = club.serve();
    club.fixture.upstream.script("paint", vec![Step::RetryAfter(503, 1)]);
    let run = club.run(&served, &["media", "run", "made/paint", "x", "--wait=20"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("retrying in"), "{run:?}");
    assert_eq!(club.balance(), 10_000_000 - 2000);
}

#[test]
fn a_lost_response_is_requested_again_and_charged_once() {
    let club = MemberFixture::new();
    let served = club.serve();
    let cable = CuttableProxy::to(&served.address);
    let commands: [(&[&str], i64); 4] = [
        (&["search", "sky"], 4000),
        (&["fetch", "https://docs.example/sky.md"], 5000),
        (&["media", "run", "made/voice", "hello"], 3000),
        (&["research", "start", "sky", "--depth", "quick", "--model", "test/echo"], 0),
    ];
    for (arguments, price) in commands {
        let before = club.balance();
        cable.lose(1);
        let run = ProgramOutput::of(&mut club.command(&cable.address, arguments), b"");
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stderr.contains("connection lost: "), "{run:?}");
        assert!(run.stderr.contains("retrying in 1 s"), "{run:?}");
        if price > 0 {
            assert_eq!(before - club.balance(), price, "{arguments:?}");
        }
    }
    let jobs = club.json(&served, &["research", "list"]);
    assert_eq!(jobs["data"].as_array().unwrap().len(), 1, "{jobs:#}");
}

#[test]
fn retries_of_broken_connections_are_limited() {
    let club = MemberFixture::new();
    let served = club.serve();
    let cable = CuttableProxy::to(&served.address);
    cable.lose(1000);
    let run = ProgramOutput::of(&mut club.command(&cable.address, &["search", "sky"]), b"");
    assert_eq!(run.code, 5, "{run:?}");
    assert_eq!(cable.made(), 6, "the first and five more");
    assert_eq!(club.balance(), 10_000_000 - 4000, "it was done, once");
}

#[test]
fn a_request_is_retried_after_the_service_was_killed() {
    let club = MemberFixture::new();
    let mut served = club.serve();
    let cable = CuttableProxy::to(&served.address);
    club.fixture.upstream.script("paint", vec![Step::Hang]);
    let words = ["media", "run", "made/paint", "x", "--json", "--wait=120"];
    let mut command = club.command(&cable.address, &words);
    let running = std::thread::spawn(move || ProgramOutput::of(&mut command, b""));
    agent_test_support::wait::eventually("it is being made", || {
        club.fixture.upstream.in_flight() == 1
    });
    served.signal(Signal::KILL);
    served.wait();
    let served = club.fixture.serve();
    cable.lead_to(&served.address);
    let run = running.join().unwrap();
    assert_eq!(run.code, 0, "{run:?}");
    let made: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(made["charge_micros"], 2000);
    assert_eq!(club.balance(), 10_000_000 - 2000);
}
