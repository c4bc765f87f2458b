//! The software that tasks need (`requirements.toml`), and how to detect and install it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use super::CommandLine;
use super::peer_folders::PeerFolders;
use super::weights;

/// Software that a task needs and a new machine may lack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Requirement {
    pub(super) name: String,
    manager: Manager,
    #[serde(default)]
    pub(super) packages: Vec<String>,
    /// Programs that a machine with these packages has.
    #[serde(default)]
    programs: Vec<String>,
    /// Peer folder of the packages.
    #[serde(default)]
    folder: String,
    pub(super) reason: String,
    #[serde(default = "for_tests")]
    pub(super) tasks: Vec<Task>,
    #[serde(default)]
    pub(super) optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Manager {
    Apt,
    Cargo,
    /// `package@version`.
    Npm,
    /// `package==version`, in a Python environment.
    Venv,
    /// The weights of [`weights::PACKAGE`].
    Weights,
}

/// Debian's folder of PostgreSQL releases, whose servers are not on PATH.
const POSTGRES_RELEASES: &str = "/usr/lib/postgresql";

pub(super) static REQUIREMENTS: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        requirement: Vec<Requirement>,
    }
    #[expect(clippy::expect_used, reason = "a part of this program, read by its tests")]
    let table: Table =
        toml::from_str(include_str!("requirements.toml")).expect("a table of requirements");
    table.requirement
});

fn for_tests() -> Vec<Task> {
    vec![Task::Test]
}

impl Requirement {
    /// Alternative lists of command lines that install it; a later list is for machines on which the
    /// earlier ones fail.
    pub(super) fn recipes(&self, peers: &PeerFolders) -> Vec<Vec<CommandLine>> {
        match self.manager {
            Manager::Apt => vec![vec![self.line(APT)]],
            Manager::Cargo => vec![vec![self.line(&["cargo", "install", "--locked"])]],
            Manager::Npm => vec![vec![peers.npm_line(&self.folder, &self.packages)]],
            Manager::Venv => peers.venv_recipes(&self.folder, &self.packages),
            Manager::Weights => vec![weights::recipe(&peers.folder(&self.folder))],
        }
    }

    pub(super) fn is_installed(&self, peers: &PeerFolders) -> bool {
        match self.manager {
            Manager::Apt | Manager::Cargo => {
                self.programs.iter().all(|name| find_program(name).is_some())
            }
            Manager::Npm => peers.has_node_packages(&self.folder, &self.packages),
            Manager::Venv => peers.has_python_packages(&self.folder, &self.packages),
            Manager::Weights => weights::are_installed(&peers.folder(&self.folder)),
        }
    }

    pub(super) fn uses_apt(&self) -> bool {
        self.manager == Manager::Apt
    }

    fn line(&self, words: &[&str]) -> CommandLine {
        let packages = self.packages.iter().map(String::as_str);
        words.iter().copied().chain(packages).map(str::to_owned).collect()
    }
}

/// The command that installs packages with apt.
pub(super) const APT: &[&str] = &["apt-get", "install", "-y", "--no-install-recommends"];

/// Finds a program on PATH, in the folder where cargo installs programs, or in those of PostgreSQL.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    env::split_paths(&path)
        .chain(cargo_home.map(|home| home.join("bin")))
        .chain(postgres_folders(Path::new(POSTGRES_RELEASES)))
        .map(|folder| folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
        .find(|candidate| candidate.is_file())
}

fn postgres_folders(releases: &Path) -> impl Iterator<Item = PathBuf> {
    let releases = fs::read_dir(releases).into_iter().flatten().flatten();
    releases.map(|release| release.path().join("bin"))
}

#[cfg(test)]
mod tests;
