//! What a command is handed: its output, the way to its home, the environment and the clock.

use std::sync::{Arc, Mutex, PoisonError};

use usage_metrics::clock::{Clock, SystemClock};

use crate::config;
use crate::config::document::Document;
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
    /// `config.yaml` as it was last read.
    config: Arc<Mutex<Option<Arc<Document>>>>,
}

impl Session {
    /// A session on the system's clock.
    pub(crate) fn new(output: Output, environment: Environment, profile: Option<String>) -> Self {
        let config = Arc::default();
        Session { output, profile, environment, clock: Arc::new(SystemClock), config }
    }

    /// The profile that was asked for, if one was.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.profile.as_deref().filter(|name| !name.is_empty())
    }

    /// Where the files of the profile are. Only who needs a home has to have one.
    pub(crate) fn home(&self) -> Result<Home, Diagnostic> {
        Home::find(&self.environment, self.profile.as_deref())
    }

    /// `config.yaml` of the profile, parsed once for all who read it, and again when it changed.
    pub(crate) fn config(&self) -> Result<Arc<Document>, Diagnostic> {
        let path = self.home()?.config();
        let text = config::read(&path)?.unwrap_or_default();
        let mut known = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = known.as_ref().filter(|known| known.text == text) {
            return Ok(Arc::clone(document));
        }
        let document = Arc::new(Document::parse(&path, text));
        *known = Some(Arc::clone(&document));
        Ok(document)
    }
}
