//! `agent up`: everything that is missing is made, once.

use std::fs;
use std::process::Command;

use agent_test_support::command::TestHome;
use agent_test_support::port;
use agent_test_support::upstream::Upstream;

use super::{Served, plain, settings};

/// A home without anything, and a model server that wants no key.
pub(crate) struct Machine {
    pub(crate) agent: TestHome,
    pub(super) server: Upstream,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let server = Upstream::start();
        server.want_no_key();
        server.set_models(&["echo", "shatter"]);
        Self { agent: TestHome::new(env!("CARGO_BIN_EXE_agent")), server }
    }

    pub(super) fn up(&self, arguments: &[&str]) -> Command {
        let mut command =
            self.agent.command(["up", "--no-discover", "--no-download"].iter().chain(arguments));
        command.env("USER", "me");
        command
    }

    /// With the model server where it is.
    pub(crate) fn start(&self) -> Served {
        let server = format!("ollama={}", self.server.base_url());
        Served::start(&mut self.up(&["--listen", "127.0.0.1:0", "--server", &server]))
    }

    /// Where everything of it is kept.
    pub(crate) fn home(&self) -> std::path::PathBuf {
        self.agent.home()
    }

    /// A folder for files of a test.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.agent.work()
    }

    fn env_file(&self) -> String {
        fs::read_to_string(self.agent.home().join(".env")).unwrap()
    }

    pub(crate) fn key(&self) -> String {
        self.env_file()
            .lines()
            .find_map(|line| line.strip_prefix("AGENT_API_KEY="))
            .unwrap()
            .to_owned()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let run = self.agent.run(["gateway", "--json"].iter().chain(arguments));
        assert_eq!(run.code, 0, "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// All that a start says, and no log lines in the welcome.
    fn said(&self, served: Served) -> String {
        let mut lines = served.first_lines.clone();
        let (code, rest) = served.stop();
        assert_eq!(code, Some(0));
        lines.extend(rest.into_iter().take_while(|line| !line.starts_with("Stopping")));
        let is_log = |line: &String| line.contains(" INFO ");
        let welcome = lines.iter().take_while(|line| !line.starts_with("Press Ctrl-C"));
        assert_eq!(welcome.filter(|line| is_log(line)).collect::<Vec<_>>(), [""; 0]);
        lines.retain(|line| !is_log(line));
        plain(&self.agent, &lines.join("\n"))
    }
}

#[test]
fn first_start_serves_a_charged_answer() {
    let machine = Machine::new();
    let served = machine.start();
    let key = machine.key();
    let (status, body) = served.chat(&key, "ollama/echo");
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("hello"), "{body}");
    let statement = machine.json(&["ledger", "statement", "local"]);
    assert_eq!(statement["lines"][0]["amount_micros"], -1000);
    assert_eq!(statement["lines"][1]["amount_micros"], 1_000_000_000);
    assert_eq!(statement["lines"][0]["model"], "ollama/echo");
    let said = machine.said(served);
    assert!(!said.contains(&key[17..]), "the key is not shown");
    settings().bind(|| insta::assert_snapshot!(said));
    let yaml = fs::read_to_string(machine.agent.home().join("gateway/gateway.yaml")).unwrap();
    settings().bind(|| insta::assert_snapshot!("generated_configuration", yaml));
}

#[test]
fn printed_example_commands_work() {
    let machine = Machine::new();
    let served = machine.start();
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.starts_with("Press ")) {
        lines.push(served.line());
    }
    let begin = lines.iter().position(|line| line.starts_with("Try ")).unwrap();
    let commands: Vec<&String> = lines[begin..].iter().filter(|it| it.starts_with("  ")).collect();
    assert_eq!(commands.len(), 3, "{lines:?}");
    for (command, said) in commands.into_iter().zip(["", "Say hello", "1 request"]) {
        let mut shell = Command::new("sh");
        let output =
            shell.args(["-c", command]).stdin(std::process::Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains(said), "{command}: {printed}");
    }
}

#[test]
fn a_second_start_creates_nothing() {
    let machine = Machine::new();
    drop(machine.said(machine.start()));
    let files = |machine: &Machine| {
        let read = |name: &str| fs::read(machine.agent.home().join(name)).unwrap();
        [read(".env"), read("gateway/gateway.yaml"), read("gateway/gateway.secret")]
    };
    let before = files(&machine);
    let served = machine.start();
    assert_eq!(served.chat(&machine.key(), "ollama/echo").0, 200);
    assert_eq!(machine.json(&["key", "list"])["keys"].as_array().unwrap().len(), 1);
    assert_eq!(machine.json(&["member", "list"])["members"].as_array().unwrap().len(), 1);
    let said = machine.said(served);
    assert!(!said.contains("(new)"), "{said}");
    assert_eq!(files(&machine), before);
}

