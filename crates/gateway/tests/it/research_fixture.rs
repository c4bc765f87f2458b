//! A service that does research in an index of files, with a model that says what a test wants.

use std::sync::Arc;
use std::time::Duration;

use agent_test_support::upstream::{Responder, Step, Upstream};
use agent_test_support::wait::eventually;
use gateway::Service;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::site::Names;
use crate::support::{Answer, Holder, Running};

/// What a job costs.
pub(crate) const JOB_PRICE: i64 = 7000;
pub(crate) const JOBS: &str = "/v1/research/jobs";

pub(crate) const PAGES: &[(&str, &str)] = &[
    (
        "sky.md",
        "# Why the sky is blue\n\nShort waves of light are scattered more than long ones. This is \
         called Rayleigh scattering, and it makes the sky look blue by day.\n",
    ),
    (
        "dusk.md",
        "# Red skies at dusk\n\nAt dusk the light of the sun takes a longer way through the air, \
         and the blue is scattered out of it. So the sky looks red.\n",
    ),
    ("cheese.md", "# Cheese\n\nCheddar is a hard cheese that is made from the milk of cows.\n"),
];

/// All that a test of research needs.
pub(crate) struct Setup {
    pub(crate) upstream: Upstream,
    pub(crate) folder: Arc<TempDir>,
    more: String,
}

impl Setup {
    /// Three pages, and a model that does what it is asked.
    pub(crate) fn new(more: &str) -> Self {
        let upstream = Upstream::start();
        upstream.set_default(Step::Speak(Responder(scholar), Duration::ZERO));
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let setup = Self { upstream, folder, more: more.to_owned() };
        std::fs::create_dir(setup.folder.path().join("files")).unwrap();
        for (name, text) in PAGES {
            setup.file(name, text);
        }
        setup
    }

    /// Adds a page.
    pub(crate) fn file(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join("files").join(name), text).unwrap();
    }

    /// The configuration, with what a test adds to `research`.
    pub(crate) fn configuration(&self, research: &str) -> String {
        format!(
            "listen: 127.0.0.1:0\n\
             database: {{url: \"sqlite:gateway.sqlite3\", durability: process}}\n\
             providers:\n  up: {{kind: openai, base_url: \"{}\", api_key: \"{}\", \
             models: [scholar], health: false}}\n  \
             docs: {{kind: index, folder: files, rescan: 0.05, \
             base_url: \"https://docs.example\"}}\n\
             prices: {{default_micros: {{research: {JOB_PRICE}}}}}\n\
             research: {{quick: {{queries: 3, pages: 2}}{research}}}\n{}",
            self.upstream.base_url(),
            self.upstream.key(),
            self.more,
        )
    }

    /// Starts the service, and waits until its pages can be found.
    pub(crate) fn start(&self, research: &str) -> Running {
        self.start_with(research, Names::new(&[]))
    }

    pub(crate) fn start_with(&self, research: &str, names: Arc<Names>) -> Running {
        let told = move |service: &Service| service.resolve_pages_with(names);
        let text = self.configuration(research);
        let service = Running::start_after(self.folder.clone(), &text, told);
        let reader = service.holder(&format!("reader {}", service.address), 1_000_000);
        eventually("pages are found", || {
            let found =
                service.post("/v1/search", reader.key.as_str(), &json!({"query": "cheese"}));
            found.status == 200 && found.json()["results"].as_array().unwrap().len() == 1
        });
        service
    }

    /// A service and a member who can pay for many jobs.
    pub(crate) fn ready(&self, research: &str) -> (Running, Holder) {
        let service = self.start(research);
        let ada = service.holder("ada", 1000 * JOB_PRICE);
        (service, ada)
    }
}

/// A quick job about the sky.
pub(crate) fn question() -> Value {
    json!({"query": "Why is the sky blue?", "depth": "quick"})
}

