//! Research jobs whose processes are killed in the middle of their work.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_test_support::postgres::Cluster;
use agent_test_support::upstream::RecordedRequest;
use agent_test_support::wait::eventually;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Setup, StoreKind};
use crate::gateway::Served;

const JOBS: usize = 100;
const KILLS: usize = 8;
/// More than all of it takes, however slow the machine is.
const LONG: Duration = Duration::from_mins(2);

#[test]
fn a_hundred_jobs_survive_kills_of_three_postgresql_processes() {
    kill_again_and_again(&StoreKind::Postgres, (3, 2));
}

#[test]
fn a_hundred_jobs_survive_kills_of_a_sqlite_process() {
    kill_again_and_again(&StoreKind::Sqlite, (1, 4));
}

/// A service that finds one page, and asks a model three times for each job.
fn setup(books: &StoreKind, workers: usize) -> Setup {
    let database = match books {
        StoreKind::Sqlite => None,
        StoreKind::Postgres => Some(Arc::new(Cluster::start_new()).database()),
    };
    let place = database
        .as_ref()
        .map_or_else(String::new, |database| format!("database: \"{}\"\n", database.url()));
    let docs = "  docs: {kind: index, folder: files, base_url: \"https://docs.example\"}\n";
    let research = format!(
        "research: {{workers: {workers}, lease_seconds: 4, attempts: 10, \
         max_jobs_per_member: {JOBS}, quick: {{queries: 1, pages: 1}}}}\n"
    );
    let setup = Setup::with(&format!("{docs}{place}{research}"), database, 200);
    let folder = setup.fixture.agent.home().join("gateway/files");
    fs::create_dir_all(&folder).unwrap();
    let page = "The sky is blue because short waves are scattered more than long ones.\n";
    fs::write(folder.join("sky.md"), page).unwrap();
    setup
}

/// The number of the job that a question is of.
fn number(seen: &RecordedRequest) -> usize {
    let prompt = seen.json()["messages"][0]["content"].as_str().unwrap().to_owned();
    let after = prompt.split_once("sky number ").unwrap().1;
    after.split(' ').next().unwrap().parse().unwrap()
}

fn jobs(service: &Served, key: &str) -> Vec<Value> {
    let (status, body) = service.ask("GET", "/v1/research/jobs?limit=100", key, "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Value>(&body).unwrap()["data"].as_array().unwrap().clone()
}

fn is_over(job: &Value) -> bool {
    !matches!(job["status"].as_str(), Some("queued" | "running"))
}

#[expect(clippy::print_stdout, reason = "how much was done twice is part of the result")]
fn kill_again_and_again(books: &StoreKind, (processes, workers): (usize, usize)) {
    let setup = setup(books, workers);
    let mut services: Vec<Served> = (0..processes).map(|_| setup.fixture.serve()).collect();
    for service in &services {
        eventually("pages are found", || {
            let (status, body) =
                service.ask("POST", "/v1/search", &setup.key, r#"{"query": "sky"}"#);
            status == 200 && body.contains("docs.example")
        });
    }
    let before = setup.charged();
    for number in 0..JOBS {
        let query = format!("Why is the sky number {number} blue? [[slow-150]]");
        let body = json!({"query": query, "depth": "quick", "model": "test/echo"}).to_string();
        let service = &services[number % processes];
        let (status, body) = service.ask("POST", "/v1/research/jobs", &setup.key, &body);
        assert_eq!(status, 202, "{body}");
    }
    let begun = Instant::now();
    let mut kills = 0;
    loop {
        let chosen = fastrand::usize(0..processes);
        if kills < KILLS {
            let life = Duration::from_millis(fastrand::u64(300..1300));
            std::thread::sleep(life); // sleep: the moment of the kill is what is tried
            services[chosen].signal(Signal::KILL);
            services[chosen].wait();
            services[chosen] = setup.fixture.serve();
            kills += 1;
        } else {
            std::thread::sleep(Duration::from_millis(100)); // sleep: between two looks
        }
        if jobs(&services[chosen], &setup.key).iter().all(is_over) {
            break;
        }
        assert!(begun.elapsed() < LONG, "the jobs do not end");
    }
    let took = begun.elapsed();
    setup.wait_until_settled();

    // Each is completed, and charged once.
    let listed = jobs(&services[0], &setup.key);
    assert_eq!(listed.len(), JOBS);
    assert!(listed.iter().all(|job| job["status"] == "completed"), "{listed:?}");
    assert_eq!(setup.charged() - before, JOBS as u64);
    let asks: usize = listed.iter().map(|job| check_steps(&services[0], &setup, job)).sum();

    // No two worked on one at the same time, and little was done twice.
    let mut of_job: BTreeMap<usize, Vec<RecordedRequest>> = BTreeMap::new();
    for seen in setup.fixture.upstream.completions() {
        of_job.entry(number(&seen)).or_default().push(seen);
    }
    for (number, asked) in &of_job {
        for pair in asked.windows(2) {
            let ended = pair[0].ended.unwrap();
            assert!(ended <= pair[1].came, "two worked on job {number} at the same time");
        }
    }
    let asked: usize = of_job.values().map(Vec::len).sum();
    println!("{kills} kills in {took:?}: {asks} answers were needed, {} asked twice", asked - asks);
    assert!(kills > 0 && (asked - asks) * 5 < asks, "{asked} asked, {asks} needed");
}

/// That the steps of a job follow each other; how many of them asked a model.
fn check_steps(service: &Served, setup: &Setup, job: &Value) -> usize {
    let path = format!("/v1/research/jobs/{}", job["id"].as_str().unwrap());
    let (_, body) = service.ask("GET", &path, &setup.key, "");
    let job: Value = serde_json::from_str(&body).unwrap();
    let steps = job["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|step| step["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["plan", "search", "read", "note", "write", "check"], "{job:#}");
    for (number, pair) in steps.windows(2).enumerate() {
        assert_eq!(pair[0]["number"], number);
        let moment = |step: &Value, name: &str| {
            // Zeros at the end are not written.
            step[name].as_str().unwrap().trim_end_matches('Z').to_owned()
        };
        let (ended, begun) = (moment(&pair[0], "finished_at"), moment(&pair[1], "started_at"));
        assert!(ended <= begun, "{job:#}");
    }
    assert!(job["report"]["markdown"].as_str().unwrap().contains("[1]"), "{job:#}");
    kinds.iter().filter(|kind| matches!(**kind, "plan" | "note" | "write")).count()
}
