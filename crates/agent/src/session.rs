//! The context of a command: output, profile, environment and clock.

use std::sync::{Arc, Mutex, PoisonError};

use usage_metrics::clock::{Clock, SystemClock};

use crate::config;
use crate::config::document::Document;
use crate::diagnostic::Result;
use crate::environment::Environment;
use crate::home::Home;
use crate::output::Output;

#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) output: Output,
    profile: Option<String>,
    pub(crate) environment: Environment,
    pub(crate) clock: Arc<dyn Clock>,
    /// `config.yaml` as it was last read.
    config: Arc<Mutex<Option<Arc<Document>>>>,
}

impl Session {
    pub(crate) fn new(output: Output, environment: Environment, profile: Option<String>) -> Self {
        let config = Arc::default();
        Session { output, profile, environment, clock: Arc::new(SystemClock), config }
    }

    pub(crate) fn profile(&self) -> Option<&str> {
        self.profile.as_deref().filter(|name| !name.is_empty())
    }

    /// The folder of the profile. Commands that do not need it ignore the error.
    pub(crate) fn home(&self) -> Result<Home> {
        Home::find(&self.environment, self.profile.as_deref())
    }

    /// `config.yaml` of the profile, parsed once for all readers, and again after a change.
    pub(crate) fn config(&self) -> Result<Arc<Document>> {
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
