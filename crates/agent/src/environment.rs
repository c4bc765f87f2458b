//! The environment variables of the program, read once at the start.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Passed explicitly, so that no other code reads the process environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    pub(crate) agent_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// Every variable: references in the configuration look them up, local servers get a safe list.
    pub(crate) all: BTreeMap<String, String>,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        let path = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        Environment {
            agent_home: path("AGENT_HOME"),
            home: path("HOME"),
            // A value that is not UTF-8 counts as set.
            all: std::env::vars_os()
                .map(|(name, value)| {
                    (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
                })
                .collect(),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.all.get(name).map(String::as_str)
    }

    /// The packager's name of the installation method.
    pub(crate) fn install_method(&self) -> Option<&str> {
        self.variable("AGENT_INSTALL_METHOD")
    }
}
