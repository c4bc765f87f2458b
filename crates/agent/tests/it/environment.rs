//! What is wrong around the program: no home, a home that cannot be written, a key that is wrong, a
//! service that is away, a proxy in the way. Each has one message that names the next step.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use agent_test_support::command::ProgramOutput;
use agent_test_support::disk::SmallDisk;
use agent_test_support::files::{FileServer, write_head};
use agent_test_support::port;

use crate::gateway::Served;
use crate::gateway::up::Machine;

/// The commands of a member, and what is typed into each.
const COMMANDS: [(&[&str], &str); 4] =
    [(&["run", "Say hello"], ""), (&["chat"], "Say hello\n"), (&["models"], ""), (&["me"], "")];

/// A service, and commands that use it.
struct Setup {
    machine: Machine,
    served: Served,
}

impl Setup {
    fn new() -> Self {
        let machine = Machine::new();
        let served = machine.start();
        Self { machine, served }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.machine.agent.command(arguments);
        command.env("AGENT_BASE_URL", format!("http://{}/v1", self.served.address));
        command.env("AGENT_API_KEY", self.machine.key());
        command
    }

    /// Runs every command where something is wrong.
    fn each(&self, spoil: impl Fn(&mut Command), judge: impl Fn(&str, &ProgramOutput)) {
        for (arguments, typed) in COMMANDS {
            let mut command = self.command(arguments);
            spoil(&mut command);
            let run = ProgramOutput::of(&mut command, typed.as_bytes());
            judge(arguments[0], &run);
        }
    }
}

/// One error, with a step to take.
#[track_caller]
fn is_clear(name: &str, run: &ProgramOutput, code: i32, error: &str, hint: &str) {
    let count = |mark: &str| run.stderr.lines().filter(|line| line.starts_with(mark)).count();
    assert_eq!((run.code, count("error: ")), (code, 1), "{name}: {run:?}");
    assert!(run.stderr.contains(&format!("error: {error}")), "{name}: {error}: {run:?}");
    let hints: Vec<&str> = run.stderr.split("  hint: ").skip(1).collect();
    assert!(hints.iter().any(|text| text.contains(hint)), "{name}: {hint}: {run:?}");
}

#[test]
fn a_missing_home_names_the_variable_to_set() {
    let spoil = |command: &mut Command| {
        command.env_remove("AGENT_HOME").env_remove("HOME");
    };
    Setup::new().each(spoil, |name, run| {
        is_clear(name, run, 3, "no home folder found\n", "set AGENT_HOME to a folder you own\n");
    });
}

#[test]
fn an_invalid_key_is_reported_with_its_source() {
    let spoil = |command: &mut Command| {
        // The `.env` of the service is not that of the member.
        let home = command.get_current_dir().unwrap().join("another-home");
        command.env("AGENT_HOME", home).env("AGENT_API_KEY", "agk_wrong");
    };
    Setup::new().each(spoil, |name, run| {
        let hint = "check the key: AGENT_API_KEY in the environment\n";
        is_clear(name, run, 4, "http://127.0.0.1:", hint);
        assert!(run.stderr.contains("rejected the key"), "{name}: {run:?}");
    });
}

#[test]
fn an_unreachable_service_is_reported_with_the_start_command() {
    let setup = Setup::new();
    let nobody = format!("http://{}/v1", port::free());
    let spoil = |command: &mut Command| {
        let home = command.get_current_dir().unwrap().join("another-home");
        command.env("AGENT_HOME", home).env("AGENT_BASE_URL", &nobody);
    };
    setup.each(spoil, |name, run| {
        let error = format!("no response from {nobody}\n");
        is_clear(name, run, 5, &error, "start a service on this machine with `agent up`\n");
        assert!(!run.stderr.contains("proxy"), "{name}: {run:?}");
    });
}

