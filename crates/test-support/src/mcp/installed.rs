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

/// The reference server `everything` of the TypeScript SDK.
///
/// - Tools, all but three read-only: `echo(message)`, `get-annotated-message(messageType,
///   includeImage)`, `get-env`, `get-resource-links(count)`, `get-resource-reference(resourceType,
///   resourceId)`, `get-structured-content(location)` with an output schema, `get-sum(a, b)`,
///   `get-tiny-image`, `gzip-file-as-resource(name, data, outputType)`, `toggle-simulated-logging`,
///   `toggle-subscriber-updates`, `trigger-long-running-operation(duration, steps)` with progress.
/// - Once it is initialized it adds, by what the client declared, `get-roots-list`,
///   `trigger-elicitation-request`, `trigger-sampling-request(prompt, maxTokens)`,
///   `simulate-research-query`, and says `list_changed` for each; then it asks for `roots/list`.
/// - Resources: seven documents at `demo://resource/static/document/…`, templates
///   `demo://resource/dynamic/text/{resourceId}` and `…/blob/{resourceId}`, subscriptions.
/// - Prompts: `simple-prompt`, `args-prompt(city, state)`, `completable-prompt(department, name)`,
///   `resource-prompt(resourceType, resourceId)`.
pub fn everything_stdio() -> ServerCommand {
    node("server-everything", &["stdio"], &[])
}

/// The file server of the TypeScript SDK, for the files below one folder.
///
/// Tools only, all with output schemas. Read-only: `read_file`, `read_text_file(path, tail, head)`,
/// `read_media_file`, `read_multiple_files(paths)`, `list_directory(path)`,
/// `list_directory_with_sizes`, `directory_tree`, `search_files`, `get_file_info`,
/// `list_allowed_directories`. Writing: `write_file(path, content)`, `edit_file`,
/// `create_directory`, `move_file`. Resources and prompts get -32601. Asks for `roots/list` when the
/// client declared roots, and replaces the folder by the answer.
pub fn filesystem_stdio(folder: &Path) -> ServerCommand {
    node("server-filesystem", &[&folder.to_string_lossy()], &[])
}

/// The memory server of the TypeScript SDK, which keeps its graph in one file.
///
/// Tools, all with output schemas: `create_entities(entities)`, `create_relations`,
/// `add_observations`, `delete_entities`, `delete_observations`, `delete_relations`; read-only:
/// `read_graph`, `search_nodes(query)`, `open_nodes(names)`. One resource,
/// `memory://knowledge-graph`, with subscriptions. Prompts get -32601.
pub fn memory_stdio(file: &Path) -> ServerCommand {
    node("server-memory", &[], &[("MEMORY_FILE_PATH", &file.to_string_lossy())])
}

/// Our server on the official Python SDK, `peers/server.py`, in both protocol generations.
///
/// - Tools, in pages of four: `echo(text)`, `add(a, b)` with structured output, `image`, `audio`,
///   `slow(seconds)` with ten progress notifications a second (when it is cancelled it writes a line
///   to standard error and to the file named by the variable `CANCEL_LOG`), `fail` whose result is an
///   error, `grow` which adds the tool `grown` and says so, `big(kilobytes)`.
/// - Resources: `note://today`, `note://bytes` (a blob of 256 bytes), template
///   `note://named/{name}`. Prompt: `greeting(name, tone?)`.
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
