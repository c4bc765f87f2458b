//! `agent mcp register-links`: the desktop file, and the tools that make a desktop use it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent_test_support::command::{ProgramOutput, TestHome};

use crate::command_line::agent;

fn desktop_file(agent: &TestHome) -> PathBuf {
    agent.work().join("share/applications/agent-mcp-link.desktop")
}

/// The command, with separate folders and only the desktop tools of this folder.
fn command(agent: &TestHome, program: &Path, arguments: &[&str], tools: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["mcp", "register-links"])
        .args(arguments)
        .env_clear()
        .env("HOME", agent.work())
        .env("XDG_DATA_HOME", agent.work().join("share"))
        .env("PATH", tools);
    command
}

/// A folder with stand-ins for the desktop's tools that write down how they were called.
fn tools(agent: &TestHome, script: &str) -> PathBuf {
    let folder = agent.work().join("tools");
    fs::create_dir_all(&folder).unwrap();
    for name in ["xdg-mime", "update-desktop-database"] {
        // Written by another process: a program still open for writing here would be busy.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod +x \"$2\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh", script]).arg(folder.join(name));
        assert!(shell.status().unwrap().success());
    }
    folder
}

fn agent_program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_agent"))
}

fn told(agent: &TestHome, run: &ProgramOutput) -> String {
    let work = agent.work().display().to_string();
    let program = agent_program().display().to_string();
    run.transcript().replace(&work, "[work]").replace(&program, "[agent]")
}

#[test]
fn a_desktop_file_is_written_and_registered_as_default() {
    let agent = agent();
    let log = agent.work().join("calls");
    let tools = tools(&agent, &format!("echo \"${{0##*/}} $*\" >> '{}'", log.display()));
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &[], &tools), b"");
    insta::assert_snapshot!(told(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Registered for agent:// links: [work]/share/applications/agent-mcp-link.desktop
    ----- stderr -----
    ");
    let file = fs::read_to_string(desktop_file(&agent)).unwrap();
    insta::assert_snapshot!(file.replace(&agent_program().display().to_string(), "[agent]"), @r"
    [Desktop Entry]
    Type=Application
    Name=agent install links
    Comment=Show the MCP server in a link and ask before installing it
    Exec=[agent] mcp install --wait -- %u
    Terminal=true
    NoDisplay=true
    MimeType=x-scheme-handler/agent;
    ");
    let calls = fs::read_to_string(&log).unwrap();
    insta::assert_snapshot!(calls.replace(&agent.work().display().to_string(), "[work]"), @r"
    xdg-mime query default x-scheme-handler/agent
    xdg-mime default agent-mcp-link.desktop x-scheme-handler/agent
    update-desktop-database [work]/share/applications
    ");
    // Again, and taken back.
    assert_eq!(
        ProgramOutput::of(&mut command(&agent, agent_program(), &["--json"], &tools), b"").code,
        0
    );
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &["--remove"], &tools), b"");
    insta::assert_snapshot!(told(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Removed [work]/share/applications/agent-mcp-link.desktop
    ----- stderr -----
    ");
    assert!(!desktop_file(&agent).exists());
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &["--remove"], &tools), b"");
    insta::assert_snapshot!(told(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Nothing is registered in [work]/share/applications.
    ----- stderr -----
    ");
}

#[test]
fn missing_or_failing_desktop_tools_are_reported() {
    let agent = agent();
    let none = agent.work().join("none");
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &[], &none), b"");
    insta::assert_snapshot!(told(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Registered for agent:// links: [work]/share/applications/agent-mcp-link.desktop
    ----- stderr -----
    `xdg-mime` is not installed: your desktop may ask which program opens these links.
    `update-desktop-database` is not installed: your desktop may not see the change until the next login.
    ");
    let failing = tools(&agent, "exit 3");
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &[], &failing), b"");
    insta::assert_snapshot!(told(&agent, &run), @r"
    exit code: 0
    ----- stdout -----
    Registered for agent:// links: [work]/share/applications/agent-mcp-link.desktop
    ----- stderr -----
    `xdg-mime` failed: make agent-mcp-link.desktop the default for x-scheme-handler/agent in your desktop's settings.
    `update-desktop-database` failed: your desktop may not see the change until the next login.
    ");
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &["--json"], &none), b"");
    insta::assert_snapshot!(told(&agent, &run), @r#"
    exit code: 0
    ----- stdout -----
    {
      "registered": "[work]/share/applications/agent-mcp-link.desktop",
      "replaced": null,
      "update_desktop_database": "absent",
      "xdg_mime": "absent"
    }
    ----- stderr -----
    "#);
}

#[test]
fn the_previous_link_handler_is_named() {
    let agent = agent();
    let tools = tools(&agent, "case $1 in query) echo other.desktop ;; esac");
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &[], &tools), b"");
    assert!(run.stderr.contains("were opened by other.desktop before"), "{run:?}");
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &["--json"], &tools), b"");
    assert!(run.stdout.contains("\"replaced\": \"other.desktop\""), "{run:?}");
}