/// Starts a job; its id.
#[track_caller]
pub(crate) fn started(service: &Running, holder: &Holder, body: &Value) -> String {
    let answer = service.post(JOBS, holder.key.as_str(), body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// The current state of a job.
pub(crate) fn look(service: &Running, holder: &Holder, id: &str) -> Value {
    service.get(&format!("{JOBS}/{id}"), holder.key.as_str()).good()
}

/// A job as it ended.
#[track_caller]
pub(crate) fn ended(service: &Running, holder: &Holder, id: &str) -> Value {
    let mut job = Value::Null;
    eventually("the job ends", || {
        job = service.get(&format!("{JOBS}/{id}?wait=5"), holder.key.as_str()).good();
        !matches!(job["status"].as_str(), Some("queued" | "running"))
    });
    job
}

/// What a member of [`World::ready`] has paid, once nothing is held; the books must add up.
pub(crate) fn paid(service: &Running, holder: &Holder) -> i64 {
    eventually("nothing is held", || service.account(holder.member).held.get() == 0);
    service.check_ledger();
    1000 * JOB_PRICE - service.account(holder.member).balance.get()
}

/// All events after this one, once the job has ended: number, name, data.
pub(crate) fn events(
    service: &Running,
    holder: &Holder,
    id: &str,
    query: &str,
) -> Vec<(i64, String, Value)> {
    let answer = service.get(&format!("{JOBS}/{id}/events{query}"), holder.key.as_str());
    assert_eq!(answer.header("content-type"), "text/event-stream");
    read_events(&answer)
}

pub(crate) fn read_events(answer: &Answer) -> Vec<(i64, String, Value)> {
    let frames = answer.text().split("\n\n").filter(|frame| frame.starts_with("id: "));
    let event = |frame: &str| {
        let field =
            |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        let data: Value = serde_json::from_str(&field("data: ")).unwrap();
        assert_eq!(data["type"], field("event: ").as_str());
        (field("id: ").parse().unwrap(), field("event: "), data)
    };
    frames.map(event).collect()
}

/// Every number in brackets of a report.
pub(crate) fn cited(report: &str) -> Vec<usize> {
    let parts = report.split('[').skip(1).filter_map(|part| part.split_once(']'));
    parts.filter_map(|(inside, _)| inside.trim().parse().ok()).collect()
}

/// That a job has a report whose every number is a source.
#[track_caller]
pub(crate) fn assert_sound(job: &Value) {
    assert_eq!(job["status"], "completed", "{job:#}");
    let report = job["report"]["markdown"].as_str().unwrap();
    let sources = job["sources"].as_array().unwrap();
    assert!(!sources.is_empty(), "{job:#}");
    let numbers = cited(report);
    assert!(!numbers.is_empty(), "{report}");
    assert!(numbers.iter().all(|number| (1..=sources.len()).contains(number)), "{report}");
    for (number, source) in (1..).zip(sources) {
        assert_eq!(source["n"], number);
        assert_eq!(source["sha256"].as_str().unwrap().len(), 64);
        assert!(source["fetched_at"].as_str().unwrap().ends_with('Z'));
        let url = source["url"].as_str().unwrap();
        assert!(url.starts_with("https://docs.example/") && report.contains(url), "{report}");
    }
}

/// A model that does what it is asked.
pub(crate) fn scholar(prompt: &str) -> String {
    if prompt.contains("short web searches") {
        return "1. rayleigh scattering sky\n2. red sky at dusk".to_owned();
    }
    if let Some((_, page)) = prompt.split_once("<page>\n") {
        let lines = page.split("\n</page>").next().unwrap().split(['.', '\n']);
        let long = lines.map(str::trim).filter(|line| line.len() > 30);
        return long.map(|line| format!("\"{line}\"")).collect::<Vec<_>>().join("\n");
    }
    "# The sky\n\nThe sky is blue because short waves are scattered more than long ones [1]. At \
     dusk it is red, since the light takes a longer way [2], as [9] says."
        .to_owned()
}
