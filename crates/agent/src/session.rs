//! What a command is handed: its output, its home, the environment and the clock.

use std::sync::Arc;

use usage_metrics::clock::{Clock, SystemClock};

use crate::home::Home;
use crate::output::Output;

/// The variables the program looks at. Read once, here, so that nothing else depends on them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// `AGENT_HOME`: where everything is kept.
    pub(crate) agent_home: Option<String>,
    /// `HOME`.
    pub(crate) home: Option<String>,
    /// `DO_NOT_TRACK`.
    pub(crate) do_not_track: Option<String>,
    /// `CI`.
    pub(crate) ci: Option<String>,
    /// `AGENT_INSTALL_METHOD`: how a packager says the program was installed.
    pub(crate) install_method: Option<String>,
}

impl Environment {
    /// The environment of this process. A variable that is not text counts as absent.
    pub(crate) fn of_process() -> Self {
        let variable = |name| std::env::var(name).ok();
        Environment {
            agent_home: variable("AGENT_HOME"),
            home: variable("HOME"),
            do_not_track: variable("DO_NOT_TRACK"),
            ci: variable("CI"),
            install_method: variable("AGENT_INSTALL_METHOD"),
        }
    }
}

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Session {
    /// Where it writes.
    pub(crate) output: Output,
    /// Where its files are.
    pub(crate) home: Home,
    /// What the environment says.
    pub(crate) environment: Environment,
    /// What tells the time.
    pub(crate) clock: Arc<dyn Clock>,
}

impl Session {
    /// A session on the system's clock.
    pub(crate) fn new(output: Output, home: Home, environment: Environment) -> Self {
        Session { output, home, environment, clock: Arc::new(SystemClock) }
    }
}
