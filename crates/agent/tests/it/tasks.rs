//! Tasks with tools: the real program, the real service, real servers, and a model that says what
//! each test wants.

mod approvals;
mod attachments;
mod execution;
mod hostile;
mod instructions;
mod interrupts;
mod limits;
mod metrics;
#[cfg(feature = "local-model")]
mod no_tools;
mod plans_and_schemas;
mod results;
mod resumed;
mod roots;
mod server_requests;

use std::fs;
use std::process::Command;

use agent_test_support::command::ProgramOutput;
use agent_test_support::mcp::ServerCommand;
use agent_test_support::upstream::Step;
use serde_json::{Value, json};

use crate::gateway::{Fixture, Served};
use crate::mcp_config::terminal;
use crate::mcp_live::configure;

/// The model of these tasks.
pub(crate) const MODEL: &str = "test/echo";

/// A service with a member, and a home whose profile has their key.
pub(crate) struct Setup {
    pub(crate) fixture: Fixture,
    pub(crate) served: Served,
    pub(crate) key: String,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self::on("")
    }

    /// The same with this at the end of the service's configuration.
    pub(crate) fn on(more: &str) -> Self {
        let fixture = Fixture::new();
        fixture.configure(more);
        let key = fixture.alice();
        let served = fixture.serve();
        Self { fixture, served, key }
    }

    /// The same with these servers in `config.yaml`.
    pub(crate) fn with_servers(servers: &str) -> Self {
        let setup = Self::new();
        setup.configure(&format!("mcp_servers:\n{servers}"));
        setup
    }

    pub(crate) fn configure(&self, config: &str) {
        configure(&self.fixture.agent, config);
    }

    /// What the model says, turn by turn.
    pub(crate) fn script(&self, turns: Vec<Step>) {
        self.fixture.upstream.script("echo", turns);
    }

    /// `agent …`, as the member.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = self.fixture.agent.command(arguments);
        command
            .env("AGENT_BASE_URL", format!("http://{}/v1", self.served.address))
            .env("AGENT_API_KEY", &self.key);
        command
    }

    /// Runs `agent …` as the member, to its end.
    pub(crate) fn agent(&self, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::of(&mut self.command(arguments), b"")
    }

    /// Runs a task of the test's model.
    pub(crate) fn run(&self, arguments: &[&str]) -> ProgramOutput {
        self.agent(&[&["run", "--model", MODEL], arguments].concat())
    }

    /// The same for a program: the events.
    pub(crate) fn events(&self, arguments: &[&str]) -> (ProgramOutput, Vec<Value>) {
        let run = self.run(&[&["--json"], arguments].concat());
        let events = events(&run);
        (run, events)
    }

    /// What the model was sent, request by request.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.fixture.upstream.completions().iter().map(|seen| seen.json()).collect()
    }

    /// What the model was told by tools in its latest request.
    pub(crate) fn told(&self) -> Vec<String> {
        let asked = self.asked();
        let messages = asked.last().unwrap()["messages"].as_array().unwrap().clone();
        let tools = messages.into_iter().filter(|message| message["role"] == "tool");
        tools.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn file(&self, name: &str) -> String {
        fs::read_to_string(self.fixture.agent.work().join(name)).unwrap_or_default()
    }
}

/// Runs a command at a terminal where a line is typed at each question.
pub(crate) fn at_terminal(command: &mut Command, typed: &str) -> ProgramOutput {
    terminal::answering(command, typed, &[": "])
}

/// The events of a run for a program.
pub(crate) fn events(run: &ProgramOutput) -> Vec<Value> {
    run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The model calls one tool.
pub(crate) fn call(name: &str, arguments: &Value) -> Step {
    calls(&[(name, arguments)])
}

/// The model calls several tools.
pub(crate) fn calls(all: &[(&str, &Value)]) -> Step {
    let of = |(name, arguments): &(&str, &Value)| ((*name).to_owned(), arguments.to_string());
    Step::Turn("", all.iter().map(of).collect())
}

/// The model says this and is done.
pub(crate) fn say(text: &'static str) -> Step {
    Step::Turn(text, Vec::new())
}

/// A server with a few tools, under the name `notes`.
pub(crate) fn notes(more: &str) -> String {
    format!(
        "  notes:\n    command: python3\n    args: [server]\n    env: {{FIXTURE_LOG: fixture.log}}\n{more}"
    )
}

/// A task waits for this server, however slow the machine is.
pub(crate) const REQUIRED: &str = "    required: true\n";

/// The entry of a server that is started like this.
pub(crate) fn launched(name: &str, server: &ServerCommand, more: &str) -> String {
    let variables: serde_json::Map<_, _> =
        server.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let env = if variables.is_empty() {
        String::new()
    } else {
        format!("    env: {}\n", Value::Object(variables))
    };
    let (command, args) = (server.command.display(), json!(server.args));
    format!("  {name}:\n    command: {command}\n    args: {args}\n{env}{more}")
}

pub(crate) fn text(words: &str) -> Value {
    json!({"text": words})
}
