//! The home folder, the configuration and the disk they are on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, access, statvfs};

use super::report::Check;
use crate::destination::free_bytes;
use crate::diagnostic::Diagnostic;
use crate::mcp::table::amount;
use crate::session::Session;

/// With less room than this things fail.
const LEAST_BYTES: u64 = 64 * 1024 * 1024;
/// With less room than this they soon may.
const LITTLE_BYTES: u64 = 1024 * 1024 * 1024;

/// The folder of the profile.
pub(super) fn home(session: &Session) -> Result<Vec<Check>, Diagnostic> {
    const AREA: &str = "home";
    let config = session.home()?.config();
    let folder = config.parent().unwrap_or(Path::new("/"));
    let shown = folder.display();
    let Ok(found) = fs::metadata(folder) else {
        let check = Check::warning(AREA, format!("{shown} does not exist yet"));
        return Ok(vec![check.hint("`agent up` makes it, with a service on this machine")]);
    };
    let mode = found.permissions().mode() & 0o777;
    Ok(vec![if !found.is_dir() {
        Check::problem(AREA, format!("{shown} is no folder")).hint("move it away")
    } else if let Err(error) = access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Check::problem(AREA, format!("{shown} cannot be written to: {error}"))
            .hint("make the folder yours")
    } else if mode & 0o022 != 0 {
        Check::problem(AREA, format!("others can change what is in {shown} (mode {mode:o})"))
            .hint(format!("chmod 700 {shown}"))
    } else if mode & 0o077 != 0 {
        Check::warning(AREA, format!("others can look into {shown} (mode {mode:o})"))
            .hint(format!("chmod 700 {shown}"))
    } else {
        Check::ok(AREA, shown.to_string())
    }])
}

/// Whether the configuration can be read at all.
pub(super) fn configuration(session: &Session) -> Result<Check, Diagnostic> {
    const AREA: &str = "config";
    let path = session.home()?.config();
    Ok(match session.config()?.root() {
        Ok(_) if path.exists() => Check::ok(AREA, path.display().to_string()),
        Ok(_) => Check::ok(AREA, "there is no config.yaml, and none is needed"),
        Err(diagnostic) => Check::of(AREA, diagnostic)
            .hint("what depends on it was not looked at; correct it and look again"),
    })
}

/// The room on the disk of the home folder.
pub(super) fn disk(session: &Session) -> Result<Vec<Check>, Diagnostic> {
    const AREA: &str = "disk";
    let config = session.home()?.config();
    let Some(folder) = config.ancestors().skip(1).find(|folder| folder.exists()) else {
        return Ok(Vec::new());
    };
    let Ok(disk) = statvfs(folder) else { return Ok(Vec::new()) };
    let Some(free) = free_bytes(&disk) else { return Ok(Vec::new()) };
    let what = format!("{} free at {}", amount(free), folder.display());
    Ok(vec![match free {
        0..LEAST_BYTES => Check::problem(AREA, what).hint("make room"),
        LEAST_BYTES..LITTLE_BYTES => Check::warning(AREA, what).hint("make room soon"),
        _ => Check::ok(AREA, what),
    }])
}
