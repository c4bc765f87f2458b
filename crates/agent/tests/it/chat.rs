//! `agent chat`: a person at a terminal, or a program, and a model that is scripted.

pub(crate) mod attachments;
mod interactive;
mod mentions;
mod piped;
mod reload;
mod saved_conversations;
pub(crate) mod screen;
mod server_tasks;
mod status_commands;
mod tools;

use std::fs;
use std::process::Command;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::port;
use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;

use self::screen::Screen;
use crate::gateway::Served;
pub(super) use crate::tasks::launched as entry;

/// A home with a service, and a model server behind it.
pub(super) struct Fixture {
    pub(super) agent: TestHome,
    pub(super) upstream: Upstream,
    /// Where the service is, whenever it is up.
    address: String,
    served: Option<Served>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let upstream = Upstream::start();
        upstream.want_no_key();
        upstream.set_models(&["first", "second"]);
        let agent = TestHome::new(env!("CARGO_BIN_EXE_agent"));
        let free = port::free();
        let mut fixture = Self { agent, upstream, address: free.to_string(), served: None };
        fixture.up();
        fixture.configure("");
        fixture
    }

    /// Starts the service.
    pub(super) fn up(&mut self) {
        let server = format!("ollama={}", self.upstream.base_url());
        let mut command = self.agent.command(["up", "--no-discover", "--listen"]);
        command.args([&self.address, "--server", &server]).env("USER", "me");
        self.served = Some(Served::start(&mut command));
    }

    /// Stops the service.
    pub(super) fn down(&mut self) {
        drop(self.served.take());
    }

    /// Writes the configuration: these servers, and no tools of the service.
    pub(super) fn configure(&self, servers: &str) {
        let servers = if servers.is_empty() { " {}\n".to_owned() } else { format!("\n{servers}") };
        let text =
            format!("model: ollama/first\ntask:\n  member_tools: false\nmcp_servers:{servers}");
        fs::write(self.agent.home().join("config.yaml"), text).unwrap();
    }

    /// What the model says next.
    pub(super) fn script(&self, steps: Vec<Step>) {
        self.upstream.script("first", steps);
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.agent.command(["chat"].iter().chain(arguments));
        command.env("AGENT_BASE_URL", format!("http://{}/v1", self.address));
        command
    }

    /// A person at a terminal, who sees that something can be typed.
    pub(super) fn person(&self, arguments: &[&str]) -> Screen {
        let mut screen = Screen::start(&mut self.command(arguments));
        screen.awaits_prompt(1);
        screen
    }

    /// The same, once every server has been tried: a busy machine takes longer than a person waits.
    pub(super) fn person_with_servers(&self, arguments: &[&str]) -> Screen {
        let mut screen = self.person(arguments);
        eventually("all servers are settled", || !screen.says("/mcp").contains("connecting"));
        screen
    }

    /// With this on standard input.
    pub(super) fn piped(&self, arguments: &[&str], input: &str) -> ProgramOutput {
        ProgramOutput::of(&mut self.command(arguments), input.as_bytes())
    }

    /// What the model was sent last, as roles and texts.
    pub(super) fn last_messages(&self) -> Vec<(String, String)> {
        let requests = self.upstream.completions();
        let body = requests.last().unwrap().json();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let messages = body["messages"].as_array().unwrap().iter();
        messages.map(|message| (text(&message["role"]), text(&message["content"]))).collect()
    }

    /// A text without what is different in every run.
    pub(super) fn plain(&self, text: &str) -> String {
        let text = text.replace(&self.agent.home().display().to_string(), "[home]");
        let text = text.replace(&self.agent.work().display().to_string(), "[work]");
        text.replace(&self.address, "[address]")
    }
}

/// A turn of the model without calls.
pub(super) fn says(text: &'static str) -> Step {
    Step::Turn(text, Vec::new())
}

/// A turn of the model with one call.
pub(super) fn calls(name: &str, arguments: &serde_json::Value) -> Step {
    Step::Turn("", vec![(name.to_owned(), arguments.to_string())])
}

/// What every run has otherwise.
pub(super) fn settings() -> insta::Settings {
    let mut settings = crate::gateway::settings();
    settings.add_filter(r"\d{8}-\d{6}-[0-9a-f]{8}", "[id]");
    settings.add_filter(r"\d+ ms, ", "[time], ");
    settings.add_filter(r"\d\.\d s, ", "[time], ");
    settings.add_filter(r"(?m)  +\d+ s$", "  [since]");
    settings.add_filter(r"next attempt in \d+ s", "next attempt in [n] s");
    settings.add_filter(r"x{10,}…", "xx…");
    settings
}
