//! What this program runs on, as usage metrics name it.

use std::path::Path;

use usage_metrics::mapping::resource::{self, InstallFacts};
use usage_metrics::package::Resource;

use crate::environment::Environment;

/// Files that container engines put into every container.
const CONTAINER_MARKS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

pub(crate) fn detect(environment: &Environment) -> Resource {
    let executable = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let facts = InstallFacts {
        declared: environment.install_method.as_deref(),
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
