//! The member service of the profile: its settings, its client, and its errors for a person.

mod error;
pub(crate) mod retry;
pub(crate) mod settings;

use std::sync::Arc;

use task_loop::member::{MemberClient, MemberError};

use self::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::session::Session;

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) client: Arc<MemberClient>,
    pub(crate) settings: Settings,
}

impl Member {
    /// The service of the profile; an error if no key is configured.
    pub(crate) fn find(session: &Session) -> Result<Self, Diagnostic> {
        let settings = Settings::load(session)?;
        settings.key()?;
        Self::of(settings, session)
    }

    pub(crate) fn of(settings: Settings, session: &Session) -> Result<Self, Diagnostic> {
        let key = settings.key.as_ref().map(|key| key.value.value());
        let base = &settings.base_url.value;
        let client = MemberClient::new(base, key, &session.environment.all)
            .map_err(|error| settings.base_url.wrong(&error.to_string()))?;
        Ok(Self { client: Arc::new(client), settings })
    }

    pub(crate) fn diagnostic(&self, error: &MemberError) -> Diagnostic {
        error::diagnostic(error, &self.settings)
    }
}
