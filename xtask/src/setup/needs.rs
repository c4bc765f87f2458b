//! The table of what the tasks need from a machine, and how each need is recognised.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

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
}

/// How to tell that a need is met.
#[derive(Debug, Clone, Copy)]
pub(super) enum Probe {
    /// All of these programs are found.
    Programs(&'static [&'static str]),
    /// Python can import all of these modules.
    PythonModules(&'static [&'static str]),
}

/// Who installs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Apt,
    Cargo,
    Pip,
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
        name: "cargo-nextest",
        probe: Probe::Programs(&["cargo-nextest"]),
        manager: Manager::Cargo,
        packages: &["cargo-nextest"],
        reason: "the test runner",
        occasions: &[Occasion::Test],
        importance: Importance::Required,
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
    /// The command line that installs it.
    pub(super) fn install_line(&self) -> Vec<&'static str> {
        self.manager.install_words().iter().chain(self.packages).copied().collect()
    }
}

impl Manager {
    /// What stands before the packages in a command line that installs them.
    pub(super) fn install_words(self) -> &'static [&'static str] {
        match self {
            Self::Apt => &["apt-get", "install", "-y", "--no-install-recommends"],
            Self::Cargo => &["cargo", "install", "--locked"],
            Self::Pip => &["python3", "-m", "pip", "install", "--quiet"],
        }
    }
}

impl Probe {
    pub(super) fn is_met(self) -> bool {
        match self {
            Self::Programs(names) => names.iter().all(|name| find_program(name).is_some()),
            Self::PythonModules(names) => Command::new("python3")
                .args(["-c", &format!("import {}", names.join(", "))])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
        }
    }
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
    fn a_python_module_that_does_not_exist_is_not_met() {
        assert!(!Probe::PythonModules(&["no_such_module"]).is_met());
    }

    #[test]
    fn each_manager_has_its_install_line() {
        let line = |name| need(name).install_line().join(" ");
        assert_eq!(
            line("chromedriver"),
            "apt-get install -y --no-install-recommends chromium-driver"
        );
        assert_eq!(line("cargo-nextest"), "cargo install --locked cargo-nextest");
        assert_eq!(
            line("the JSON Schema validator of Python"),
            "python3 -m pip install --quiet jsonschema rfc3339-validator"
        );
    }
}
