//! `agent search` and `agent fetch`.

use std::process::Stdio;

use agent_test_support::command::ProgramOutput;

use super::terminal::on_terminal;
use super::{MemberFixture, PAGE, told};

#[test]
fn search_results_are_shown_with_provider_and_price() {
    let club = MemberFixture::new();
    let served = club.serve();
    let search = ["search", "why", "is", "the", "sky", "blue", "--max", "3"];
    told(&club, "search", &club.run(&served, &search).transcript());
    let again = on_terminal(&mut club.command(&served.address, &search));
    told(&club, "search_on_a_terminal_again", &again.transcript());
    let found = club.json(&served, &["search", "sky", "--recency", "year"]);
    assert_eq!(found["object"], "search");
    let nothing = club.run(&served, &["search", "zebra"]);
    told(&club, "search_without_results", &nothing.transcript());
    // The search without results is free.
    assert_eq!(club.balance(), 10_000_000 - 3 * 4000);
}

#[test]
fn search_results_are_limited_to_the_given_domains() {
    let club = MemberFixture::new();
    let served = club.serve();
    let results = |site: &[&str]| {
        let found = club.json(&served, &[&["search", "sky"], site].concat());
        found["results"].as_array().unwrap().len()
    };
    assert_eq!(results(&["--site", "docs.example", "--site", "b.example"]), 1);
    assert_eq!(results(&["--not-site", "docs.example"]), 0);
    assert_eq!(results(&["--site", "other.example"]), 0);
}

#[test]
fn invalid_searches_are_reported() {
    let club = MemberFixture::new();
    let served = club.serve();
    let long = "x".repeat(401);
    let runs: Vec<String> = [
        &["search"][..],
        &["search", " "],
        &["search", "sky", "--max", "21"],
        &["search", "sky", "--max", "-1"],
        &["search", "sky", "--recency", "decade"],
        &["search", "sky", "--site", "not a domain"],
        &["search", &long],
    ]
    .iter()
    .map(|arguments| club.run(&served, arguments).transcript())
    .collect();
    told(&club, "search_wrong", &runs.join("\n"));
    assert_eq!(club.balance(), 10_000_000);
}

#[test]
fn only_the_page_is_printed_to_stdout() {
    let club = MemberFixture::new();
    let served = club.serve();
    let fetch = ["fetch", "https://docs.example/sky.md"];
    let run = club.run(&served, &fetch);
    told(&club, "fetch", &run.transcript());
    assert_eq!(run.stdout.trim_end(), PAGE.trim_end(), "byte for byte");
    let shown = on_terminal(&mut club.command(&served.address, &fetch));
    told(&club, "fetch_on_a_terminal", &shown.transcript());
    let raw = [&fetch[..], &["--format", "markdown"]].concat();
    let shown = on_terminal(&mut club.command(&served.address, &raw));
    assert_eq!(shown.stdout.trim_end(), PAGE.trim_end(), "{shown:?}");
    let quiet = club.run(&served, &[&fetch[..], &["--quiet"]].concat());
    assert_eq!((quiet.code, &*quiet.stderr), (0, ""));
}

#[test]
fn a_partial_page_names_the_command_for_the_next_part() {
    let club = MemberFixture::new();
    let served = club.serve();
    let fetch = ["fetch", "https://docs.example/sky.md", "--max-chars", "40"];
    let run = club.run(&served, &fetch);
    told(&club, "fetch_first_part", &run.transcript());
    let next = run.stderr.split("--start ").nth(1).unwrap().lines().next().unwrap();
    let rest = ["fetch", "https://docs.example/sky.md", "--start", next];
    let rest = club.run(&served, &rest);
    assert_eq!(format!("{}{}", run.stdout, rest.stdout).trim_end(), PAGE.trim_end());
}

#[test]
fn a_forbidden_page_is_rejected_and_free() {
    let club = MemberFixture::new();
    let served = club.serve();
    let runs: Vec<String> = [
        &["fetch", "http://127.0.0.1/healthz"][..],
        &["fetch", "ftp://example.com/"],
        &["fetch", "https://docs.example/none.md"],
        &["fetch", "https://docs.example/sky.md", "--max-chars", "0"],
        &["fetch", "https://docs.example/sky.md", "--format", "pdf"],
    ]
    .iter()
    .map(|arguments| club.run(&served, arguments).transcript())
    .collect();
    told(&club, "fetch_wrong", &runs.join("\n"));
    assert_eq!(club.balance(), 10_000_000);
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let club = MemberFixture::new();
    let served = club.serve();
    for arguments in [&["search", "sky"][..], &["fetch", "https://docs.example/sky.md"], &["me"]] {
        let mut command = club.command(&served.address, arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let run = ProgramOutput::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, 0, "{arguments:?} {run:?}");
        assert!(!run.stderr.contains("error"), "{run:?}");
    }
}
