//! Searches in an index of many documents, at a fixed rate.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use memchr::memmem;
use serde_json::json;

use crate::Effort;
use crate::client::Client;
use crate::corpus::Corpus;
use crate::load::{self, Target, percentile};
use crate::message::post;
use crate::service::{Home, Service};
use crate::table::{Better, Goal, Spread, row as print};

const PER_SECOND: u32 = 50;
/// How many connections wait their turn to ask.
const CONNECTIONS: usize = 64;
/// How long is asked before it counts.
const WARM_UP: Duration = Duration::from_secs(2);
const MEMBERS: usize = 8;
const PROVIDERS: &str = "providers:\n  docs: {kind: index, folder: files, base_url: \
                         \"https://docs.example\"}\n";

/// How many answers had a result.
static FOUND: AtomicU32 = AtomicU32::new(0);

pub(crate) async fn row(effort: &Effort) {
    let count = effort.documents;
    let name = format!("index search over {count} documents, p99 at {PER_SECOND} queries/s");
    if !effort.is_wanted(&name) {
        return;
    }
    let corpus = Corpus::new();
    let mut home = Home::sqlite(PROVIDERS).await;
    home.people(MEMBERS).await;
    let text_bytes = corpus.write(&home.folder.path().join("files"), count);
    let begun = Instant::now();
    let service = Service::start(&home);
    Client::new(&service, &home).wait_for_index();
    let took = begun.elapsed().as_secs_f64();
    let index_bytes = bytes_below(&home.folder.path().join("search-index"));

    let asked = |length: Duration| {
        usize::try_from(length.as_secs() * u64::from(PER_SECOND)).expect("a small number")
    };
    let in_a_round = asked(effort.paced);
    let all = asked(WARM_UP) + in_a_round * effort.rounds;
    let mut questions = corpus.questions(1, all, count).into_iter();
    let mut next = |length: Duration| {
        let questions: Vec<String> = questions.by_ref().take(asked(length)).collect();
        target(&service, &home, &questions)
    };
    load::open_loop(&next(WARM_UP), PER_SECOND, WARM_UP, CONNECTIONS).await;
    FOUND.store(0, Ordering::Relaxed);
    let before = service.processes.cpu();
    let mut p50 = Vec::new();
    let mut p99 = Vec::new();
    for _ in 0..effort.rounds {
        let target = next(effort.paced);
        let times = load::open_loop(&target, PER_SECOND, effort.paced, CONNECTIONS).await;
        assert_eq!(times.len(), in_a_round, "every question is asked once");
        p50.push(percentile(&times, 50));
        p99.push(percentile(&times, 99));
    }
    let answers = f64::from(u32::try_from(in_a_round * effort.rounds).expect("a number"));
    let cpu = service.processes.cpu().saturating_sub(before).as_secs_f64() * 1e3 / answers;
    let found = f64::from(FOUND.load(Ordering::Relaxed)) / answers * 100.0;
    let ours = format!(
        "p50 {:.2} ms, CPU {cpu:.2} ms; {found:.0} % find something",
        Spread::new(p50).median()
    );
    let against = format!(
        "{:.0} MB of text, indexed in {took:.0} s to {:.0} MB",
        megabytes(text_bytes),
        megabytes(index_bytes)
    );
    let goal = Goal { bar: 20.0, aim: None, unit: "ms", better: Better::Lower };
    print(&name, &ours, &against, &Spread::new(p99), Some(goal));
    drop(service);
    home.check_ledger();
}

fn target(service: &Service, home: &Home, questions: &[String]) -> Target {
    let keys = home.keys.iter().cycle();
    let requests = questions.iter().zip(keys).map(|(question, key)| {
        let body = json!({"query": question}).to_string();
        post(service.address, "/v1/search", key, &body)
    });
    Target::new(service.address, requests.collect(), is_right)
}

fn is_right(body: &[u8]) -> bool {
    if memmem::find(body, b"\"url\":\"https://docs.example/").is_some() {
        FOUND.fetch_add(1, Ordering::Relaxed);
    }
    // What was answered before would be answered at once.
    memmem::find(body, b"\"object\":\"search\"").is_some()
        && memmem::find(body, b"\"cached_at\":\"").is_none()
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes_below(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

fn megabytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1000).expect("less than four terabytes")) / 1000.0
}
