//! What a research job takes beyond the time of its model.

use std::time::Duration;

use agent_test_support::upstream::{Responder, Step, Upstream};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::Effort;
use crate::client::Client;
use crate::corpus::Corpus;
use crate::service::{Home, Service};
use crate::table::{Better, Goal, Spread, row as print};

/// How many documents are searched.
const DOCUMENTS: usize = 2000;
const JOBS: &str = "/v1/research/jobs";

/// What one job took, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Took {
    all: f64,
    upstream: f64,
    steps: f64,
}

pub(crate) async fn row(effort: &Effort) {
    let name = "research, time per step beyond that of the model";
    if !effort.is_wanted(name) {
        return;
    }
    let upstream = Upstream::start();
    upstream.want_no_key();
    upstream.set_default(Step::Speak(Responder(scholar), Duration::ZERO));
    let corpus = Corpus::new();
    let mut home = Home::sqlite(&providers(&upstream)).await;
    home.people(1).await;
    corpus.write(&home.folder.path().join("files"), DOCUMENTS);
    let service = Service::start(&home);
    let client = Client::new(&service, &home);
    client.wait_for_index();
    let mut rounds = Vec::new();
    for round in 0..=effort.rounds {
        // Each job asks something else.
        let titles = (0..effort.jobs).map(|number| corpus.title(round * effort.jobs + number));
        let jobs: Vec<Took> = titles.map(|title| job(&client, &upstream, &title)).collect();
        rounds.push(jobs);
    }
    // The first round warms up.
    rounds.remove(0);
    let overhead = rounds.iter().map(|jobs| {
        let sum = |figure: fn(&Took) -> f64| jobs.iter().map(figure).sum::<f64>();
        (sum(|job| job.all) - sum(|job| job.upstream)) / sum(|job| job.steps)
    });
    let of_job =
        |figure: fn(&Took) -> f64| Spread::new(rounds.iter().flatten().map(figure)).median();
    let ours = format!("{:.1} ms for {:.0} steps", of_job(|job| job.all), of_job(|job| job.steps));
    let against = format!("model {:.1} ms", of_job(|job| job.upstream));
    let goal = Goal { bar: 10.0, aim: None, unit: "ms", better: Better::Lower };
    print(name, &ours, &against, &Spread::new(overhead), Some(goal));
    drop(service);
    home.check_ledger();
}

fn providers(upstream: &Upstream) -> String {
    format!(
        "providers:\n  up:\n    kind: openai\n    base_url: {}\n    \
         models: [scholar]\n    health: false\n  docs: {{kind: index, folder: files, \
         base_url: \"https://docs.example\"}}\n",
        upstream.base_url()
    )
}

/// Has a job done: its time from when it was queued, and the time the model had of it.
fn job(client: &Client, upstream: &Upstream, question: &str) -> Took {
    let before = upstream.completions().len();
    let body = json!({"query": format!("What is known of {question}?"), "depth": "quick"});
    let id = client.post(JOBS, &body).good()["id"].take();
    let path = format!("{JOBS}/{}?wait=60", id.as_str().expect("an id"));
    let job = client.get(&path).good();
    assert_eq!(job["status"], "completed", "{job:#}");
    let asked = &upstream.completions()[before..];
    let times = asked.iter().map(|seen| seen.ended.expect("it ended").duration_since(seen.came));
    let upstream = times.sum::<Duration>().as_secs_f64() * 1e3;
    let steps = job["steps"].as_array().expect("steps").len();
    Took {
        all: milliseconds(&job["finished_at"]) - milliseconds(&job["created_at"]),
        upstream,
        steps: f64::from(u32::try_from(steps).expect("a number")),
    }
}

/// Since 1970; the service writes them to the millisecond.
fn milliseconds(moment: &Value) -> f64 {
    let at = OffsetDateTime::parse(moment.as_str().expect("a moment"), &Rfc3339);
    (at.expect("a moment") - OffsetDateTime::UNIX_EPOCH).as_seconds_f64() * 1e3
}

/// A model that does what it is asked, at once.
fn scholar(prompt: &str) -> String {
    let question = prompt.lines().next().unwrap_or_default();
    if prompt.contains("short web searches") {
        let words: Vec<&str> = question.trim_end_matches('?').split(' ').skip(5).collect();
        return format!("1. {}\n2. {} more", words.join(" "), words[0]);
    }
    if let Some((_, page)) = prompt.split_once("<page>\n") {
        let lines = page.split("\n</page>").next().unwrap_or_default().split(['.', '\n']);
        let long = lines.map(str::trim).filter(|line| line.len() > 30).take(5);
        return long.map(|line| format!("\"{line}\"")).collect::<Vec<_>>().join("\n");
    }
    "# What is known\n\nIt is said more than once [1], and once more [2], and in other words [3]."
        .to_owned()
}
