//! The member service: run, looked after, stopped.

mod alerts;
mod check;
mod databases;
mod down;
mod downloads;
mod drain;
mod import;
mod init;
mod keys;
mod ledger_commands;
mod member_api_page;
mod members;
mod parsing;
mod reload;
mod serve;
mod tools;
pub(crate) mod up;
mod usage;
mod usage_charts;
mod web_search;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use agent_test_support::command::{ProgramOutput, TestHome};
use agent_test_support::upstream::Upstream;
use agent_test_support::wait::{DEADLINE, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A home with a configuration of the service, and the provider it names.
pub(crate) struct Fixture {
    pub(crate) agent: TestHome,
    pub(crate) upstream: Upstream,
}

impl Fixture {
    /// A configuration with one provider `test`, and no database yet.
    pub(crate) fn bare() -> Self {
        let fixture =
            Self { agent: TestHome::new(env!("CARGO_BIN_EXE_agent")), upstream: Upstream::start() };
        fixture.upstream.set_models(&["echo", "gate-mid"]);
        fixture.configure("");
        fs::write(
            fixture.agent.home().join(".env"),
            format!("UPSTREAM_KEY={}\n", fixture.upstream.key()),
        )
        .unwrap();
        fixture
    }

    /// The same with a database.
    pub(crate) fn new() -> Self {
        let fixture = Self::bare();
        assert_eq!(fixture.run(["migrate"]).code, 0);
        fixture
    }

    /// Writes the configuration, with this at its end.
    pub(crate) fn configure(&self, more: &str) {
        let folder = self.agent.home().join("gateway");
        fs::create_dir_all(&folder).unwrap();
        let text = format!(
            "listen: 127.0.0.1:0\nproviders:\n  test:\n    kind: openai\n    base_url: {}\n    \
             api_key: ${{UPSTREAM_KEY}}\n    models: [echo, gate-mid]\n{more}",
            self.upstream.base_url()
        );
        fs::write(folder.join("gateway.yaml"), text).unwrap();
    }

    /// `agent gateway …`.
    pub(crate) fn command<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = self.agent.command(["gateway"].iter().chain(&arguments));
        command.env("USER", "op");
        command
    }

    /// Runs `agent gateway …` to its end.
    pub(crate) fn run<const N: usize>(&self, arguments: [&str; N]) -> ProgramOutput {
        ProgramOutput::of(&mut self.command(arguments), b"")
    }

    /// Runs `agent gateway … --json`, which must go well.
    pub(crate) fn json<const N: usize>(&self, arguments: [&str; N]) -> Value {
        let run = ProgramOutput::of(self.command(arguments).arg("--json"), b"");
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// A member with ten credits, and a key of theirs.
    pub(crate) fn alice(&self) -> String {
        let run = self.run(["member", "create", "alice", "--credit", "10"]);
        assert_eq!(run.code, 0, "{run:?}");
        let run = self.run(["key", "create", "alice", "--name", "laptop", "--quiet"]);
        assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
        run.stdout.trim().to_owned()
    }

    /// Starts the service.
    pub(crate) fn serve(&self) -> Served {
        Served::start(&mut self.command(["serve"]))
    }

    /// A text without what is different in every run.
    pub(crate) fn plain(&self, text: &str) -> String {
        plain(&self.agent, text)
    }

    /// A whole run without what is different in every one.
    pub(crate) fn transcript<const N: usize>(&self, arguments: [&str; N]) -> String {
        self.plain(&self.run(arguments).transcript())
    }
}

/// A text without the paths of this run.
pub(crate) fn plain(agent: &TestHome, text: &str) -> String {
    let home = agent.home().display().to_string();
    let work = agent.work().display().to_string();
    let text = text.replace(&home, "[home]").replace(&work, "[work]");
    // Lines to paste name the program by its path, where a shell would not find it.
    text.replace(env!("CARGO_BIN_EXE_agent"), "agent")
}

/// What every run has otherwise: times, ports, ids.
pub(crate) fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"agk_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}", "[whole key]");
    settings.add_filter(r"agk_[0-9A-Za-z]{12}_…", "[shown key]");
    settings.add_filter(r"req_[0-9a-f]{32}", "[request]");
    settings.add_filter(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?", "[time]");
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:[port]");
    settings.add_filter(r"port \d+ is in use", "port [port] is in use");
    settings.add_filter(r"\b\d+ ms\b", "[n] ms");
    settings.add_filter(r"(only partly )?confined: .*", "[confinement]");
    settings.add_filter(r"\b\d+ bytes\b", "[n] bytes");
    settings.add_filter(r"\.before-\d+", ".before-[n]");
    settings
}

/// A running service; it ends with this.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    lines: mpsc::Receiver<String>,
    /// What was said before it was ready, that line included.
    pub(crate) first_lines: Vec<String>,
}

impl Served {
    /// Starts it and waits until it says where it listens.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut first_lines = Vec::new();
        let address = loop {
            let line = lines.recv_timeout(DEADLINE);
            if line.is_err() {
                child.kill().ok();
            }
            assert!(line.is_ok(), "it never listened: {first_lines:?}");
            let line = line.unwrap();
            first_lines.push(line.clone());
            if let Some(address) = line.strip_prefix("Listening on http://") {
                break address.split(' ').next().unwrap().to_owned();
            }
        };
        Self { child, address, lines, first_lines }
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard error.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(DEADLINE).unwrap()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end; the exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let mut code = None;
        eventually("it ends", || {
            let status = self.child.try_wait().unwrap();
            code = status.and_then(|status| status.code());
            status.is_some()
        });
        code
    }

    /// Stops it and gives all that it said after it was ready.
    pub(crate) fn stop(mut self) -> (Option<i32>, Vec<String>) {
        self.signal(Signal::TERM);
        let code = self.wait();
        (code, self.lines.iter().collect())
    }

    /// Asks for something; status and body.
    pub(crate) fn ask(&self, method: &str, path: &str, key: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        send(&mut stream, (method, path), key, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, body.to_owned())
    }

    /// Has a model answer; status and body.
    pub(crate) fn chat(&self, key: &str, model: &str) -> (u16, String) {
        self.ask("POST", "/v1/chat/completions", key, &chat_body(model, false))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A request for a completion.
pub(crate) fn chat_body(model: &str, stream: bool) -> String {
    serde_json::json!({
        "model": model,
        "stream": stream,
        "messages": [{ "role": "user", "content": "hello" }],
    })
    .to_string()
}

/// Writes a request, after whose answer the connection is closed.
pub(crate) fn send(stream: &mut TcpStream, what: (&str, &str), key: &str, body: &str) {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(request(what, key, body).as_bytes()).unwrap();
}

/// A request after whose answer the connection is closed.
pub(crate) fn request((method, path): (&str, &str), key: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