#[test]
fn secret_files_are_readable_only_by_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    drop(machine.start());
    for name in [".env", "gateway/gateway.secret", "gateway/gateway.sqlite3"] {
        let mode = fs::metadata(machine.agent.home().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn without_a_model_the_service_starts_with_a_hint() {
    let machine = Machine::new();
    let served = Served::start(&mut machine.up(&["--listen", "127.0.0.1:0"]));
    let (status, body) = served.ask("GET", "/v1/models", &machine.key(), "");
    assert_eq!((status, body.contains("\"chat\"")), (200, false), "{body}");
    settings().bind(|| insta::assert_snapshot!(machine.said(served)));
}

#[test]
fn a_server_detected_later_is_used_without_editing_the_file() {
    let machine = Machine::new();
    drop(machine.said(Served::start(&mut machine.up(&["--listen", "127.0.0.1:0"]))));
    let path = machine.agent.home().join("gateway/gateway.yaml");
    let before = fs::read_to_string(&path).unwrap();
    let served = machine.start();
    assert_eq!(served.chat(&machine.key(), "ollama/echo").0, 200);
    let said = machine.said(served);
    assert!(
        said.contains("ollama is not in the configuration; it is used until the service stops."),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_key_of_another_service_is_not_overwritten() {
    let machine = Machine::new();
    fs::create_dir_all(machine.agent.home()).unwrap();
    fs::write(machine.agent.home().join(".env"), "AGENT_API_KEY=of-another\n").unwrap();
    let served = machine.start();
    let text = machine.env_file();
    let key = text.lines().find_map(|line| line.strip_prefix("AGENT_API_KEY_2=")).unwrap();
    assert_eq!(machine.key(), "of-another");
    assert_eq!(served.chat(key, "ollama/echo").0, 200);
    let said = machine.said(served);
    assert!(said.contains("the key of this one is AGENT_API_KEY_2"), "{said}");
    drop(machine.start());
    assert_eq!(machine.env_file(), text, "the second start finds it");
}

#[test]
fn a_changed_address_is_stored_for_clients_once() {
    let machine = Machine::new();
    let free = port::free().to_string();
    drop(machine.said(Served::start(&mut machine.up(&["--listen", &free]))));
    let line = format!("AGENT_BASE_URL=http://{free}/v1\n");
    assert!(machine.env_file().ends_with(&line), "{}", machine.env_file());
    let before = machine.env_file();
    let said = machine.said(Served::start(&mut machine.up(&["--listen", "127.0.0.1:0"])));
    assert!(said.contains("warning: AGENT_BASE_URL in [home]/.env is http://"), "{said}");
    assert_eq!(machine.env_file(), before);
}

#[test]
fn json_output_is_one_object() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let machine = Machine::new();
    let server = format!("ollama={}", machine.server.base_url());
    let mut child = machine
        .up(&["--json", "--listen", "127.0.0.1:0", "--server", &server])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["models"]["ollama"], serde_json::json!(["echo", "shatter"]));
    assert_eq!(
        (&ready["key_variable"], &ready["member"]),
        (&"AGENT_API_KEY".into(), &"local".into())
    );
    assert!(!line.contains(&machine.key()));
}

#[test]
fn ctrl_c_stops_the_service() {
    let machine = Machine::new();
    let mut served = machine.start();
    served.signal(rustix::process::Signal::INT);
    assert_eq!(served.wait(), Some(0));
}

#[test]
fn a_revoked_key_is_replaced() {
    let machine = Machine::new();
    drop(machine.said(machine.start()));
    let old = machine.key();
    machine.json(&["key", "revoke", &old]);
    let served = machine.start();
    let text = machine.env_file();
    let new = text.lines().find_map(|line| line.strip_prefix("AGENT_API_KEY_2=")).unwrap();
    assert_eq!((served.chat(&old, "ollama/echo").0, served.chat(new, "ollama/echo").0), (401, 200));
}

#[test]
fn an_unstorable_key_is_revoked() {
    let machine = Machine::new();
    fs::create_dir_all(machine.agent.home()).unwrap();
    let taken = (2..=100).map(|n| format!("AGENT_API_KEY_{n}=of-another\n"));
    let taken: String =
        ["AGENT_API_KEY=of-another\n".to_owned()].into_iter().chain(taken).collect();
    fs::write(machine.agent.home().join(".env"), &taken).unwrap();
    let run = agent_test_support::command::ProgramOutput::of(
        &mut machine.up(&["--listen", "127.0.0.1:0"]),
        b"",
    );
    assert_ne!(run.code, 0, "{run:?}");
    assert_eq!(machine.env_file(), taken);
    let keys = machine.json(&["key", "list", "local"])["keys"].clone();
    assert_eq!((keys.as_array().unwrap().len(), &keys[0]["state"]), (1, &"revoked".into()));
}

#[test]
fn a_port_in_use_is_reported() {
    let machine = Machine::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = agent_test_support::command::ProgramOutput::of(
        &mut machine.up(&["--listen", &address]),
        b"",
    );
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains(&format!("port {} is in use", taken.local_addr().unwrap().port())));
    assert!(run.stderr.contains("--listen"), "{run:?}");
    let run = machine.agent.run(["up", "--server", "nonsense"]);
    assert_eq!(run.code, 2, "{run:?}");
}