#[test]
fn the_desktop_file_is_written_to_the_users_data_folder() {
    let agent = agent();
    let none = agent.work().join("none");
    for data in ["", "relative/share"] {
        let mut command = command(&agent, agent_program(), &["--json"], &none);
        let run = ProgramOutput::of(command.env("XDG_DATA_HOME", data), b"");
        assert_eq!(run.code, 0, "{run:?}");
        let path = agent.work().join(".local/share/applications/agent-mcp-link.desktop");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        fs::remove_file(path).unwrap();
    }
    let mut command = command(&agent, agent_program(), &[], &none);
    let run = ProgramOutput::of(command.env_remove("XDG_DATA_HOME").env_remove("HOME"), b"");
    insta::assert_snapshot!(told(&agent, &run), @r"
    exit code: 3
    ----- stdout -----
    ----- stderr -----
    error: no home folder found
      hint: set HOME or XDG_DATA_HOME
    ");
}

#[test]
fn an_unwritable_data_folder_is_reported() {
    let agent = agent();
    fs::write(agent.work().join("share"), "no folder").unwrap();
    let run = ProgramOutput::of(&mut command(&agent, agent_program(), &[], agent.work()), b"");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.starts_with("error: cannot write "), "{run:?}");
}

/// The real tools judge the file and make it the default: also from a folder whose name has every
/// character that must be quoted.
#[test]
fn real_desktop_tools_accept_the_file() {
    for folder in ["plain", "a b", "100% $HOME `x` \"y\" \\z 'q' (&;#)"] {
        let agent = agent();
        let folder = agent.work().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("agent");
        fs::hard_link(agent_program(), &program)
            .or_else(|_| fs::copy(agent_program(), &program).map(drop))
            .unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let mut register = command(&agent, &program, &["--json"], Path::new(&path));
        let run = ProgramOutput::of(&mut register, b"");
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stdout.contains("\"xdg_mime\": \"done\""), "{run:?}");
        assert!(run.stdout.contains("\"update_desktop_database\": \"done\""), "{run:?}");
        let judged = Command::new("desktop-file-validate").arg(desktop_file(&agent)).output();
        let judged = judged.unwrap();
        let said = String::from_utf8_lossy(&judged.stdout).into_owned();
        assert!(judged.status.success() && said.is_empty(), "{said}");
        let mut query = Command::new("xdg-mime");
        query.args(["query", "default", "x-scheme-handler/agent"]).env_clear();
        query.env("HOME", agent.work()).env("XDG_DATA_HOME", agent.work().join("share"));
        let answer = query.env("PATH", &path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&answer.stdout), "agent-mcp-link.desktop\n");
        assert_eq!(unquoted_exec(&desktop_file(&agent)), program.to_str().unwrap());
        let choices = agent.work().join(".config/mimeapps.list");
        assert!(fs::read_to_string(&choices).unwrap().contains("agent-mcp-link.desktop"));
        let run =
            ProgramOutput::of(&mut command(&agent, &program, &["--remove"], Path::new(&path)), b"");
        assert_eq!(run.code, 0, "{run:?}");
        let left = fs::read_to_string(&choices).unwrap();
        assert!(!left.contains("agent"), "{left}");
    }
}

/// The program of `Exec`, read as the specification of desktop files says.
fn unquoted_exec(path: &Path) -> String {
    let file = fs::read_to_string(path).unwrap();
    let line = file.lines().find_map(|line| line.strip_prefix("Exec=")).unwrap();
    let line = line.replace("\\\\", "\\");
    let Some(quoted) = line.strip_prefix('"') else {
        return line.split(' ').next().unwrap().replace("%%", "%");
    };
    let (mut program, mut letters) = (String::new(), quoted.chars());
    while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
        program.push(if letter == '\\' { letters.next().unwrap() } else { letter });
    }
    assert_eq!(letters.as_str(), " mcp install --wait -- %u");
    program.replace("%%", "%")
}
