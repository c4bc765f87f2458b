//! Recording of metrics in the running program, if it is on; texts of store errors.

use std::path::Path;
use std::time::Duration;

use usage_metrics::consent::{Decision, Facts, Mode, decide};
use usage_metrics::mapping::resource::{self, InstallFacts};
use usage_metrics::package::Resource;
use usage_metrics::recorder::{Recorder, Settings};
use usage_metrics::store::{Error, ErrorKind, StoreFolder};
use uuid::Uuid;

use crate::config::MetricsConfig;
use crate::diagnostic::{Diagnostic, Result};
use crate::environment::Environment;
use crate::session::Session;

/// Timeout for storing the counts at the end of a command.
const CLOSE: Duration = Duration::from_millis(500);

/// The configuration, and the decision from it and the environment.
pub(crate) fn decision(session: &Session) -> Result<(MetricsConfig, Decision)> {
    let config = MetricsConfig::read(&*session.config()?)?;
    let decision = decide(&Facts {
        do_not_track: session.environment.variable("DO_NOT_TRACK"),
        ci: session.environment.variable("CI"),
        configured: config.mode(),
    });
    Ok((config, decision))
}

pub(crate) fn recorder(session: &Session) -> Result<Recorder> {
    let (config, decision) = decision(session)?;
    if decision.mode != Mode::Local {
        return Ok(Recorder::off());
    }
    let folder = StoreFolder::new(session.home()?.metrics());
    let resource = detect_resource(&session.environment);
    let mut settings = Settings::new(folder, resource, session.clock.clone(), Uuid::new_v4);
    settings.retention_days = config.retention_days;
    Ok(Recorder::start(settings))
}

/// Stores the counts, within a short timeout. Failures are ignored.
pub(crate) fn close(recorder: &Recorder) {
    let _ = recorder.close(CLOSE);
}

/// Files that container engines create in every container.
const CONTAINER_MARKS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

pub(crate) fn detect_resource(environment: &Environment) -> Resource {
    let executable = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let facts = InstallFacts {
        declared: environment.install_method(),
        executable: executable.as_deref(),
        in_container: CONTAINER_MARKS.iter().any(|mark| Path::new(mark).exists()),
    };
    Resource {
        agent_version: resource::version(env!("CARGO_PKG_VERSION")).into_owned(),
        architecture: resource::architecture(std::env::consts::ARCH),
        install_method: resource::detect_install_method(&facts),
        os_family: resource::os_family(std::env::consts::OS),
    }
}

pub(crate) fn store_problem(folder: &StoreFolder, error: &Error) -> Diagnostic {
    let root = folder.root().display();
    let diagnostic = Diagnostic::failed(format!("cannot use the store in {root}")).because(error);
    match error.kind() {
        ErrorKind::Busy => diagnostic.hint("another process is using it; try again in a moment"),
        ErrorKind::Full => diagnostic.hint("free up disk space; no counts are lost meanwhile"),
        ErrorKind::ReadOnly => {
            diagnostic.hint("make the folder writable, or choose another one with AGENT_HOME")
        }
        ErrorKind::Corrupt => diagnostic.hint(
            "the next count moves it aside and starts a new one; remove it with `agent metrics off \
             --purge`",
        ),
        ErrorKind::Newer => diagnostic.hint("use the newer version that wrote it"),
        ErrorKind::Gone | ErrorKind::Stopped => diagnostic
            .hint("nothing is recorded here now; turn recording on with `agent metrics on`"),
        ErrorKind::Other => diagnostic,
    }
}
