//! Skills kept, installed, put away, loaded by models and counted.

mod commands;
mod metrics;
mod projects;
mod tasks;

use std::fs;
use std::path::Path;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::upstream::{Step, Upstream};
use serde_json::{Value, json};

use crate::command_line::agent;
use crate::gateway::{Served, plain};

/// Writes a skill into a folder.
fn write_skill(folder: &Path, name: &str, description: &str, body: &str) {
    let path = folder.join(name);
    fs::create_dir_all(&path).unwrap();
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n");
    fs::write(path.join("SKILL.md"), text).unwrap();
}

/// A run without what is different in every one.
fn transcript(agent: &TestHome, run: &ProgramOutput) -> String {
    plain(agent, &run.transcript())
}

/// What every run has otherwise.
fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", "[time]");
    settings
}

/// A service on an empty home, with a model that repeats its prompt.
struct SkillFixture {
    agent: TestHome,
    upstream: Upstream,
    served: Served,
}

impl SkillFixture {
    fn new() -> Self {
        let (agent, upstream) = (agent(), Upstream::start());
        upstream.want_no_key();
        upstream.set_models(&["echo"]);
        let models = format!("ollama={}", upstream.base_url());
        let arguments = ["up", "--no-discover", "--listen", "127.0.0.1:0", "--server", &models];
        let served = Served::start(agent.command(arguments).env("USER", "me"));
        Self { agent, upstream, served }
    }

    /// Writes a skill of the home.
    fn skill(&self, name: &str, description: &str, body: &str) {
        write_skill(&self.agent.home().join("skills"), name, description, body);
    }

    /// Runs a task whose model calls `load_skill` with each of these, and then says `Done.`
    fn task(&self, calls: &[Value]) -> ProgramOutput {
        let call = |arguments: &Value| ("load_skill".to_owned(), arguments.to_string());
        let mut steps: Vec<Step> =
            calls.iter().map(|arguments| Step::Turn("", vec![call(arguments)])).collect();
        steps.push(Step::Turn("Done.", Vec::new()));
        self.upstream.script("echo", steps);
        self.run(&["run", "-m", "ollama/echo", "Review this."])
    }

    /// Runs the program against the service.
    fn run(&self, arguments: &[&str]) -> ProgramOutput {
        let mut command = self.agent.command(arguments);
        command.env("AGENT_BASE_URL", format!("http://{}/v1", self.served.address));
        ProgramOutput::of(&mut command, b"")
    }

    /// What the model was asked last.
    fn asked(&self) -> Value {
        self.upstream.completions().last().unwrap().json()
    }

    /// What the model was told that its calls gave, of the whole conversation.
    fn results(&self) -> Vec<String> {
        let asked = self.asked();
        let messages = asked["messages"].as_array().unwrap();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }

    /// What the model was told before the person spoke.
    fn opening(&self) -> String {
        let asked = self.asked();
        assert_eq!(asked["messages"][0]["role"], "system", "{asked}");
        asked["messages"][0]["content"].as_str().unwrap().to_owned()
    }

    /// The names of the tools that the model was offered.
    fn tools(&self) -> Vec<String> {
        let asked = self.asked();
        let tools = asked["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// Arguments of the tool.
fn load(name: &str) -> Value {
    json!({ "name": name })
}

/// Arguments of the tool for a further file.
fn file(name: &str, file: &str) -> Value {
    json!({ "name": name, "file": file })
}
