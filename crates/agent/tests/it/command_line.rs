//! What every command shares: help, errors, exit codes, colour, pipes.

use std::io::Read;
use std::process::Stdio;

use agent_test_support::command::{ProgramOutput, TestHome};

pub(crate) fn agent() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_agent"))
}

#[test]
fn version_and_help_are_printed_to_stdout() {
    let agent = agent();
    let version = agent.run(["--version"]);
    assert_eq!(version.stdout, format!("agent {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!((version.code, &*version.stderr), (0, ""));
    let help = agent.run(["metrics", "validate", "--help"]);
    assert_eq!((help.code, &*help.stderr), (0, ""));
    assert!(help.stdout.contains("Examples:"), "{}", help.stdout);
}

#[test]
fn help_fits_narrow_terminals() {
    let agent = agent();
    let reference = include_str!("../../../../docs/cli.md");
    let commands = reference.lines().filter_map(|line| line.strip_prefix("## agent"));
    let commands: Vec<Vec<&str>> = commands.map(|it| it.split_whitespace().collect()).collect();
    assert!(commands.len() > 90, "{}", commands.len());
    for (columns, indent) in [(80, 0), (40, 12)] {
        for command in &commands {
            let mut program = agent.command(command.iter().chain(&["--help"]));
            let help = ProgramOutput::of(program.env("COLUMNS", columns.to_string()), b"");
            assert_eq!(help.code, 0, "{command:?}");
            let text = help.stdout.split("Examples:").next().unwrap();
            for line in text
                .lines()
                .filter(|line| !line.starts_with("Usage:") && !line.contains("agent mcp add"))
            {
                // A long word or option name has a line to itself.
                let longest = line.split_whitespace().map(str::len).max().unwrap_or(0);
                let most = columns.max(longest + indent + 8);
                assert!(line.chars().count() <= most, "{command:?} at {columns}: {line}");
            }
        }
    }
}

/// It takes the place of the C library's only where the linker finds it first.
#[cfg(target_os = "linux")]
#[test]
fn mimalloc_is_the_global_allocator() {
    let agent = agent();
    let told = agent.command(["--version"]).env("MIMALLOC_SHOW_STATS", "1").output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    let mut figures = told.lines().filter_map(|line| line.split_once(':'));
    let (_, pages) = figures.find(|(name, _)| name.trim() == "pages").unwrap();
    let most: u32 = pages.split_whitespace().next().unwrap().parse().unwrap();
    assert!(most > 5, "{told}");
}

#[test]
fn every_command_has_a_help_page_with_examples() {
    let agent = agent();
    for command in [
        "status", "on", "off", "show", "package", "validate", "lint", "merge", "export", "view",
        "catalogue", "schema", "reset-id",
    ] {
        let help = agent.run(["metrics", command, "--help"]);
        assert_eq!(help.code, 0, "{command}");
        let example = format!("  agent metrics {command}");
        assert!(help.stdout.contains("Examples:") && help.stdout.contains(&example), "{command}");
    }
}

#[test]
fn every_gateway_command_has_a_help_page_with_examples() {
    let agent = agent();
    for command in [
        "serve", "check", "migrate", "member", "member create", "member list", "member show",
        "member rename", "member block", "member unblock", "member top-up", "member adjust", "key",
        "key create", "key list", "key show", "key change", "key rotate", "key revoke", "ledger",
        "ledger statement", "ledger receipt", "ledger check", "provider", "provider list",
        "provider test", "audit", "backup", "restore", "example",
    ] {
        let words = ["gateway"].into_iter().chain(command.split(' ')).chain(["--help"]);
        let help = agent.run(words);
        let example = format!("  agent gateway {command}");
        let is_whole = help.stdout.contains("Examples:") && help.stdout.contains(&example);
        assert!(help.code == 0 && is_whole, "{command}: {}", help.stdout);
    }
}

#[test]
fn usage_errors_exit_with_2_in_text_and_json() {
    let agent = agent();
    let human = agent.run(["metrics", "vlidate"]);
    assert_eq!(human.code, 2);
    assert!(human.stderr.starts_with("error: unrecognized subcommand 'vlidate'"), "{human:?}");
    let json = agent.run(["metrics", "vlidate", "--json"]);
    assert_eq!((json.code, &*json.stdout), (2, ""));
    let error: serde_json::Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!(error["error"]["kind"], "usage");
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("unrecognized subcommand 'vlidate' tip: "), "{message}");
    assert_eq!(error["error"]["hints"][0], "see `agent metrics --help`");
    let nothing = agent.run::<&str>([]);
    assert_eq!((nothing.code, &*nothing.stdout), (2, ""));
}

#[test]
fn errors_are_one_json_object_with_json_output() {
    let run = agent().run(["metrics", "show", "--json"]);
    assert_eq!((run.code, &*run.stdout), (1, ""));
    insta::assert_snapshot!(run.stderr, @r#"
    {"error":{"causes":[],"hints":["turn recording on with `agent metrics on`"],"kind":"failed","message":"no metrics have been recorded"}}
    "#);
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let agent = agent();
    let mut command = agent.command(["metrics", "schema"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut first = [0; 1];
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut first).unwrap();
    drop(pipe);
    let run = ProgramOutput::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.stderr), (0, ""));
}

#[test]
fn completions_exist_for_every_shell() {
    let agent = agent();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = agent.run(["completions", shell]);
        assert_eq!(run.code, 0, "{shell}");
        assert!(run.stdout.contains("reset-id"), "{shell}");
    }
    let run = agent.run(["completions", "bash", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["shell"], "bash");
}

#[test]
fn colour_is_used_only_at_terminals_that_allow_it() {
    let agent = agent();
    let run = |force: bool, no_color: Option<&str>, arguments: &[&str]| {
        let mut command = agent.command(arguments);
        if force {
            command.env("CLICOLOR_FORCE", "1");
        }
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        ProgramOutput::of(&mut command, b"").stderr.contains('\u{1b}')
    };
    let command = ["metrics", "show"];
    assert!(!run(false, None, &command), "no colour into a pipe");
    assert!(run(true, None, &command));
    assert!(!run(false, Some("1"), &command));
    assert!(!run(true, None, &["metrics", "show", "--no-color"]));
}

#[test]
fn invalid_home_and_profile_are_rejected() {
    let agent = agent();
    let mut command = agent.command(["metrics", "status"]);
    command.env_remove("AGENT_HOME");
    insta::assert_snapshot!(ProgramOutput::of(&mut command, b"").transcript(), @r"
    exit code: 3
    ----- stdout -----
    ----- stderr -----
    error: no home folder found
      hint: set AGENT_HOME to a folder you own
    ");
    // Who needs no home need not have one.
    for arguments in [&["metrics", "schema"][..], &["completions", "bash"]] {
        let mut command = agent.command(arguments);
        assert_eq!(
            ProgramOutput::of(command.env_remove("AGENT_HOME"), b"").code,
            0,
            "{arguments:?}"
        );
    }
    insta::assert_snapshot!(agent.run(["--profile", "../x", "metrics", "status"]).transcript(), @r"
    exit code: 2
    ----- stdout -----
    ----- stderr -----
    error: invalid profile name `../x`
      hint: use letters, digits, `-` and `_`
    ");
}

#[test]
fn profile_names_are_limited_to_64_characters() {
    let agent = agent();
    for (length, code) in [(64, 0), (65, 2)] {
        let name = "p".repeat(length);
        assert_eq!(agent.run(["metrics", "status", "--profile", &name]).code, code, "{length}");
    }
}

#[test]
fn profiles_have_separate_files() {
    let agent = agent();
    assert_eq!(agent.run(["metrics", "on", "--profile", "work"]).code, 0);
    assert!(agent.home().join("profiles/work/metrics/metrics.sqlite3").exists());
    assert!(!agent.home().join("metrics").exists());
    assert!(!agent.home().join("config.yaml").exists());
}
