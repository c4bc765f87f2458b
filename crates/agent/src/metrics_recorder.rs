//! Counting in the running program: on where the person turned it on, off everywhere else.

use std::time::Duration;

use usage_metrics::consent::{Decision, Facts, Mode, decide};
use usage_metrics::recorder::{Recorder, Settings};
use usage_metrics::store::StoreFolder;
use uuid::Uuid;

use crate::config::MetricsConfig;
use crate::diagnostic::Diagnostic;
use crate::resource;
use crate::session::Session;

/// How long the end of a command waits for its counts to be stored.
const CLOSE: Duration = Duration::from_millis(500);

/// What the configuration says, and what follows from it and the environment.
pub(crate) fn decision(session: &Session) -> Result<(MetricsConfig, Decision), Diagnostic> {
    let config = MetricsConfig::read(&*session.config()?)?;
    let decision = decide(&Facts {
        do_not_track: session.environment.do_not_track.as_deref(),
        ci: session.environment.ci.as_deref(),
        configured: config.mode(),
    });
    Ok((config, decision))
}

pub(crate) fn recorder(session: &Session) -> Result<Recorder, Diagnostic> {
    let (config, decision) = decision(session)?;
    if decision.mode != Mode::Local {
        return Ok(Recorder::off());
    }
    let folder = StoreFolder::new(session.home()?.metrics());
    let resource = resource::detect(&session.environment);
    let mut settings = Settings::new(folder, resource, session.clock.clone(), Uuid::new_v4);
    settings.retention_days = config.retention_days;
    Ok(Recorder::start(settings))
}

/// Stores the counts, within a short timeout. Failures are ignored.
pub(crate) fn close(recorder: &Recorder) {
    let _ = recorder.close(CLOSE);
}
