//! The environment variables of the program, read once at the start.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Passed explicitly, so that no other code reads the process environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    pub(crate) agent_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) do_not_track: Option<String>,
    pub(crate) ci: Option<String>,
    /// `AGENT_INSTALL_METHOD`: the packager's name of the installation method.
    pub(crate) install_method: Option<String>,
    /// Every variable: references in the configuration look them up, local servers get a safe list.
    pub(crate) all: BTreeMap<String, String>,
}

impl Environment {
    pub(crate) fn of_process() -> Self {
        let path = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        // A value that is not UTF-8 counts as set.
        let variable =
            |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Environment {
            agent_home: path("AGENT_HOME"),
            home: path("HOME"),
            do_not_track: variable("DO_NOT_TRACK"),
            ci: variable("CI"),
            install_method: variable("AGENT_INSTALL_METHOD"),
            all: std::env::vars_os()
                .map(|(name, value)| {
                    (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
                })
                .collect(),
        }
    }
}
