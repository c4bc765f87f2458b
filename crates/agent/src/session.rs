//! What a command is handed: its output, the way to its home, the environment and the clock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use usage_metrics::clock::{Clock, SystemClock};

use crate::diagnostic::Diagnostic;
use crate::home::Home;
use crate::output::Output;

/// The variables the program looks at. Read once, here, so that nothing else depends on them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// `AGENT_HOME`: where everything is kept.
    pub(crate) agent_home: Option<PathBuf>,
    /// `HOME`.
    pub(crate) home: Option<PathBuf>,
    /// `DO_NOT_TRACK`.
    pub(crate) do_not_track: Option<String>,
    /// `CI`.
    pub(crate) ci: Option<String>,
    /// `AGENT_INSTALL_METHOD`: how a packager says the program was installed.
    pub(crate) install_method: Option<String>,
    /// Every variable: references in the configuration look them up, local servers get a safe list.
    pub(crate) all: BTreeMap<String, String>,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        let path = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        // A value that is not text is still a value.
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

/// What a command works with.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Where it writes.
    pub(crate) output: Output,
    /// The profile that was asked for.
    profile: Option<String>,
    /// What the environment says.
    pub(crate) environment: Environment,
    /// What tells the time.
    pub(crate) clock: Arc<dyn Clock>,
}

impl Session {
    /// A session on the system's clock.
    pub(crate) fn new(output: Output, environment: Environment, profile: Option<String>) -> Self {
        Session { output, profile, environment, clock: Arc::new(SystemClock) }
    }

    /// The profile that was asked for, if one was.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.profile.as_deref().filter(|name| !name.is_empty())
    }

    /// Where the files of the profile are. Only who needs a home has to have one.
    pub(crate) fn home(&self) -> Result<Home, Diagnostic> {
        Home::find(&self.environment, self.profile.as_deref())
    }
}
