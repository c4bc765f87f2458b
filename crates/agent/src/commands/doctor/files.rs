//! The home folder, the configuration and the disk they are on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, access, statvfs};

use crate::destination::free_bytes;
use crate::diagnostic::Diagnostic;
use crate::finding::Finding;
use crate::session::Session;
use crate::table::amount;

/// With less room than this things fail.
const LEAST_BYTES: u64 = 64 * 1024 * 1024;
/// With less room than this they soon may.
const LITTLE_BYTES: u64 = 1024 * 1024 * 1024;

pub(super) fn home(session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    const AREA: &str = "home";
    let config = session.home()?.config();
    let folder = config.parent().unwrap_or(Path::new("/"));
    let shown = folder.display();
    let Ok(found) = fs::metadata(folder) else {
        let check = Finding::warning(format!("{shown} does not exist yet")).of(AREA);
        return Ok(vec![
            check.hint("create it with `agent up`, which also starts a service on this machine"),
        ]);
    };
    let mode = found.permissions().mode() & 0o777;
    Ok(vec![if !found.is_dir() {
        Finding::error(format!("{shown} is not a folder")).of(AREA).hint("move or remove it")
    } else if let Err(error) = access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Finding::error(format!("cannot write to {shown}: {error}"))
            .of(AREA)
            .hint("change the owner or the permissions of the folder")
    } else if mode & 0o022 != 0 {
        Finding::error(format!("other users can change files in {shown} (mode {mode:o})"))
            .of(AREA)
            .hint(format!("chmod 700 {shown}"))
    } else if mode & 0o077 != 0 {
        Finding::warning(format!("other users can access {shown} (mode {mode:o})"))
            .of(AREA)
            .hint(format!("chmod 700 {shown}"))
    } else {
        Finding::good(shown.to_string()).of(AREA)
    }])
}

/// Whether the configuration can be read at all.
pub(super) fn configuration(session: &Session) -> Result<Finding, Diagnostic> {
    const AREA: &str = "config";
    let path = session.home()?.config();
    Ok(match session.config()?.root() {
        Ok(_) if path.exists() => Finding::good(path.display().to_string()).of(AREA),
        Ok(_) => Finding::good("no config.yaml; the defaults apply").of(AREA),
        Err(diagnostic) => Finding::from(diagnostic)
            .of(AREA)
            .hint("checks that depend on it were skipped; fix it and run `agent doctor` again"),
    })
}

/// The room on the disk of the home folder.
pub(super) fn disk(session: &Session) -> Result<Vec<Finding>, Diagnostic> {
    const AREA: &str = "disk";
    let config = session.home()?.config();
    let Some(folder) = config.ancestors().skip(1).find(|folder| folder.exists()) else {
        return Ok(Vec::new());
    };
    let Ok(disk) = statvfs(folder) else { return Ok(Vec::new()) };
    let Some(free) = free_bytes(&disk) else { return Ok(Vec::new()) };
    let what = format!("{} free at {}", amount(free), folder.display());
    Ok(vec![match free {
        0..LEAST_BYTES => Finding::error(what).of(AREA).hint("free up disk space"),
        LEAST_BYTES..LITTLE_BYTES => {
            Finding::warning(what).of(AREA).hint("free up disk space soon")
        }
        _ => Finding::good(what).of(AREA),
    }])
}
