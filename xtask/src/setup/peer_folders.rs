//! Folders in `target/peers` of the workspace into which npm and pip install, apart from the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::CommandLine;
use crate::workspace::Workspace;

/// Subfolder of the packages on a machine without virtual environments.
const PYTHON_SITE: &str = "site";

pub(crate) struct PeerFolders {
    root: PathBuf,
}

impl PeerFolders {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        Self::under(workspace.root().join("target").join("peers"))
    }

    pub(super) fn under(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Installs Node packages without a lock file, which would name the registry.
    pub(super) fn npm_line(&self, folder: &str, packages: &[impl AsRef<str>]) -> CommandLine {
        let mut line = words(&["npm", "install", "--prefix", &text(&self.folder(folder))]);
        line.extend(words(&["--no-audit", "--no-fund", "--no-package-lock", "--no-save"]));
        line.extend(words(packages));
        line
    }

    /// Installs Python packages into an environment, or into one folder where Python has no
    /// environments.
    pub(super) fn venv_recipes(
        &self,
        folder: &str,
        packages: &[impl AsRef<str>],
    ) -> Vec<Vec<CommandLine>> {
        let folder = self.folder(folder);
        let environment = words(&["python3", "-m", "venv", "--clear", &text(&folder)]);
        let python = text(&folder.join("bin").join("python"));
        let mut into_environment = words(&[&python, "-m", "pip", "install", "--quiet"]);
        let site = text(&folder.join(PYTHON_SITE));
        let mut into_site =
            words(&["python3", "-m", "pip", "install", "--quiet", "--target", &site]);
        into_environment.extend(words(packages));
        into_site.extend(words(packages));
        vec![vec![environment, into_environment], vec![into_site]]
    }

    /// Whether all of these (`package@version`) are installed in exactly this version.
    pub(super) fn has_node_packages(&self, folder: &str, packages: &[impl AsRef<str>]) -> bool {
        let modules = self.folder(folder).join("node_modules");
        packages.iter().all(|package| {
            let Some((name, version)) = package.as_ref().rsplit_once('@') else { return false };
            fs::read_to_string(modules.join(name).join("package.json"))
                .is_ok_and(|manifest| manifest.contains(&format!("\"version\": \"{version}\"")))
        })
    }

    /// Whether all of these (`package==version`) are installed in exactly this version.
    pub(super) fn has_python_packages(&self, folder: &str, packages: &[impl AsRef<str>]) -> bool {
        let folder = self.folder(folder);
        let own = folder.join("bin").join("python");
        let site = folder.join(PYTHON_SITE);
        let mut command = if site.is_dir() {
            let mut command = Command::new("python3");
            command.env("PYTHONPATH", site);
            command
        } else {
            Command::new(own)
        };
        let program = "import sys; from importlib.metadata import version; \
             pairs = (a.split('==') for a in sys.argv[1:]); \
             sys.exit(any(version(n.split('[')[0]) != v for n, v in pairs))";
        command
            .args(["-c", program])
            .args(words(packages))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

fn words(words: &[impl AsRef<str>]) -> CommandLine {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
