//! Whole outputs of the commands at terminals of 80 and 40 columns, in the order in which a new
//! user may try them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use agent_test_support::command::TestHome;
use tempfile::TempDir;

use crate::gateway::up::Machine;
use crate::gateway::{plain, settings};
use crate::mcp_live::{SERVER, UNSTEADY, configure};
use crate::terminal::{Terminal, text};

const COMMANDS: &[&str] = &[
    "agent",
    "agent me",
    "agent models",
    "agent models local",
    "agent models remove none",
    "agent run 'Say hello'",
    "agent run --model none/such hello",
    "agent usage",
    "agent chat --list",
    "agent search documents",
    "agent search nothingofthekind",
    "agent fetch http://127.0.0.1:1/",
    "agent research list",
    "agent research show job_none",
    "agent media list",
    "agent media run none/image 'A house'",
    "agent mcp list",
    "agent mcp list --no-connect",
    "agent mcp tools notes",
    "agent mcp call notes/echo --arg text=hello",
    "agent mcp call notes/none",
    "agent mcp test notes",
    "agent mcp test broken",
    "agent mcp doctor",
    "agent mcp status",
    "agent mcp add notes --url https://example.com/mcp",
    "agent mcp login notes",
    "agent skills list",
    "agent skills show none",
    "agent skills path",
    "agent gateway check --offline",
    "agent gateway member create bob --credit 10",
    "agent gateway member create bob",
    "agent gateway member list",
    "agent gateway member show bob",
    "agent gateway member top-up bob 5 --reason 'invoice 7'",
    "agent gateway member block bob",
    "agent gateway key create bob --name laptop",
    "agent gateway key list",
    "agent gateway ledger statement bob",
    "agent gateway ledger check",
    "agent gateway usage",
    "agent gateway provider list",
    "agent gateway audit",
    "agent gateway backup backup.sqlite3",
    "agent metrics status",
    "agent metrics view",
    "agent metrics on",
    "agent metrics show",
    "agent metrics off",
    "agent models pull none",
    "agent models add none.gguf",
    "agent research watch job_none",
    "agent research cancel job_none",
    "agent media download art_none",
    "agent mcp import --dry-run",
    "agent mcp project",
    "agent mcp install agent://mcp/install",
    "agent mcp disable notes",
    "agent mcp enable notes",
    "agent mcp approvals",
    "agent mcp logout notes",
    "agent mcp client-document --url http://example.com/agent.json",
    "agent mcp remove broken --yes",
    "agent mcp add far --url https://example.com/mcp --disabled",
    "agent mcp set far timeout=60",
    "agent mcp link far",
    "agent mcp logs far",
    "agent mcp register-links --remove",
    "agent mcp tasks list",
    "agent mcp tasks result none",
    "agent mcp tasks cancel none",
    "agent mcp secrets move --to file",
    "agent skills install none",
    "agent skills archive none",
    "agent skills restore none",
    "agent gateway init --member carol",
    "agent gateway reload",
    "agent gateway import litellm none.yaml",
    "agent gateway migrate",
    "agent gateway member unblock bob",
    "agent gateway member rename bob robert",
    "agent gateway member budget robert 20/month",
    "agent gateway member role robert manager",
    "agent gateway member adjust robert -2.5 --reason 'paid twice'",
    "agent gateway team create research --credit 100",
    "agent gateway team join research robert",
    "agent gateway team budget research 50/month",
    "agent gateway team top-up research 100 --reason 'invoice 17'",
    "agent gateway team adjust research -100 --reason 'paid back'",
    "agent gateway team list",
    "agent gateway team show research",
    "agent gateway team leave robert",
    "agent gateway team remove research",
    "agent gateway key show $KEY",
    "agent gateway key change $KEY --rpm 120",
    "agent gateway key rotate $KEY --overlap 24h",
    "agent gateway key revoke $KEY",
    "agent gateway ledger receipt req_019876543210abcdef0123456789abcd",
    "agent gateway provider test ollama",
    "agent gateway downloads publish --version 1.0.0",
    "agent gateway downloads key",
    "agent gateway serve --config none.yaml",
    "agent gateway alerts list",
    "agent gateway alerts test",
    "agent gateway restore none.sqlite3",
    "agent metrics package",
    "agent metrics validate none.json",
    "agent metrics lint none.json",
    "agent metrics merge none.json",
    "agent metrics export",
    "agent metrics reset-id",
    "agent dashboard --port none",
    "agent up --server nonsense",
    "agent completions",
    "agent help gateway team budget",
    "agent doctor --offline",
    "agent update --check",
    "agent rnu",
    "agent run --modle x",
    "agent research start 'Which files can be searched?' --depth quick",
    // The service notices these later: its models are not used after them.
    "agent gateway provider drain ollama",
    "agent gateway provider enable ollama",
    "agent down",
];

