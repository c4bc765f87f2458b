//! The servers of the official SDKs, as commands that a client starts.
//!
//! The features listed here were observed with protocol version 2025-11-25, which all servers of
//! the TypeScript SDK support; the Python SDK also supports the stateless revision.

use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCommand {
    pub command: PathBuf,
    pub args: Vec<String>,
    /// Variables in addition to the inherited environment.
    pub env: Vec<(String, String)>,
}

impl ServerCommand {
    pub(crate) fn new(command: impl Into<PathBuf>, args: &[&str]) -> Self {
        let args = args.iter().map(|&word| word.to_owned()).collect();
        Self { command: command.into(), args, env: Vec::new() }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.command);
        command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// The reference server `everything` of the TypeScript SDK, with tools, resources, templates,
/// subscriptions and prompts.
///
/// Once it is initialized it adds the tools that need what the client declared (roots, elicitation,
/// sampling) and says `list_changed` for each; then it asks for `roots/list`.
pub fn everything_stdio() -> ServerCommand {
    node("server-everything", &["stdio"], &[])
}

/// The file server of the TypeScript SDK, for the files below one folder. It has only tools, all with
/// output schemas. It asks for `roots/list` when the client declared roots, and replaces the folder by
/// the answer.
pub fn filesystem_stdio(folder: &Path) -> ServerCommand {
    node("server-filesystem", &[&folder.to_string_lossy()], &[])
}

/// The memory server of the TypeScript SDK, which keeps its graph in one file: tools with output
/// schemas, and one resource with subscriptions.
pub fn memory_stdio(file: &Path) -> ServerCommand {
    node("server-memory", &[], &[("MEMORY_FILE_PATH", &file.to_string_lossy())])
}

/// Our server on the official Python SDK, `peers/server.py`, in both protocol generations. Its tools
/// come in pages of four. When `slow` is cancelled, it writes a line to standard error and to the file
/// named by the variable `CANCEL_LOG`.
pub fn python_stdio() -> ServerCommand {
    python(&["stdio"])
}

pub(super) fn node(package: &str, args: &[&str], env: &[(&str, &str)]) -> ServerCommand {
    let script = format!("node_modules/@modelcontextprotocol/{package}/dist/index.js");
    let script = installed("npm", script);
    let env = env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let script = script.to_string_lossy();
    let args = [&[&*script], args].concat();
    ServerCommand { env, ..ServerCommand::new("node", &args) }
}

pub(super) fn python(args: &[&str]) -> ServerCommand {
    python_script("server.py", args)
}

pub(crate) fn python_script(name: &str, args: &[&str]) -> ServerCommand {
    python_of("python", &[&[&*script(name)], args].concat())
}

pub(crate) fn python_of(folder: &str, args: &[&str]) -> ServerCommand {
    let site = private_folder(folder).join("site");
    // Where Python has no virtual environments, the packages are in one directory.
    if site.is_dir() {
        let env = vec![("PYTHONPATH".to_owned(), site.to_string_lossy().into_owned())];
        return ServerCommand { env, ..ServerCommand::new("python3", args) };
    }
    ServerCommand::new(installed(folder, "bin/python"), args)
}

pub(crate) fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name);
    path.to_string_lossy().into_owned()
}

/// A directory that `cargo xtask` installs into, in any target directory.
pub(crate) fn private_folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers").join(name)
}

/// A path in a folder that `cargo xtask` has installed into.
pub(crate) fn installed(folder: &str, path: impl AsRef<Path>) -> PathBuf {
    let path = private_folder(folder).join(path);
    let shown = path.display();
    assert!(path.exists(), "{shown} is missing: run `cargo xtask test` once, which installs it");
    path
}
