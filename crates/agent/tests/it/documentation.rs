//! Runs the shell blocks of the README and the documentation.
//!
//! Blocks marked `sh` run in order in an empty home whose `agent up` serves a scripted model. Blocks
//! marked `sh operator` run in another empty home, as one script. Blocks marked `sh serve` start what
//! runs already, and `sh skip: REASON` cannot run here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use agent_test_support::mcp::filesystem_stdio;
use agent_test_support::port;
use agent_test_support::wait::eventually;
use agent_test_support::weights::{smollm2, smollm2_wheel};

use crate::chat::attachments::IMAGE;
use crate::gateway::up::Machine;

/// The address in the documentation.
const ADDRESS: &str = "127.0.0.1:8930";
/// Its blocks are run and their answers compared by `gateway::member_api_page`.
const COMPARED: &str = "member-api.md";

/// The blocks of a page with their mark.
fn blocks(page: &str) -> Vec<(String, String)> {
    let parts = page.split("\n```").skip(1).step_by(2);
    let blocks = parts.filter_map(|part| {
        let (info, text) = part.split_once('\n')?;
        Some((info.strip_prefix("sh")?.trim().to_owned(), format!("{text}\n")))
    });
    blocks.collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A shell in which `agent` is this program.
fn shell(script: &str, home: &Path, work: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_agent")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let paths = [program.to_owned()].into_iter().chain(std::env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(work).env_clear();
    shell.env("PATH", std::env::join_paths(paths).unwrap());
    shell.env("HOME", home).env("USER", "me");
    shell
}

/// The files of a reader that pages mention, and the packages that `npx` would download.
fn add_files(folder: &Path) {
    fs::write(folder.join("shot.png"), IMAGE).unwrap();
    symlink(smollm2(), folder.join("some-model.Q8_0.gguf")).unwrap();
    let server = filesystem_stdio(folder);
    let modules = Path::new(&server.args[0]).ancestors().find(|it| it.ends_with("node_modules"));
    symlink(modules.unwrap(), folder.join("node_modules")).unwrap();
}

#[track_caller]
fn check(page: &str, script: &str, output: &Output) {
    assert!(output.status.success(), "{page}:\n{script}\n{output:?}");
}

/// Runs the blocks of a page; returns how many there were.
fn run(name: &str, page: &str) -> usize {
    let blocks = blocks(page);
    let is_known = |mark: &str| {
        matches!(mark, "" | "serve" | "operator")
            || mark.strip_prefix("skip: ").is_some_and(|reason| !reason.is_empty())
    };
    assert!(blocks.iter().all(|(mark, _)| is_known(mark)), "{name}: {blocks:?}");
    let of = |wanted: &'static str| blocks.iter().filter(move |(mark, _)| mark == wanted);
    let machine = Machine::new();
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(machine.home(), home.path().join(".agent")).unwrap();
    if of("").next().is_some() {
        let served = machine.start();
        add_files(machine.folder());
        let of_service = |script: &str| {
            let script = script.replace(ADDRESS, &served.address);
            let mut shell = shell(&script, home.path(), machine.folder());
            shell.env("AGENT_BASE_URL", format!("http://{}/v1", served.address));
            // What pip and npx would download is here.
            shell.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", smollm2_wheel().parent().unwrap());
            shell.output().unwrap()
        };
        eventually("the documents are read", || {
            of_service("agent search documents --json")
                .stdout
                .windows(7)
                .any(|part| part == b"Welcome")
        });
        for (_, script) in of("") {
            check(name, script, &of_service(script));
        }
    }
    let script: String = of("operator").map(|(_, script)| script.as_str()).collect();
    if !script.is_empty() {
        let home = tempfile::tempdir().unwrap();
        let address = port::free().to_string();
        let has = |command: &str| script.lines().any(|line| line.starts_with(command));
        let begin = match (has("agent gateway init"), has("agent gateway serve &")) {
            (false, _) => "agent gateway init --member alice --credit 10\n",
            // The service that the script starts ends with it.
            (true, true) => "trap 'kill $!' EXIT\n",
            (true, false) => "",
        };
        let script = format!("\n{begin}{script}")
            .replace("\nagent gateway init", &format!("\nagent gateway init --listen {address}"));
        let output = shell(&script, home.path(), home.path()).output().unwrap();
        check(name, &script, &output);
    }
    of("").count() + of("operator").count()
}

#[test]
fn readme_code_blocks_run() {
    assert!(run("README.md", &fs::read_to_string(root().join("README.md")).unwrap()) >= 5);
}

#[test]
fn documentation_code_blocks_run() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|it| it == "md") && name != COMPARED {
            let page = fs::read_to_string(&path).unwrap();
            if !blocks(&page).is_empty() {
                count += run(&name, &page);
            }
        }
    }
    assert!(count >= 15, "{count}");
}