/// The man pages of the other commands, and why they are not run.
const NOT_RUN: &[(&str, &str)] = &[
    ("agent-gateway-example", "prints the example in docs/gateway-config.md"),
    ("agent-gateway-schema", "prints JSON"),
    ("agent-mcp-reference", "prints docs/mcp-config.md"),
    ("agent-mcp-search", "asks the public registry"),
    ("agent-metrics-catalogue", "prints what is in docs/metrics-catalogue.md"),
    ("agent-metrics-schema", "prints docs/metrics.schema.json"),
];

#[test]
fn every_command_is_listed() {
    let agent = TestHome::new(env!("CARGO_BIN_EXE_agent"));
    let folder = agent.work().join("man");
    assert_eq!(agent.run(["man", "--out", folder.to_str().unwrap()]).code, 0);
    let pages = fs::read_dir(folder).unwrap().map(|page| page.unwrap().path());
    let pages: Vec<String> =
        pages.map(|page| page.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let begins = |name: &str, page: &str| format!("{name}-").starts_with(&format!("{page}-"));
    for page in &pages {
        let is_group = pages.iter().any(|other| other != page && begins(other, page));
        let is_run = COMMANDS.iter().any(|command| begins(&command.replace(' ', "-"), page));
        let is_excepted = NOT_RUN.iter().any(|(name, _)| name == page);
        assert!(is_group || is_run != is_excepted, "{page}");
    }
    assert!(NOT_RUN.iter().all(|(name, _)| pages.iter().any(|page| page == name)), "{pages:?}");
}

#[test]
fn every_command_fits_80_columns() {
    read(80);
}

#[test]
fn every_command_fits_40_columns() {
    read(40);
}

/// Paths of the same length on every machine, so that lines break at the same words.
struct ShortPaths(TempDir);

impl ShortPaths {
    fn new(machine: &Machine) -> Self {
        let folder = tempfile::Builder::new().prefix("outputs-").tempdir_in("/tmp").unwrap();
        let path = env::var_os("PATH").unwrap_or_default();
        let python = env::split_paths(&path).map(|folder| folder.join("python3"));
        let links = [
            (machine.home(), "home"),
            (PathBuf::from(SERVER), "server.py"),
            (python.into_iter().find(|file| file.is_file()).unwrap(), "python3"),
        ];
        for (target, name) in links {
            symlink(target, folder.path().join(name)).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// A text with names in the place of the paths.
    fn named(&self, text: &str) -> String {
        let names = [("home", "[home]"), ("server.py", "[server]"), ("python3", "[python3]")];
        names
            .iter()
            .fold(text.to_owned(), |text, (file, name)| text.replace(&self.path(file), name))
    }
}

fn read(columns: u16) {
    let machine = Machine::new();
    let paths = ShortPaths::new(&machine);
    let served = machine.start();
    let config = format!(
        "mcp_servers:\n  notes:\n    command: python3\n    args: ['{}']\n  broken:\n    command: \
         /no/such/program\n    args: [--with, 'a rather long argument']\n",
        paths.path("server.py")
    );
    configure(&machine.agent, &config);
    let mut shown = String::new();
    for command in COMMANDS {
        shown +=
            &format!("$ {command}\n{}\n", run(&machine, &paths, command, &served.address, columns));
    }
    for key in machine.json(&["key", "list"])["keys"].as_array().unwrap() {
        // As long as an id, so that tables stay the same.
        shown = shown.replace(key["id"].as_str().unwrap(), "000000000000");
    }
    let shown = plain(&machine.agent, &paths.named(&shown));
    let mut settings = settings();
    // Lines break elsewhere if a number has more digits.
    settings.add_filter(r"\s+\((\d+|\[n\])\s+ms\)", " ([n] ms)");
    settings.add_filter(r"\(process\s+\d+\)", "(process [pid])");
    settings.add_filter(r"process\s+\d+", "process [pid]");
    for (pattern, replacement) in UNSTEADY {
        settings.add_filter(pattern, replacement);
    }
    settings.add_filter(r"(?m)^( +[\d-]+)  +\d+ s$", "$1  [since]");
    settings.add_filter(r"20[2-9]\d-\d\d-\d\d  ", "[date]  ");
    settings.add_filter(r"20[2-9]\d-\d\d-\d\d\n  \d\d:\d\d:\d\d", "[time]");
    settings.add_filter(r"run-\d{8}-\d{6}-[0-9a-f]{8}", "run-20270131-120000-00000000");
    settings.add_filter(r"attempt\s+in\s+\d+\s+s\b", "attempt in [n] s");
    settings.add_filter(r"job_[0-9a-f]{32}", "[job]");
    settings.add_filter(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[uuid]");
    settings.add_filter(r"[\w+/]{43}=", "[public key]");
    settings.add_filter(r"[\d.]+ [MGT]B free", "[n] GB free");
    settings.bind(|| insta::assert_snapshot!(format!("at_{columns}_columns"), shown));
}

/// Only a word that fits no line may exceed the width.
fn is_too_wide(line: &str, columns: u16) -> bool {
    line.chars().count() > columns.into() && line.split_whitespace().count() > 1
}

/// What a terminal shows of a command in the end, and its exit code unless it is 0.
fn run(
    machine: &Machine,
    paths: &ShortPaths,
    command: &str,
    address: &str,
    columns: u16,
) -> String {
    let agent = machine.agent.command([""; 0]);
    let folder = Path::new(agent.get_program()).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(
        [folder, paths.0.path().to_owned()].into_iter().chain(env::split_paths(&path)),
    )
    .unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env_clear().current_dir(machine.agent.work());
    shell.env("AGENT_HOME", paths.path("home")).env("PATH", path).env("USER", "me");
    shell.env("AGENT_BASE_URL", format!("http://{address}/v1"));
    shell.env("XDG_DATA_HOME", paths.path("home")).env("XDG_CONFIG_HOME", paths.path("home"));
    if command.contains("$KEY") {
        let keys = machine.json(&["key", "list"]);
        let newest = keys["keys"].as_array().unwrap().iter().rfind(|key| key["name"] == "laptop");
        shell.env("KEY", newest.unwrap()["id"].as_str().unwrap());
    }
    shell.env("TERM", "xterm").env("NO_COLOR", "1").env("COLUMNS", columns.to_string());
    let terminal = Terminal::open().sized(columns, 24);
    shell.stdin(Stdio::null()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut bytes = Vec::new();
    let output = terminal.watch(shell.spawn().unwrap(), |more| bytes.extend_from_slice(more));
    let mut shown = String::new();
    for line in text(&bytes).lines() {
        // Progress and unfinished words are overwritten.
        let line = line.rsplit(['\r', '\u{1b}']).next().unwrap();
        let codes = ["[2K", "[J", "[1A"];
        shown += codes.iter().find_map(|code| line.strip_prefix(code)).unwrap_or(line);
        shown += "\n";
    }
    let is_wider = shown.lines().any(|line| is_too_wide(line, columns));
    assert!(!is_wider, "`{command}` is wider than {columns} columns:\n{shown}");
    match output.status.code() {
        Some(0) => shown,
        code => format!("{shown}[exit code {}]\n", code.unwrap_or(-1)),
    }
}
