//! What a command is handed: its output, the way to its home, the environment and the clock.

use std::sync::Arc;

use usage_metrics::clock::{Clock, SystemClock};

use crate::diagnostic::Diagnostic;
use crate::environment::Environment;
use crate::home::Home;
use crate::output::Output;

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
