//! What a member does with the service: every command, against the service itself.

mod account;
mod cable;
mod hostile;
mod media;
mod research;
mod retries;
mod search_and_fetch;
mod statuses;
pub(crate) mod terminal;
mod watch;

use std::fs;
use std::process::Command;

use agent_test_support::command::ProgramOutput;
use agent_test_support::wait::eventually;
use serde_json::Value;

use crate::gateway::{Fixture, Served, settings};

/// What the one page says that can be found.
const PAGE: &str = "# Why the sky is blue\n\nThe sky is blue because short waves are scattered more \
                    than long ones. At dusk the light goes a longer way, and what is left of it is \
                    red.\n\n## Measurements\n\n- short: 400 nm\n- long: 700 nm\n";

/// A service with a member, models of every kind, and one page.
pub(crate) struct MemberFixture {
    pub(crate) fixture: Fixture,
    pub(crate) key: String,
}

impl MemberFixture {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// With this at the end of the configuration.
    pub(crate) fn with(more: &str) -> Self {
        let fixture = Fixture::bare();
        let base = fixture.upstream.base_url();
        fixture.configure(&format!(
            "  docs: {{kind: index, folder: files, base_url: \"https://docs.example\"}}\n  \
             made:\n    kind: openai\n    base_url: {base}\n    api_key: ${{UPSTREAM_KEY}}\n    \
             health: false\n    models:\n      \
             paint: {{capabilities: [image], price_micros: 2000, description: Paints its prompt}}\n      \
             voice: {{capabilities: [speech], price_micros: 3000}}\n\
             prices: {{default_micros: {{chat: 1000, search: 4000, fetch: 5000, research: 10000}}}}\n\
             research: {{workers: 1, lease_seconds: 2, quick: {{queries: 1, pages: 1}}}}\n\
             media: {{max_images: 4}}\nhold_lease_seconds: 2\n{more}"
        ));
        let folder = fixture.agent.home().join("gateway/files");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("sky.md"), PAGE).unwrap();
        assert_eq!(fixture.run(["migrate"]).code, 0);
        let key = fixture.alice();
        Self { fixture, key }
    }

    /// Starts the service and waits until the page can be found.
    pub(crate) fn serve(&self) -> Served {
        let served = self.fixture.serve();
        let key = self.other_key(&["--scopes", "models"]);
        eventually("the page is read", || {
            let (_, body) = served.ask("GET", "/v1/capabilities", &key, "");
            let able: Value = serde_json::from_str(&body).unwrap();
            let able = able["data"].as_array().unwrap().clone();
            able.iter().any(|it| it["id"] == "web_search" && it["models"][0]["usable"] == true)
        });
        served
    }

    /// Another key of the same member.
    pub(crate) fn other_key(&self, limits: &[&str]) -> String {
        let name = format!("key {}", fastrand::u32(..));
        let words = ["gateway", "key", "create", "alice", "--name", &name, "--quiet"];
        let run = self.fixture.agent.run(words.iter().chain(limits));
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout.trim().to_owned()
    }

    /// `agent …` against a service at this address.
    pub(crate) fn command(&self, address: &str, arguments: &[&str]) -> Command {
        let mut command = self.fixture.agent.command(arguments);
        command
            .env("AGENT_BASE_URL", format!("http://{address}/v1"))
            .env("AGENT_API_KEY", &self.key);
        command
    }

    /// Runs `agent …` to its end.
    pub(crate) fn run(&self, served: &Served, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::of(&mut self.command(&served.address, arguments), b"")
    }

    /// The same with another key.
    pub(crate) fn run_with(&self, served: &Served, key: &str, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::of(self.command(&served.address, arguments).env("AGENT_API_KEY", key), b"")
    }

    /// Runs `agent … --json`, which must go well.
    pub(crate) fn json(&self, served: &Served, arguments: &[&str]) -> Value {
        let run = ProgramOutput::of(self.command(&served.address, arguments).arg("--json"), b"");
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// What the member has left, in micro-credits.
    pub(crate) fn balance(&self) -> i64 {
        self.fixture.json(["member", "show", "alice"])["balance_micros"].as_i64().unwrap()
    }
}

/// Compares runs with what is written down, without what is different in every one.
#[track_caller]
pub(crate) fn told(club: &MemberFixture, name: &str, text: &str) {
    let text = club.fixture.plain(text).replace(&club.key[..16], "[key]");
    let mut settings = settings();
    settings.add_filter(r"\bin \d+ s\b", "in [n] s");
    settings.add_filter(r"job_[0-9a-f]{32}", "[job]");
    settings.add_filter(r"run_[0-9a-f]{32}", "[run]");
    settings.add_filter(r"art_[0-9A-Za-z]+", "[artifact]");
    settings.add_filter(r"\([0-9A-Za-z]{12}\)", "([key id])");
    settings.add_filter(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[time]");
    settings.add_filter(r"\b\d+ seconds? ago\b", "[n] seconds ago");
    settings.bind(|| insta::assert_snapshot!(name, text));
}
