//! `cargo xtask docs images`: the pictures of the README, made by running the program.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Failure, OrFail, Result};
use crate::process::{self, Running};
use crate::workspace::Workspace;

const MODEL: &str = "smollm2-135m.gguf";
/// The home in the picture.
const SHOWN_HOME: &str = "/home/me";
const SHOWN_ADDRESS: &str = "127.0.0.1:8930";
/// The commands after `agent up`.
const COMMANDS: &[&[&str]] = &[&["run", "Say hello"], &["me"]];

/// The tests that write the pictures of pages.
const PICTURE_TESTS: &str =
    "test(/^gateway::usage_charts::/) | test(/^dashboard::accessibility::/)";

const LINE_HEIGHT: usize = 20;
/// Tenths of a pixel.
const CHARACTER_WIDTH: usize = 84;
const MARGIN: usize = 24;
/// Seconds until the next line appears.
const PAUSE: f64 = 0.15;
/// Seconds until the next command appears.
const COMMAND_PAUSE: f64 = 1.2;

struct Line {
    text: String,
    is_command: bool,
}

/// Writes the pictures with this program.
pub(super) fn write(workspace: &Workspace, program: &Path) -> Result {
    let lines = session(workspace, program)?;
    let folder = workspace.root().join("docs/images");
    let path = folder.join("terminal.svg");
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, svg(&lines)));
    written.or_fail(format!("cannot write {}", path.display()))?;
    println!("docs: wrote docs/images/terminal.svg");
    // Tests draw the pages, because they have the browser, the clock and the servers for them.
    let mut test = workspace.cargo();
    // With the targets of all tests, which share their dependencies.
    test.args(["nextest", "run", "--workspace", "-E", PICTURE_TESTS]);
    process::run(test.env("AGENT_DOCS_IMAGES", &folder))?;
    println!("docs: wrote docs/images/console*.png and dashboard*.png");
    Ok(())
}

/// Runs the commands in an empty home with the small model.
fn session(workspace: &Workspace, program: &Path) -> Result<Vec<Line>> {
    let model = workspace.target_directory().join("peers/models").join(MODEL);
    let home = workspace.target_directory().join("tmp/docs-images");
    let models = home.join(".agent/models");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&models)
        .and_then(|()| fs::copy(&model, models.join(MODEL)))
        .or_fail(format!("cannot copy {}", model.display()))
        .map_err(|failure| failure.with_hint("`cargo xtask test` installs the model"))?;
    let mut lines = vec![Line { text: "agent up".to_owned(), is_command: true }];
    let (_service, address) = start(program, &home, &mut lines)?;
    for arguments in COMMANDS {
        let shown: Vec<String> = arguments
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() })
            .collect();
        lines.push(Line { text: String::new(), is_command: false });
        lines.push(Line { text: format!("agent {}", shown.join(" ")), is_command: true });
        let mut command = agent(program, &home);
        command.args(*arguments).env("AGENT_BASE_URL", format!("http://{address}/v1"));
        for line in process::capture(&mut command)?.lines() {
            lines.push(Line { text: line.to_owned(), is_command: false });
        }
    }
    let shown_home = home.display().to_string();
    // The commands to try name the address only because it is not the default one.
    let address_variable = format!("AGENT_BASE_URL=http://{address}/v1 ");
    for line in &mut lines {
        line.text = line.text.replace(&shown_home, SHOWN_HOME).replace(&address_variable, "");
        line.text = line.text.replace(&address, SHOWN_ADDRESS);
    }
    Ok(lines)
}

fn agent(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("COLUMNS", "80").env("NO_COLOR", "1");
    // The commands to try name the program as a person would.
    command.env("PATH", program.parent().unwrap_or(Path::new("/")));
    command
}

/// Starts the service and adds its welcome; returns its address.
fn start(program: &Path, home: &Path, lines: &mut Vec<Line>) -> Result<(Running, String)> {
    let mut command = agent(program, home);
    command.args(["up", "--no-discover", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut process = Running(started.or_fail("cannot start `agent up`")?);
    let mut address = None;
    let stderr = process.0.stderr.as_mut().ok_or_else(|| Failure::work("no output"))?;
    for text in BufReader::new(stderr).lines().map_while(std::result::Result::ok) {
        if let Some(rest) = text.strip_prefix("Listening on http://") {
            address = rest.split(' ').next().map(str::to_owned);
        }
        let is_last = text.starts_with("Press ");
        lines.push(Line { text, is_command: false });
        if is_last {
            break;
        }
    }
    let address = address.ok_or_else(|| Failure::work("`agent up` did not print its address"))?;
    Ok((process, address))
}

/// The lines as a picture in which they appear one after the other.
fn svg(lines: &[Line]) -> String {
    let columns = lines.iter().map(|line| line.text.chars().count() + 2).max().unwrap_or(80);
    let width = columns * CHARACTER_WIDTH / 10 + 2 * MARGIN;
    let height = lines.len() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <style>text {{ fill: #d7dde5; white-space: pre; animation: show 1ms both; }} \
         .command {{ fill: #7ee2a8; font-weight: 600; }} \
         @keyframes show {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }} \
         @media (prefers-reduced-motion: reduce) {{ text {{ animation: none; }} }}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#14181f\"/>\n"
    );
    let mut seconds = 0.0;
    for (at, line) in lines.iter().enumerate() {
        seconds += if line.is_command { COMMAND_PAUSE } else { PAUSE };
        let y = MARGIN + at * LINE_HEIGHT + 14;
        let (class, prompt) = if line.is_command { (" class=\"command\"", "$ ") } else { ("", "") };
        let text = line.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\"{class} style=\"animation-delay: {seconds:.2}s\">{prompt}{text}</text>"
        );
    }
    svg.push_str("</svg>\n");
    svg
}