#[test]
fn an_unreachable_or_answering_proxy_is_named() {
    let setup = Setup::new();
    // It answers like a company's gateway, and like a Wi-Fi portal.
    let page = |status: &'static str| {
        FileServer::start(move |_, _, stream| {
            write_head(stream, status, "Content-Type: text/html\r\nContent-Length: 5\r\n")?;
            stream.write_all(b"<html")
        })
    };
    let (blocked, portal) = (page("403 Forbidden"), page("200 OK"));
    let away = format!("http://{}", port::free());
    for (variable, proxy, base) in [
        ("HTTP_PROXY", away.as_str(), "http://ai.invalid/v1"),
        ("https_proxy", &away, "https://ai.invalid/v1"),
        ("ALL_PROXY", &away, "http://ai.invalid/v1"),
        ("HTTP_PROXY", &blocked.url(), "http://ai.invalid/v1"),
        ("HTTPS_PROXY", &blocked.url(), "https://ai.invalid/v1"),
        ("http_proxy", &portal.url(), "http://ai.invalid/v1"),
    ] {
        let spoil = |command: &mut Command| {
            let home = command.get_current_dir().unwrap().join("another-home");
            command.env("AGENT_HOME", home).env("AGENT_BASE_URL", base);
            // With a password, which is not shown.
            command.env(variable, proxy.replace("://", "://me:pass-word@"));
        };
        setup.each(spoil, |name, run| {
            let place = proxy.strip_prefix("http://").unwrap();
            let hint = format!("requests go through the proxy {place}: correct HTTP_PROXY");
            let (name, code) = (format!("{name}, {variable} {proxy} {base}"), run.code);
            is_clear(&name, run, code, "", &hint);
            assert!(matches!(code, 1 | 5) && !run.stderr.contains("pass-word"), "{name}: {run:?}");
        });
    }
    // Where the proxy is not asked, it is not to blame.
    let spoil = |command: &mut Command| {
        let home = command.get_current_dir().unwrap().join("another-home");
        command.env("AGENT_HOME", home).env("AGENT_BASE_URL", "http://ai.invalid/v1");
        command.env("HTTP_PROXY", &away).env("NO_PROXY", "ai.invalid");
    };
    setup.each(spoil, |name, run| {
        is_clear(name, run, 5, "no response from http://ai.invalid/v1\n", "check the address");
        assert!(!run.stderr.contains("proxy"), "{name}: {run:?}");
    });
}

/// A home on a small disk, with a key.
fn home_on(disk: &SmallDisk, setup: &Setup) -> std::path::PathBuf {
    let home = disk.path().join("home");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join(".env"), format!("AGENT_API_KEY={}\n", setup.machine.key())).unwrap();
    home
}

/// Member commands only read their home. That something cannot be saved is reported once.
fn all_commands_work(setup: &Setup, home: &Path, why: &str) {
    setup.each(
        |command| {
            command.env("AGENT_HOME", home).env_remove("AGENT_API_KEY");
        },
        |name, run| {
            assert_eq!(run.code, 0, "{name}: {run:?}");
            let warnings = run.stderr.lines().filter(|line| line.starts_with("warning: "));
            let warnings: Vec<&str> = warnings.collect();
            let expected = usize::from(matches!(name, "chat" | "run"));
            assert_eq!(warnings.len(), expected, "{name}: {run:?}");
            assert!(warnings.iter().all(|line| line.contains(why)), "{name}: {run:?}");
            assert!(!run.stderr.contains("error: "), "{name}: {run:?}");
        },
    );
}

/// Commands whose purpose is to write.
fn writing_fails(home: &Path, setup: &Setup, hint: &str) {
    for arguments in [
        &["up", "--no-discover", "--no-download", "--listen", "127.0.0.1:0"][..],
        &["mcp", "add", "docs", "--url", "https://example.com/mcp"],
        &["metrics", "on"],
        &["gateway", "init", "--member", "alice"],
    ] {
        let mut command = setup.command(arguments);
        let run = ProgramOutput::of(command.env("AGENT_HOME", home), b"");
        is_clear(&arguments.join(" "), &run, run.code, "", hint);
        assert!(matches!(run.code, 1 | 3), "{run:?}");
    }
}

#[test]
fn a_read_only_home_allows_reads_and_names_the_variable() {
    let setup = Setup::new();
    let disk = SmallDisk::mount(1024 * 1024);
    let home = home_on(&disk, &setup);
    disk.make_read_only();
    all_commands_work(&setup, &home, "you can write to with AGENT_HOME");
    writing_fails(&home, &setup, "AGENT_HOME");
}

#[test]
fn a_full_home_allows_reads_and_reports_full_disks() {
    let setup = Setup::new();
    let disk = SmallDisk::mount(1024 * 1024);
    let home = home_on(&disk, &setup);
    disk.fill();
    all_commands_work(&setup, &home, "free up disk space");
    writing_fails(&home, &setup, "free up disk space");
}
