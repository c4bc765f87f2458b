//! Whole outputs of the commands at terminals of 80 and 40 columns, in the order in which a new
//! user may try them.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::gateway::up::Machine;
use crate::gateway::{plain, settings};
use crate::mcp_live::{UNSTEADY, configure, entry};
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
    "agent gateway member top-up bob 5 --reference invoice-7",
    "agent gateway member block bob --reason 'left the team'",
    "agent gateway key create bob --name laptop",
    "agent gateway key list",
    "agent gateway ledger statement bob",
    "agent gateway ledger check",
    "agent gateway usage",
    "agent gateway provider list",
    "agent gateway audit",
    "agent gateway backup backup.sqlite3",
    "agent metrics status",
    "agent metrics on",
    "agent metrics show",
    "agent metrics off",
    "agent doctor --offline",
    "agent update --check",
    "agent rnu",
    "agent run --modle x",
    "agent down",
];

#[test]
fn every_command_reads_well_at_80_columns() {
    read(80);
}

#[test]
fn every_command_reads_well_at_40_columns() {
    read(40);
}

fn read(columns: u16) {
    let machine = Machine::new();
    let served = machine.start();
    let config = format!(
        "mcp_servers:\n{}  broken:\n    command: /no/such/program\n    args: [--with, 'a rather long argument']\n",
        entry("notes", "")
    );
    configure(&machine.bench, &config);
    let mut shown = String::new();
    for command in COMMANDS {
        shown += &format!("$ {command}\n{}\n", run(&machine, &served.address, command, columns));
    }
    let shown = plain(&machine.bench, &shown);
    let mut settings = settings();
    for (pattern, replacement) in UNSTEADY {
        settings.add_filter(pattern, replacement);
    }
    settings.bind(|| insta::assert_snapshot!(format!("at_{columns}_columns"), shown));
}

/// What a terminal shows of a command, and its exit code unless it is 0.
fn run(machine: &Machine, address: &str, command: &str, columns: u16) -> String {
    let mut shell = machine.bench.command([""; 0]);
    let program = Path::new(shell.get_program()).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = [program].into_iter().chain(env::split_paths(&path));
    let path = env::join_paths(path).unwrap();
    let mut words = Command::new("sh");
    words.args(["-c", command]).env_clear().current_dir(machine.bench.work());
    for (name, value) in shell.get_envs() {
        words.env(name, value.unwrap_or_default());
    }
    words.env("PATH", path).env("USER", "me").env("AGENT_BASE_URL", format!("http://{address}/v1"));
    shell = words;
    let terminal = Terminal::open().sized(columns, 24);
    shell.env("TERM", "xterm").env("NO_COLOR", "1").env("COLUMNS", columns.to_string());
    shell.stdin(std::process::Stdio::null()).stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut shown = Vec::new();
    let output = terminal.watch(shell.spawn().unwrap(), |bytes| shown.extend_from_slice(bytes));
    let code = output.status.code().unwrap_or(-1);
    text(&shown) + &if code == 0 { String::new() } else { format!("[exit code {code}]\n") }
}
