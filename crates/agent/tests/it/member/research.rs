//! `agent research`: started, listed, shown, cancelled.

use super::terminal::on_terminal;
use super::{MemberFixture, told};

const START: &[&str] =
    &["research", "start", "Why is the sky blue?", "--depth", "quick", "--model", "test/echo"];

#[test]
fn a_job_is_started_watched_and_shown() {
    let club = MemberFixture::new();
    let served = club.serve();
    let run = club.run(&served, START);
    told(&club, "research_start", &run.transcript());
    let id = run.stdout.trim().to_owned();
    told(&club, "research_watch", &club.run(&served, &["research", "watch", &id]).transcript());
    told(&club, "research_list", &club.run(&served, &["research", "list"]).transcript());
    let shown = club.run(&served, &["research", "show", &id, "-v"]);
    let mut lines: Vec<&str> = shown.stderr.lines().collect();
    lines.retain(|line| !line.starts_with("source 1"));
    assert_eq!(lines.len() + 1, shown.stderr.lines().count(), "{shown:?}");
    told(&club, "research_show_with_steps", &lines.join("\n"));
    assert!(shown.stdout.contains("## Sources\n\n1. ["), "raw Markdown: {shown:?}");
    let on = on_terminal(&mut club.command(&served.address, &["research", "show", &id]));
    told(&club, "research_show_on_a_terminal", &on.transcript());
    let job = club.json(&served, &["research", "show", &id]);
    assert_eq!((&job["status"], &job["charge_micros"]), (&"completed".into(), &10_000.into()));
    let late = club.run(&served, &["research", "cancel", &id]);
    assert_eq!(late.stdout, format!("{id} had already ended: completed\n"));
    assert_eq!(club.balance(), 10_000_000 - 10_000);
}

#[test]
fn metadata_of_a_job_is_returned() {
    let club = MemberFixture::new();
    let served = club.serve();
    let words = ["--metadata", "ticket=42", "--metadata", "who=me", "--max-sources", "1"];
    let job = club.json(&served, &[START, &words].concat());
    let expected = serde_json::json!({"ticket": 42, "who": "me"});
    assert_eq!((&job["metadata"], &job["object"]), (&expected, &"research.job".into()));
}

#[test]
fn a_job_cancelled_while_it_runs_is_charged() {
    let club = MemberFixture::new();
    let served = club.serve();
    let words = ["research", "start", "Why? [[gate]]", "--depth", "quick", "--model", "test/echo"];
    let id = club.run(&served, &words).stdout.trim().to_owned();
    agent_test_support::wait::eventually("it is worked on", || {
        club.fixture.upstream.in_flight() == 1
    });
    let running = club.run(&served, &["research", "show", &id]);
    told(&club, "research_show_running", &running.transcript());
    let run = club.run(&served, &["research", "cancel", &id]);
    told(&club, "research_cancel", &run.transcript());
    let watched = club.run(&served, &["research", "watch", &id]);
    told(&club, "research_watch_cancelled", &watched.transcript());
    assert_eq!(club.balance(), 10_000_000 - 10_000);
}

#[test]
fn invalid_research_jobs_are_reported() {
    let club = MemberFixture::new();
    let served = club.serve();
    let runs: Vec<String> = [
        &["research"][..],
        &["research", "show", "../me"],
        &["research", "show", ""],
        &["research", "watch", "job_00000000000000000000000000000000"],
        &["research", "list", "--limit", "101"],
        &["research", "list", "--after", "job_x&limit=1"],
        &["research", "start", "x", "--model", "test/ecko"],
        &["research", "start", "x", "--depth", "deeper"],
        &["research", "start", "x", "--metadata", "a"],
        &["research", "start", "x", "--webhook", "https://example.com/research-done"],
        &["research", "list"],
    ]
    .iter()
    .map(|arguments| club.run(&served, arguments).transcript())
    .collect();
    // What follows the first is the help.
    told(&club, "research_wrong", &runs[1..].join("\n"));
}

#[test]
fn job_lists_are_paged() {
    let club = MemberFixture::new();
    let served = club.serve();
    for _ in 0..3 {
        assert_eq!(club.run(&served, START).code, 0);
    }
    let run = club.run(&served, &["research", "list", "--limit", "2"]);
    let more = run.stderr.trim().strip_prefix("more jobs: agent ").unwrap().to_owned();
    let words: Vec<&str> = more.split(' ').collect();
    let rest = club.run(&served, &words);
    assert_eq!((run.stdout.lines().count(), rest.stdout.lines().count()), (5, 3), "{rest:?}");
}
